//! Labelled rows in memory, for experiments.

use std::sync::Arc;

use super::exclusion::without_columns;
use super::labels::read_labels_for;
use super::reader::Reader;
use super::split::Split;
use crate::labels::{LabelList, LabelNames};
use crate::{Batch, Error, Features, Mean, Result};

/// Labelled rows in memory.
#[derive(Clone, Debug)]
pub struct Data {
    dim: usize,
    features: Vec<f32>,
    labels: LabelList,
    /// Shared by all selections of the rows.
    names: Option<Arc<LabelNames>>,
}

impl Data {
    /// Rows of `dim` numbers with their labels, which have no names but their numbers.
    ///
    /// # Errors
    /// When the numbers are not whole rows, are not finite, or are not as many rows as labels.
    pub fn new(dim: usize, features: Vec<f32>, labels: LabelList) -> Result<Data> {
        Batch::new(Features::new(&features, dim)?, labels.view())?;
        Ok(Data { dim, features, labels, names: None })
    }

    /// Reads files one after the other into memory, and keeps the names of labels: see [`Reader::open_all`],
    /// [`read_labels_for`] and, for labels that are columns of the same tables, [`without_columns`].
    ///
    /// # Errors
    /// When a file cannot be read, or there are not as many labels as rows.
    pub fn load<S: AsRef<str>>(data: &[S], labels: &[S]) -> Result<Data> {
        let mut reader = Reader::open_all(&without_columns(data, labels)?)?;
        let mut features = Vec::new();
        while let Some(rows) = reader.next(8192)? {
            features.extend_from_slice(rows.values());
        }
        let rows = features.len() / reader.dim();
        let mut names = LabelNames::new();
        let labels = read_labels_for(labels, &mut names, Some(rows))?.labels;
        if rows != labels.len() {
            return Err(Error::LabelCount { rows, labels: labels.len() });
        }
        Ok(Data { dim: reader.dim(), features, labels, names: Some(Arc::new(names)) })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// How many numbers a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All rows.
    pub fn batch(&self) -> Batch<'_> {
        Features::new(&self.features, self.dim)
            .and_then(|features| Batch::new(features, self.labels.view()))
            .expect("checked when it was made")
    }

    /// What the labels are called in the files they were read from.
    pub fn label_names(&self) -> Option<&LabelNames> {
        self.names.as_deref()
    }

    /// The mean of all rows.
    pub fn mean(&self) -> Vec<f32> {
        let mut mean = Mean::new(self.dim);
        mean.add(self.batch().features()).expect("of one dimension");
        mean.value()
    }

    /// Some rows, in the order given.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn select(&self, rows: &[usize]) -> Data {
        let all = self.batch().features();
        let features = rows.iter().flat_map(|&row| all.row(row)).copied().collect();
        let labels = self.labels.select(rows);
        Data { dim: self.dim, features, labels, names: self.names.clone() }
    }

    /// The database and the queries of a split, in this order.
    ///
    /// # Errors
    /// As for [`Split::per_class`]; labels are called by their names.
    pub fn split(&self, queries_per_class: usize, seed: u64) -> Result<(Data, Data)> {
        let split =
            Split::per_class(self.labels.view(), self.label_names(), queries_per_class, seed)?;
        Ok((self.select(&split.database), self.select(&split.queries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_class_is_called_by_its_name_in_every_selection() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let features = path("x.csv", "0.5,1\n1,0\n0,1\n1,1\n0,0\n2,1\n");
        // By first appearance dog is 0, cat 1 and cow 2.
        let labels = path("y.txt", "dog\ncat\ndog\ncat\ndog\ncow\n");
        let data = Data::load(&[features], &[labels]).unwrap();
        assert_eq!(data.label_names().unwrap().iter().collect::<Vec<_>>(), ["dog", "cat", "cow"]);
        let error = data.split(1, 0).unwrap_err().to_string();
        assert!(error.contains("label \"cow\" has 1 items"), "{error}");
        let error = data.select(&[0, 1, 2, 4]).split(1, 0).unwrap_err().to_string();
        assert!(error.contains("label \"cat\" has 1 items"), "{error}");
        let (database, queries) = data.select(&[0, 1, 2, 3]).split(1, 0).unwrap();
        assert_eq!(
            (database.label_names(), queries.label_names()),
            (data.label_names(), data.label_names())
        );
    }
}

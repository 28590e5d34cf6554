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
    /// Names of the labels, shared by all selections of the rows.
    names: Option<Arc<LabelNames>>,
}

impl Data {
    /// Creates data of rows of `dim` numbers with their labels. Labels are named by their numbers.
    ///
    /// # Errors
    /// When the number of values is not a multiple of `dim`, a value is not finite, or the numbers
    /// of rows and labels differ.
    pub fn new(dim: usize, features: Vec<f32>, labels: LabelList) -> Result<Data> {
        Batch::new(Features::new(&features, dim)?, labels.view())?;
        Ok(Data { dim, features, labels, names: None })
    }

    /// Reads files one after the other into memory, with the names of the labels. See
    /// [`Reader::open_all`], [`read_labels_for`] and, for labels in columns of the same tables,
    /// [`without_columns`].
    ///
    /// # Errors
    /// When a file cannot be read, or the numbers of labels and rows differ.
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

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the number of values in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns all rows.
    pub fn batch(&self) -> Batch<'_> {
        Features::new(&self.features, self.dim)
            .and_then(|features| Batch::new(features, self.labels.view()))
            .expect("checked when it was made")
    }

    /// Returns the names of the labels in the files that were read.
    pub fn label_names(&self) -> Option<&LabelNames> {
        self.names.as_deref()
    }

    /// Returns the mean of all rows.
    pub fn mean(&self) -> Vec<f32> {
        let mut mean = Mean::new(self.dim);
        mean.add(self.batch().features()).expect("of one dimension");
        mean.value()
    }

    /// Returns some rows, in the given order.
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn select(&self, rows: &[usize]) -> Data {
        let all = self.batch().features();
        let features = rows.iter().flat_map(|&row| all.row(row)).copied().collect();
        let labels = self.labels.select(rows);
        Data { dim: self.dim, features, labels, names: self.names.clone() }
    }

    /// Returns the database and the queries of a split, in this order.
    ///
    /// # Errors
    /// As for [`Split::per_class`]; errors refer to labels by name.
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
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let features = path("x.csv", "0.5,1\n1,0\n0,1\n1,1\n0,0\n2,1\n");
        // Labels are numbered by first appearance: dog is 0, cat 1 and cow 2.
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

//! Labelled rows in memory, for experiments.

use super::{LabelList, LabelNames, Reader, Split, read_labels_all};
use crate::{Batch, Error, Features, Mean, Result};

/// Labelled rows in memory.
#[derive(Clone, Debug)]
pub struct Data {
    dim: usize,
    features: Vec<f32>,
    labels: LabelList,
}

impl Data {
    /// Rows of `dim` numbers with their labels.
    ///
    /// # Errors
    /// When the numbers are not whole rows, are not finite, or are not as many rows as labels.
    pub fn new(dim: usize, features: Vec<f32>, labels: LabelList) -> Result<Data> {
        Batch::new(Features::new(&features, dim)?, labels.view())?;
        Ok(Data { dim, features, labels })
    }

    /// Reads files one after the other: see [`Reader::open_all`] and [`read_labels_all`].
    ///
    /// # Errors
    /// When a file cannot be read, or there are not as many labels as rows.
    pub fn read<S: AsRef<str>>(data: &[S], labels: &[S]) -> Result<Data> {
        let mut reader = Reader::open_all(data)?;
        let labels = read_labels_all(labels, &mut LabelNames::new())?;
        let mut features = Vec::new();
        while let Some(rows) = reader.next(8192)? {
            features.extend_from_slice(rows.values());
        }
        let rows = features.len() / reader.dim();
        if rows != labels.len() {
            return Err(Error::LabelCount { rows, labels: labels.len() });
        }
        Ok(Data { dim: reader.dim(), features, labels })
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
        Data { dim: self.dim, features, labels: self.labels.select(rows) }
    }

    /// The database and the queries of a split, in this order.
    ///
    /// # Errors
    /// As for [`Split::per_class`].
    pub fn split(&self, queries_per_class: usize, seed: u64) -> Result<(Data, Data)> {
        let split = Split::per_class(self.labels.view(), None, queries_per_class, seed)?;
        Ok((self.select(&split.database), self.select(&split.queries)))
    }
}

//! Input views: [`Features`], [`Labels`], and [`Batch`], which combines the two.
//!
//! All three are borrowed views. Only their constructors check shape and finiteness; code that
//! takes a `Features` may rely on both.

use std::ops::Range;

use crate::{Error, Result};

/// Largest dimension of files and models.
pub(crate) const MAX_DIM: usize = 1 << 20;

/// Rows of finite numbers, all of one dimension, row after row in memory.
#[derive(Clone, Copy, Debug)]
pub struct Features<'a> {
    values: &'a [f32],
    dim: usize,
}

impl<'a> Features<'a> {
    /// Views `values` as rows of `dim` numbers.
    ///
    /// # Errors
    /// When `dim` is 0 or does not divide the number of values, or a value is NaN or infinite.
    pub fn new(values: &'a [f32], dim: usize) -> Result<Self> {
        if dim == 0 || !values.len().is_multiple_of(dim) {
            return Err(Error::Shape { values: values.len(), dim });
        }
        // The check is branch-free over a whole row at a time, so that it costs next to nothing.
        let finite = |row: &[f32]| row.iter().fold(true, |all, v| all & v.is_finite());
        if let Some(row) = values.chunks_exact(dim).position(|row| !finite(row)) {
            let start = row * dim;
            let column = values[start..start + dim].iter().position(|v| !v.is_finite());
            let column = column.unwrap_or(0);
            return Err(Error::NotFinite { row, column, value: values[start + column] });
        }
        Ok(Features { values, dim })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the dimension: how many numbers a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns all numbers, row after row.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// Returns one row.
    ///
    /// # Panics
    /// When the row does not exist.
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.dim..(row + 1) * self.dim]
    }

    /// Returns the rows of a range.
    ///
    /// # Panics
    /// When the range reaches beyond the last row.
    pub fn slice(&self, rows: Range<usize>) -> Features<'a> {
        Features { values: &self.values[rows.start * self.dim..rows.end * self.dim], dim: self.dim }
    }

    /// Fails unless the dimension is `expected`.
    pub(crate) fn expect_dim(&self, expected: usize) -> Result<()> {
        if self.dim == expected {
            Ok(())
        } else {
            Err(Error::Dimension { expected, found: self.dim })
        }
    }
}

/// Labels of rows: one label per row, or a set of labels per row. Two rows are *similar* when they
/// share at least one label. A row without labels is similar to no row, not even to itself.
///
/// A label is a number that represents a name. [`LabelNames`](crate::LabelNames) maps external
/// label names to numbers.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// End of each row's labels in `values`; absent when every row has one label.
    ends: Option<&'a [usize]>,
    /// Start of the first row's labels in `values`.
    start: usize,
    values: &'a [u32],
}

impl<'a> Labels<'a> {
    /// Views one label per row.
    pub fn single(values: &'a [u32]) -> Self {
        Labels { ends: None, start: 0, values }
    }

    /// Views a set of labels per row: row `i` has `values[ends[i - 1]..ends[i]]`, and the first row
    /// starts at 0.
    ///
    /// # Errors
    /// When the ends do not ascend or reach beyond `values`.
    pub fn sets(ends: &'a [usize], values: &'a [u32]) -> Result<Self> {
        let mut before = 0;
        for (set, &end) in ends.iter().enumerate() {
            if end < before || end > values.len() {
                return Err(Error::LabelOffsets { set, end, values: values.len() });
            }
            before = end;
        }
        Ok(Labels { ends: Some(ends), start: 0, values })
    }

    /// Like [`sets`](Self::sets), for ends that are known to be valid.
    pub(crate) fn sets_unchecked(ends: &'a [usize], values: &'a [u32]) -> Self {
        debug_assert!(Labels::sets(ends, values).is_ok());
        Labels { ends: Some(ends), start: 0, values }
    }

    /// Returns the labels if the rows have one label each rather than sets.
    pub fn as_single(&self) -> Option<&'a [u32]> {
        self.ends.is_none().then_some(self.values)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.map_or(self.values.len(), <[usize]>::len)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the labels of one row, in the order given.
    ///
    /// # Panics
    /// When the row does not exist.
    pub fn row(&self, row: usize) -> &'a [u32] {
        match self.ends {
            None => &self.values[row..=row],
            Some(ends) => {
                let start = if row == 0 { self.start } else { ends[row - 1] };
                &self.values[start..ends[row]]
            }
        }
    }

    /// Iterates over the rows' labels.
    ///
    /// ```
    /// use hashbrook::Labels;
    ///
    /// let labels = Labels::sets(&[2, 2, 3], &[7, 4, 7])?;
    /// let rows: Vec<&[u32]> = labels.iter().collect();
    /// assert_eq!(rows, [&[7, 4][..], &[], &[7]]);
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = &'a [u32]> + DoubleEndedIterator + Clone + use<'a> {
        let labels = *self;
        (0..labels.len()).map(move |row| labels.row(row))
    }

    /// Returns the labels of a range of rows.
    ///
    /// # Panics
    /// When the range reaches beyond the last row.
    pub fn slice(&self, rows: Range<usize>) -> Labels<'a> {
        match self.ends {
            None => Labels::single(&self.values[rows]),
            Some(ends) => {
                let start = if rows.start == 0 { self.start } else { ends[rows.start - 1] };
                Labels { ends: Some(&ends[rows]), start, values: self.values }
            }
        }
    }
}

/// The next rows of a stream, with their labels if they have any.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    features: Features<'a>,
    labels: Option<Labels<'a>>,
}

impl<'a> Batch<'a> {
    /// Combines features with their labels.
    ///
    /// # Errors
    /// When the number of labels differs from the number of rows.
    pub fn new(features: Features<'a>, labels: Labels<'a>) -> Result<Self> {
        if features.len() != labels.len() {
            return Err(Error::LabelCount { rows: features.len(), labels: labels.len() });
        }
        Ok(Batch { features, labels: Some(labels) })
    }

    /// Wraps features alone, for methods that learn without labels.
    pub fn unlabelled(features: Features<'a>) -> Self {
        Batch { features, labels: None }
    }

    /// Returns the features.
    pub fn features(&self) -> Features<'a> {
        self.features
    }

    /// Returns the labels, if any.
    pub fn labels(&self) -> Option<Labels<'a>> {
        self.labels
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// Returns the rows of a range.
    ///
    /// # Panics
    /// When the range reaches beyond the last row.
    pub fn slice(&self, rows: Range<usize>) -> Batch<'a> {
        Batch {
            features: self.features.slice(rows.clone()),
            labels: self.labels.map(|labels| labels.slice(rows)),
        }
    }

    /// Returns the same rows with their features replaced by `features`.
    pub(crate) fn with_features(&self, features: Features<'a>) -> Batch<'a> {
        Batch { features, labels: self.labels }
    }

    /// Returns the labels, or an error that names `method`, which needs labels.
    pub(crate) fn require_labels(&self, method: &'static str) -> Result<Labels<'a>> {
        self.labels.ok_or(Error::LabelsMissing { method })
    }
}

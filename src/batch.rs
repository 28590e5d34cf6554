//! What comes in: [`Features`], [`Labels`] and the two together, a [`Batch`].
//!
//! All three are borrowed views. Shape and finiteness are checked when one is made, and nowhere
//! else: whatever takes a `Features` may rely on them.

use std::ops::Range;

use crate::{Error, Result};

/// The most dimensions that files and models may have.
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
        // Branch-free over a whole row at a time, so that the check costs next to nothing.
        let finite = |row: &[f32]| row.iter().fold(true, |all, v| all & v.is_finite());
        if let Some(row) = values.chunks_exact(dim).position(|row| !finite(row)) {
            let start = row * dim;
            let column = values[start..start + dim].iter().position(|v| !v.is_finite());
            let column = column.unwrap_or(0);
            return Err(Error::NotFinite { row, column, value: values[start + column] });
        }
        Ok(Features { values, dim })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many numbers a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All the numbers, row after row.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.dim..(row + 1) * self.dim]
    }

    /// The rows of a range.
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

/// The labels of some rows: one each, or a set each. Two rows are *similar* when they share at
/// least one label; a row with no label is similar to none, not even to itself.
///
/// A label is a number that stands for a name; [`LabelNames`](crate::LabelNames) keeps the two
/// together for labels that come from outside.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Where each row's labels end in `values`; absent when every row has one.
    ends: Option<&'a [usize]>,
    /// Where the first row's labels begin.
    start: usize,
    values: &'a [u32],
}

impl<'a> Labels<'a> {
    /// One label per row.
    pub fn single(values: &'a [u32]) -> Self {
        Labels { ends: None, start: 0, values }
    }

    /// A set of labels per row: row `i` has `values[ends[i - 1]..ends[i]]`, the first from 0.
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

    /// As [`sets`](Self::sets), of ends that are known to be right.
    pub(crate) fn sets_unchecked(ends: &'a [usize], values: &'a [u32]) -> Self {
        debug_assert!(Labels::sets(ends, values).is_ok());
        Labels { ends: Some(ends), start: 0, values }
    }

    /// The labels themselves, if every row has one.
    pub fn as_single(&self) -> Option<&'a [u32]> {
        self.ends.is_none().then_some(self.values)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.map_or(self.values.len(), <[usize]>::len)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels of one row, in the order given.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> &'a [u32] {
        match self.ends {
            None => &self.values[row..=row],
            Some(ends) => {
                let start = if row == 0 { self.start } else { ends[row - 1] };
                &self.values[start..ends[row]]
            }
        }
    }

    /// The labels of each row, row after row.
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

    /// The labels of a range of rows.
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
    /// Features with their labels.
    ///
    /// # Errors
    /// When there are not as many labels as rows.
    pub fn new(features: Features<'a>, labels: Labels<'a>) -> Result<Self> {
        if features.len() != labels.len() {
            return Err(Error::LabelCount { rows: features.len(), labels: labels.len() });
        }
        Ok(Batch { features, labels: Some(labels) })
    }

    /// Features alone, for methods that learn without labels.
    pub fn unlabelled(features: Features<'a>) -> Self {
        Batch { features, labels: None }
    }

    /// The features.
    pub fn features(&self) -> Features<'a> {
        self.features
    }

    /// The labels, if there are any.
    pub fn labels(&self) -> Option<Labels<'a>> {
        self.labels
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// The rows of a range.
    ///
    /// # Panics
    /// When the range reaches beyond the last row.
    pub fn slice(&self, rows: Range<usize>) -> Batch<'a> {
        Batch {
            features: self.features.slice(rows.clone()),
            labels: self.labels.map(|labels| labels.slice(rows)),
        }
    }

    /// The same rows with their features replaced by `features`.
    pub(crate) fn with_features(&self, features: Features<'a>) -> Batch<'a> {
        Batch { features, labels: self.labels }
    }

    /// The labels that `method` cannot do without.
    pub(crate) fn require_labels(&self, method: &'static str) -> Result<Labels<'a>> {
        self.labels.ok_or(Error::LabelsMissing { method })
    }
}

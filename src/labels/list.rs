//! Owned lists of labels.

use crate::{Labels, Result};

/// Owned labels of rows: one label per row, or a set of labels per row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelList {
    /// End of each row's labels in `values`; absent when every row has one label.
    ends: Option<Vec<usize>>,
    values: Vec<u32>,
}

impl LabelList {
    /// Creates an empty list. The first rows decide whether rows have one label each, or a set.
    pub fn new() -> LabelList {
        LabelList::default()
    }

    /// Creates a list of one label per row, as for [`Labels::single`].
    pub fn single(values: Vec<u32>) -> LabelList {
        LabelList { ends: None, values }
    }

    /// Creates a list of a set of labels per row, as for [`Labels::sets`].
    ///
    /// # Errors
    /// When the ends do not ascend or reach beyond `values`.
    pub fn sets(ends: Vec<usize>, mut values: Vec<u32>) -> Result<LabelList> {
        Labels::sets(&ends, &values)?;
        // Trailing labels that belong to no row must not become part of the next row added.
        values.truncate(ends.last().copied().unwrap_or(0));
        Ok(LabelList { ends: Some(ends), values })
    }

    /// Returns a view of the labels, for learning and evaluation.
    pub fn view(&self) -> Labels<'_> {
        match &self.ends {
            None => Labels::single(&self.values),
            // Valid, because the ends are lengths of the growing list of values.
            Some(ends) => Labels::sets_unchecked(ends, &self.values),
        }
    }

    /// Returns whether rows have sets of labels rather than one label each.
    pub fn has_sets(&self) -> bool {
        self.ends.is_some()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.as_ref().map_or(self.values.len(), Vec::len)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the labels of some rows, in the order given.
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn select(&self, rows: &[usize]) -> LabelList {
        let labels = self.view();
        if self.ends.is_none() {
            return LabelList::single(rows.iter().map(|&row| self.values[row]).collect());
        }
        let mut selected = LabelList::new();
        for &row in rows {
            selected.push_row(labels.row(row).iter().copied());
        }
        selected
    }

    /// Returns the labels in the form that [`Labels::sets`] takes.
    pub(crate) fn to_lists(&self) -> (Vec<usize>, Vec<u32>) {
        let ends = self.ends.clone().unwrap_or_else(|| (1..=self.values.len()).collect());
        (ends, self.values.clone())
    }

    /// Adds the rows of another list. If only one of the lists has sets of labels, the result has
    /// sets.
    pub fn append(&mut self, other: &LabelList) {
        self.extend(other.view());
    }

    /// Adds rows. If only the list or only the new rows have sets of labels, the result has sets.
    pub fn extend(&mut self, labels: Labels<'_>) {
        // A list without rows may become a list of single labels or of sets.
        if self.is_empty() {
            self.ends = labels.as_single().is_none().then(Vec::new);
        }
        match labels.as_single() {
            Some(values) if self.ends.is_none() => self.values.extend_from_slice(values),
            _ => {
                labels.iter().for_each(|labels| self.push_row(labels.iter().copied()));
            }
        }
    }

    /// Adds a row with a set of labels. The list becomes a list of sets. Duplicate labels count
    /// once, and the order of the labels does not matter.
    pub fn push_set(&mut self, labels: &[u32]) {
        let mut set = labels.to_vec();
        set.sort_unstable();
        set.dedup();
        self.push_row(set);
    }

    fn push_row(&mut self, labels: impl IntoIterator<Item = u32>) {
        let singles = self.values.len();
        let ends = self.ends.get_or_insert_with(|| (1..=singles).collect());
        self.values.extend(labels);
        ends.push(self.values.len());
    }

    /// Replaces each label by the entry at its index in `numbers`, and drops labels whose entry is
    /// `None`.
    pub(crate) fn renumbered(&self, numbers: &[Option<u32>]) -> LabelList {
        let number = |&label: &u32| numbers[label as usize];
        if self.ends.is_none()
            && let Some(values) = self.values.iter().map(number).collect()
        {
            return LabelList::single(values);
        }
        let mut list = LabelList::new();
        for labels in self.view().iter() {
            list.push_set(&labels.iter().filter_map(number).collect::<Vec<_>>());
        }
        list
    }

    /// Converts the list to one label per row if every set has exactly one label.
    pub(crate) fn simplified(self) -> LabelList {
        let single = self.ends.as_ref().is_some_and(|ends| ends.iter().copied().eq(1..=ends.len()));
        if single { LabelList::single(self.values) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(list: &LabelList) -> Vec<&[u32]> {
        list.view().iter().collect()
    }

    #[test]
    fn single_labels_and_sets_mix_to_sets() {
        let mut list = LabelList::single(vec![3, 1]);
        list.append(&LabelList::single(vec![2]));
        assert!(!list.has_sets());
        list.push_set(&[5, 4, 5]);
        list.push_set(&[]);
        assert!(list.has_sets());
        assert_eq!(rows(&list), [&[3][..], &[1], &[2], &[4, 5], &[]]);
        list.append(&LabelList::single(vec![7]));
        assert_eq!(list.len(), 6);
        assert_eq!(rows(&list.select(&[3, 5, 4, 3])), [&[4, 5][..], &[7], &[], &[4, 5]]);
    }

    #[test]
    fn sets_are_given_as_for_views_of_them() {
        let mut list = LabelList::sets(vec![2, 2, 3], vec![7, 4, 7, 9, 9]).unwrap();
        list.push_set(&[5]);
        assert_eq!(rows(&list), [&[7, 4][..], &[], &[7], &[5]]);
        assert_eq!(list.view().iter().len(), list.len());
        assert_eq!(list.view().slice(1..3).iter().next_back(), Some(&[7][..]));
        assert!(LabelList::sets(vec![2, 1], vec![7, 4]).is_err());
        assert!(LabelList::sets(vec![3], vec![7, 4]).is_err());
    }

    #[test]
    fn a_list_without_rows_takes_the_kind_of_the_first() {
        let mut list = LabelList::default();
        assert!(list.is_empty());
        let mut sets = LabelList::new();
        sets.push_set(&[1]);
        list.append(&sets);
        assert_eq!(list, sets);
        assert_eq!(sets.clone().simplified(), LabelList::single(vec![1]));
        list.push_set(&[]);
        assert_eq!(list.clone().simplified(), list);
        let single = LabelList::single(vec![1, 2]);
        assert_eq!(single.select(&[1, 0]), LabelList::single(vec![2, 1]));
    }
}

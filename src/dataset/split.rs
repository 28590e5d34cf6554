//! Division of rows into queries and database.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::labels::LabelNames;
use crate::{Error, Labels, Result};

/// Rows divided into queries and the database that they search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Rows that are searched, in random order.
    pub database: Vec<usize>,
    /// Rows to search with, in the order in which they were drawn: label by label.
    pub queries: Vec<usize>,
}

/// Number of queries that are drawn for each label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queries {
    /// The same number for each label.
    PerClass(usize),
    /// A share of the label's rows, above 0 and below 1. The result is rounded, and at least one.
    Share(f64),
}

impl Queries {
    fn check(self) -> Result<()> {
        match self {
            Queries::PerClass(0) => Err(Error::parameter("queries per class", "at least 1", 0)),
            Queries::Share(share) if !(share > 0.0 && share < 1.0) => {
                Err(Error::parameter("the share of queries", "above 0 and below 1", share))
            }
            _ => Ok(()),
        }
    }

    fn of(self, rows: usize) -> usize {
        match self {
            Queries::PerClass(count) => count,
            Queries::Share(share) => ((share * rows as f64).round() as usize).max(1),
        }
    }
}

impl Split {
    /// For each label, in the order of the labels' numbers, draws `per_class` queries from its rows
    /// that are not queries yet. All other rows are the database. The same `seed` gives the same
    /// split.
    ///
    /// `names` are only used to name a label in an error.
    ///
    /// # Errors
    /// When a label has too few rows to leave one in the database, or `per_class` is 0.
    pub fn per_class(
        labels: Labels<'_>,
        names: Option<&LabelNames>,
        per_class: usize,
        seed: u64,
    ) -> Result<Split> {
        Split::draw(labels, names, Queries::PerClass(per_class), 0, seed)
    }

    /// Draws queries as [`per_class`](Split::per_class) does, with `queries` as their number per
    /// label. Labels with fewer than `min_per_class` rows have no queries: their rows stay in the
    /// database.
    ///
    /// # Errors
    /// As for [`per_class`](Split::per_class), and when no label is left to draw from.
    pub fn draw(
        labels: Labels<'_>,
        names: Option<&LabelNames>,
        queries: Queries,
        min_per_class: usize,
        seed: u64,
    ) -> Result<Split> {
        queries.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut is_query = vec![false; labels.len()];
        let mut drawn = Vec::new();
        let mut most = 0;
        for (label, mut rows) in rows_by_label(labels) {
            most = most.max(rows.len());
            if rows.len() < min_per_class {
                continue;
            }
            let asked = queries.of(rows.len());
            rows.retain(|&row| !is_query[row]);
            if rows.len() <= asked {
                let name = names.and_then(|names| names.name(label)).map(str::to_owned);
                let label = name.unwrap_or_else(|| label.to_string());
                return Err(Error::ClassTooSmall { label, items: rows.len(), asked });
            }
            let (of_label, _) = rows.partial_shuffle(&mut rng, asked);
            for &mut row in of_label {
                is_query[row] = true;
                drawn.push(row);
            }
        }
        if drawn.is_empty() {
            let expected = format!("at most {most}, the rows of the most frequent label");
            return Err(Error::parameter("min_per_class", expected, min_per_class));
        }
        let mut database: Vec<usize> = (0..labels.len()).filter(|&row| !is_query[row]).collect();
        database.shuffle(&mut rng);
        Ok(Split { database, queries: drawn })
    }
}

/// Returns the rows of each label, ascending. A label that occurs twice in a row counts once.
fn rows_by_label(labels: Labels<'_>) -> BTreeMap<u32, Vec<usize>> {
    let mut by_label: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (row, labels) in labels.iter().enumerate() {
        for &label in labels {
            let rows = by_label.entry(label).or_default();
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
    }
    by_label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_once_a_query_or_in_the_database() {
        let labels: Vec<u32> = (0..100).map(|row| row * row % 7).collect();
        let split = Split::per_class(Labels::single(&labels), None, 3, 5).unwrap();
        let mut all = [&split.database[..], &split.queries].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        // The squares modulo 7 are 0, 1, 2 and 4.
        let drawn: Vec<u32> = split.queries.iter().map(|&row| labels[row]).collect();
        assert_eq!(drawn, [0, 0, 0, 1, 1, 1, 2, 2, 2, 4, 4, 4]);
        assert!(!split.database.is_sorted(), "the database is permuted");
    }

    #[test]
    fn the_seed_and_the_order_of_labels_decide() {
        let labels: Vec<u32> = (0..60).map(|row| row % 3).collect();
        let spread: Vec<u32> = labels.iter().map(|label| label * 1000 + 5).collect();
        let split =
            |labels: &[u32], seed| Split::per_class(Labels::single(labels), None, 4, seed).unwrap();
        assert_eq!(split(&labels, 1), split(&labels, 1));
        assert_eq!(split(&labels, 1), split(&spread, 1));
        assert_ne!(split(&labels, 1), split(&labels, 2));
    }

    #[test]
    fn every_row_of_a_class_is_as_likely() {
        let labels = [0; 5];
        let mut drawn = [0; 5];
        let mut first = [0; 5];
        for seed in 0..2000 {
            let split = Split::per_class(Labels::single(&labels), None, 2, seed).unwrap();
            split.queries.iter().for_each(|&row| drawn[row] += 1);
            first[split.database[0]] += 1;
        }
        assert!(drawn.iter().all(|count| (700..900).contains(count)), "{drawn:?}");
        assert!(first.iter().all(|count| (320..480).contains(count)), "{first:?}");
    }

    #[test]
    fn rows_with_several_labels_are_drawn_once() {
        let (ends, values) = ([2, 4, 6, 8, 8], [0, 1, 0, 1, 0, 1, 1, 1]);
        let labels = Labels::sets(&ends, &values).unwrap();
        let split = Split::per_class(labels, None, 1, 3).unwrap();
        assert_eq!(split.queries.len(), 2);
        assert_ne!(split.queries[0], split.queries[1]);
        assert!(split.database.contains(&4), "a row without labels is never a query");
        let error = Split::per_class(labels, None, 2, 3).unwrap_err().to_string();
        assert!(error.contains("\"1\" has 2 items, too few for 2 queries"), "{error}");
    }

    #[test]
    fn a_share_of_each_class_and_rare_ones_left_out() {
        // There are 40 rows of label 0, 20 of label 1, 3 of label 2 and one of label 3.
        let labels: Vec<u32> = [[0; 40].as_slice(), &[1; 20], &[2; 3], &[3]].concat();
        let draw = |queries, least| {
            let split = Split::draw(Labels::single(&labels), None, queries, least, 1)?;
            let of = |label| split.queries.iter().filter(|&&row| labels[row] == label).count();
            assert_eq!(split.queries.len() + split.database.len(), labels.len());
            Ok::<_, Error>([of(0), of(1), of(2), of(3)])
        };
        assert_eq!(draw(Queries::Share(0.1), 2).unwrap(), [4, 2, 1, 0]);
        assert_eq!(draw(Queries::Share(0.5), 20).unwrap(), [20, 10, 0, 0]);
        assert_eq!(draw(Queries::PerClass(5), 6).unwrap(), [5, 5, 0, 0]);
        let error = |queries, least| draw(queries, least).unwrap_err().to_string();
        assert!(error(Queries::Share(0.1), 0).contains("\"3\" has 1 item"));
        assert!(error(Queries::PerClass(1), 41).contains("at most 40"));
        for share in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(error(Queries::Share(share), 0).contains("above 0 and below 1"));
        }
    }

    #[test]
    fn small_classes_are_called_by_name() {
        let names: LabelNames = serde_json::from_str(r#"["cat","dog"]"#).unwrap();
        let labels = [0, 0, 0, 1, 1];
        let split = Split::per_class(Labels::single(&labels), Some(&names), 2, 0);
        let error = split.unwrap_err().to_string();
        assert!(error.contains("\"dog\" has 2 items, too few for 2 queries"), "{error}");
        assert!(Split::per_class(Labels::single(&labels), None, 0, 0).is_err());
    }
}

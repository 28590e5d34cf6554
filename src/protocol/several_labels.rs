//! Rows with several labels, made of rows with one label each.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::rows::classes;
use crate::dataset::Data;
use crate::labels::LabelList;
use crate::{Batch, Error, Features, Result};

/// How many superclasses there are, unless that leaves a superclass fewer than two classes.
const SUPERCLASSES: usize = 20;

/// How rows with several labels are made of rows with one label each. Few data sets that everybody has
/// come with several labels; these follow from any that has classes.
///
/// What is drawn is learned and measured as any other rows with several labels: an item is relevant
/// that shares a label with the query, and the gain of
/// [nDCG](crate::eval::Metric::NdcgAt) is the number of labels shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeveralLabels {
    /// Vectors averaged two at a time, with the labels of both. Two of one class have one label. No
    /// vector of a query is in the database; of an odd number of rows, one is left out.
    Pairs,
    /// Each class also has one of 20 superclasses, dealt out at random and evenly; of half as many as
    /// there are classes where these are fewer than 40. The labels of superclasses follow the
    /// largest label of a class.
    Superclass,
}

impl SeveralLabels {
    /// Draws a database, in the order of a stream, and so many queries. The same `seed` gives the same.
    ///
    /// # Errors
    /// When there are no labels, a row has not one label, there are too few rows for so many queries
    /// and a database, or too few classes for superclasses.
    pub fn draw(self, all: Batch<'_>, queries: usize, seed: u64) -> Result<(Data, Data)> {
        let classes = classes(all.require_labels(self.name())?, self.name())?;
        let rows_each = match self {
            SeveralLabels::Pairs => 2,
            SeveralLabels::Superclass => 1,
        };
        let made = all.len() / rows_each;
        if queries == 0 || queries >= made {
            let expected =
                format!("above 0 and below {made}, which is what {} rows give", all.len());
            return Err(Error::parameter("queries", expected, queries));
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.shuffle(&mut rng);
        let (asked, found) = order.split_at(queries * rows_each);
        match self {
            SeveralLabels::Pairs => {
                let pairs = |rows: &[usize]| pairs(all.features(), &classes, rows);
                Ok((pairs(found)?, pairs(asked)?))
            }
            SeveralLabels::Superclass => {
                let superclasses = Superclasses::deal(&classes, &mut rng)?;
                let labelled = |rows: &[usize]| superclasses.add(all.features(), &classes, rows);
                Ok((labelled(found)?, labelled(asked)?))
            }
        }
    }

    /// What it is called in errors.
    fn name(self) -> &'static str {
        match self {
            SeveralLabels::Pairs => "pairs of rows",
            SeveralLabels::Superclass => "superclasses",
        }
    }
}

/// The means of each two rows, with the labels of both.
fn pairs(all: Features<'_>, classes: &[u32], rows: &[usize]) -> Result<Data> {
    let (pairs, _) = rows.as_chunks::<2>();
    let mut features = Vec::with_capacity(pairs.len() * all.dim());
    let mut labels = LabelList::new();
    for &[one, other] in pairs {
        // Halved before they are added: the sum of two large numbers may not be finite.
        let both = all.row(one).iter().zip(all.row(other));
        features.extend(both.map(|(one, other)| 0.5 * one + 0.5 * other));
        labels.push_set(&[classes[one], classes[other]]);
    }
    Data::new(all.dim(), features, labels)
}

/// The superclass of each class.
struct Superclasses {
    /// Ascending.
    classes: Vec<u32>,
    /// Of each of them, in this order.
    labels: Vec<u32>,
}

impl Superclasses {
    fn deal(of_rows: &[u32], rng: &mut ChaCha8Rng) -> Result<Superclasses> {
        let mut classes = of_rows.to_vec();
        classes.sort_unstable();
        classes.dedup();
        let count = SUPERCLASSES.min(classes.len() / 2);
        if count < 2 {
            let expected = "4 or more, so that there are superclasses of two";
            return Err(Error::parameter("classes", expected, classes.len()));
        }
        let last = classes.last().copied().unwrap_or_default();
        // At most 20, so that the conversion loses nothing.
        let most = u32::MAX - count as u32;
        if last > most {
            let expected = format!("at most {most}, so that superclasses have labels of their own");
            return Err(Error::parameter("labels", expected, last));
        }
        let label = |at: usize| last + 1 + (at % count) as u32;
        let mut labels: Vec<u32> = (0..classes.len()).map(label).collect();
        labels.shuffle(rng);
        Ok(Superclasses { classes, labels })
    }

    /// Some rows, with the labels of their classes and superclasses.
    fn add(&self, all: Features<'_>, of_rows: &[u32], rows: &[usize]) -> Result<Data> {
        let features = rows.iter().flat_map(|&row| all.row(row)).copied().collect();
        let mut labels = LabelList::new();
        for &row in rows {
            let class = of_rows[row];
            let at = self.classes.partition_point(|&other| other < class);
            labels.push_set(&[class, self.labels[at]]);
        }
        Data::new(all.dim(), features, labels)
    }
}

//! Rows with several labels, made of rows with one label each.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::rows::classes;
use crate::dataset::Data;
use crate::labels::LabelList;
use crate::{Batch, Error, Features, Result};

/// Maximum number of superclasses. There are fewer if a superclass would have fewer than two
/// classes.
const SUPERCLASSES: usize = 20;

/// Ways to derive rows with several labels from rows with one label each. Few common data sets have
/// several labels per row; such rows can be derived from any data set with classes.
///
/// The results are learned and measured as any other rows with several labels. An item that shares
/// a label with the query is relevant, and the gain of [nDCG](crate::eval::Metric::NdcgAt) is the
/// number of shared labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeveralLabels {
    /// Averages of two vectors each, with the labels of both. Two vectors of the same class have
    /// one label. No vector of a query is in the database. If the number of rows is odd, one row is
    /// omitted.
    Pairs,
    /// Each class also has one of 20 superclasses, assigned evenly and at random. With fewer than
    /// 40 classes there are half as many superclasses as classes. The labels of superclasses follow
    /// the largest label of a class.
    Superclass,
}

impl SeveralLabels {
    /// Draws a database, in the order of a stream, and `queries` queries. The same `seed` gives the
    /// same rows.
    ///
    /// # Errors
    /// When there are no labels, or a row does not have exactly one label. Also when there are too
    /// few rows for the queries and a database, or too few classes for superclasses.
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

    /// Returns the name for error messages.
    fn name(self) -> &'static str {
        match self {
            SeveralLabels::Pairs => "pairs of rows",
            SeveralLabels::Superclass => "superclasses",
        }
    }
}

/// Returns the mean of each pair of rows, with the labels of both.
fn pairs(all: Features<'_>, classes: &[u32], rows: &[usize]) -> Result<Data> {
    let (pairs, _) = rows.as_chunks::<2>();
    let mut features = Vec::with_capacity(pairs.len() * all.dim());
    let mut labels = LabelList::new();
    for &[one, other] in pairs {
        // Values are halved before they are added, since the sum of two large numbers may be
        // infinite.
        let both = all.row(one).iter().zip(all.row(other));
        features.extend(both.map(|(one, other)| 0.5 * one + 0.5 * other));
        labels.push_set(&[classes[one], classes[other]]);
    }
    Data::new(all.dim(), features, labels)
}

/// The superclass of each class.
struct Superclasses {
    /// Classes, ascending.
    classes: Vec<u32>,
    /// Superclass of each class, in the order of `classes`.
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
        // There are at most 20 superclasses, so the conversion loses nothing.
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

    /// Returns some rows with the labels of their classes and superclasses.
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

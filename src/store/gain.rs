//! Gain of re-encoding: the share of bits of a sample that would flip, and the additional
//! information that distances would carry about labels.

use std::collections::HashMap;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::shared::Shared;
use crate::{Codes, Features, HashFunction, Result, hamming};

/// Number of items whose labels are read, to find items that share a label.
const POOL: usize = 20_000;

/// Number of items whose vectors are read and encoded.
const SAMPLE: usize = 1000;

/// Minimum number of items that share a label, below which the information is not measured.
const LABELLED: usize = 50;

/// Gain of re-encoding all items by another function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// Share of the bits that would flip.
    pub(super) flips: f64,
    /// Additional information about labels, as a share of the maximum; `None` where few items share
    /// labels.
    pub(super) information: Option<f64>,
}

impl Gain {
    /// Returns the gain as one value, to be compared with the threshold of the policy.
    pub(super) fn value(self) -> f64 {
        self.information.unwrap_or(self.flips)
    }

    /// Returns the gain of re-encoding a store with a function.
    pub(super) fn of(shared: &Shared, function: &HashFunction) -> Result<Gain> {
        let moment = shared.moment();
        let pool = moment.index.sample(POOL)?;
        let labels = moment.index.labels_of(&pool)?;
        let sample = Sample::draw(&labels);
        let (mut values, mut kept) = (Vec::new(), Vec::new());
        let mut old = Codes::new(function.bits())?;
        for &row in &sample.rows {
            let id = pool[row];
            let (Some(item), Some(place)) = (moment.index.get(id)?, moment.index.place(id)?) else {
                continue;
            };
            values.extend(shared.files.row(place)?.vector);
            old.push(&item.code)?;
            kept.push(labels[row]);
        }
        let new = function.encode(Features::new(&values, shared.description.dim)?)?;
        let flipped: u32 = old.iter().zip(new.iter()).map(|(old, new)| hamming(old, new)).sum();
        let flips = f64::from(flipped) / (old.len().max(1) * function.bits()) as f64;
        let information = |codes: &Codes| information(codes, &kept, sample.share);
        let information = information(&new).zip(information(&old)).map(|(new, old)| new - old);
        Ok(Gain { flips, information })
    }
}

/// Rows of a pool: queries, and for each query another row with one of its labels, if any exists.
struct Sample {
    rows: Vec<usize>,
    /// Average share of the pool that shares a label with a query.
    share: f64,
}

impl Sample {
    /// Draws a sample of rows with these labels. A uniform sample would hardly contain two rows of
    /// one label if there are many labels.
    fn draw(labels: &[&[u32]]) -> Sample {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let mut of_label: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, labels) in labels.iter().enumerate() {
            labels.iter().for_each(|&label| of_label.entry(label).or_default().push(row));
        }
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.shuffle(&mut random);
        // Labelled rows come first, so that they dominate the sample even if a store has few of
        // them.
        order.sort_by_key(|&row| labels[row].is_empty());
        let (mut is_drawn, mut rows) = (vec![false; labels.len()], Vec::new());
        let (mut sharing, mut queries, mut last_query) = (0, 0, vec![usize::MAX; labels.len()]);
        for query in order {
            if rows.len() >= SAMPLE {
                break;
            }
            let mut others = Vec::new();
            for label in labels[query] {
                for &other in &of_label[label] {
                    if other != query && last_query[other] != query {
                        last_query[other] = query;
                        others.push(other);
                    }
                }
            }
            if !labels[query].is_empty() {
                (sharing, queries) = (sharing + others.len(), queries + 1);
            }
            let partner =
                (!others.is_empty()).then(|| others[random.random_range(0..others.len())]);
            for row in [Some(query), partner].into_iter().flatten() {
                if !std::mem::replace(&mut is_drawn[row], true) {
                    rows.push(row);
                }
            }
        }
        let pairs = queries * labels.len().saturating_sub(1);
        Sample { rows, share: sharing as f64 / pairs.max(1) as f64 }
    }
}

/// Returns the mutual information between the distance of two items and whether they share a label,
/// as a share of the entropy of sharing a label. Returns `None` if too few items share labels, or
/// if all do. `share` is the frequency of label sharing among all items, which is lower than in the
/// sample.
fn information(codes: &Codes, labels: &[&[u32]], share: f64) -> Option<f64> {
    let distances = codes.bits() + 1;
    let (mut same, mut different) = (vec![0.0; distances], vec![0.0; distances]);
    let mut counted = 0;
    for one in (0..labels.len()).filter(|&row| !labels[row].is_empty()) {
        let mut of_one = vec![0.0; distances];
        for other in (0..labels.len()).filter(|&row| row != one && !labels[row].is_empty()) {
            let shares = labels[one].iter().any(|label| labels[other].contains(label));
            let distance = hamming(codes.code(one), codes.code(other)) as usize;
            *(if shares { &mut of_one[distance] } else { &mut different[distance] }) += 1.0;
        }
        // Each item has the same weight, however frequent its label is.
        let partners: f64 = of_one.iter().sum();
        if partners > 0.0 {
            counted += 1;
            same.iter_mut().zip(of_one).for_each(|(all, one)| *all += one / partners);
        }
    }
    if counted < LABELLED || !(share > 0.0 && share < 1.0) || different.iter().sum::<f64>() == 0.0 {
        return None;
    }
    let shares = [share, 1.0 - share];
    let [same, different] = [same, different].map(|counts| {
        let all: f64 = counts.iter().sum();
        counts.into_iter().map(|count| count / all).collect::<Vec<f64>>()
    });
    let both: Vec<f64> =
        same.iter().zip(&different).map(|(s, d)| shares[0] * s + shares[1] * d).collect();
    let given = shares[0] * entropy(&same) + shares[1] * entropy(&different);
    Some((entropy(&both) - given) / entropy(&shares))
}

/// Returns the entropy of a distribution in bits.
fn entropy(shares: &[f64]) -> f64 {
    shares.iter().filter(|&&share| share > 0.0).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_report_all_of_labels_or_nothing() {
        let owned: Vec<Vec<u32>> = (0..120).map(|row| vec![row % 3, 7 + row % 3]).collect();
        let labels: Vec<&[u32]> = owned.iter().map(Vec::as_slice).collect();
        let told = |byte: fn(u32) -> u8, share| {
            let bytes: Vec<u8> = (0..120).map(byte).collect();
            information(&Codes::from_bytes(8, &bytes).unwrap(), &labels, share).unwrap()
        };
        for share in [0.5, 0.3, 1e-5] {
            assert!(
                (told(|row| [0, 0b1111, 0b1111_0000][row as usize % 3], share) - 1.0).abs() < 1e-9
            );
            assert!(told(|_| 9, share).abs() < 1e-9);
            let some = told(|row| (row % 3) as u8 * 3 + (row % 2) as u8, share);
            assert!(some > 0.0 && some < 1.0, "{some}");
        }
        let few: Vec<&[u32]> = labels[..40].to_vec();
        let codes = Codes::from_bytes(8, &[1; 40]).unwrap();
        assert_eq!(information(&codes, &few, 0.3), None);
    }

    #[test]
    fn a_sample_has_pairs_however_many_labels_there_are() {
        for classes in [2, 1000, 6000] {
            let owned: Vec<Vec<u32>> = (0..20_000).map(|row| vec![row % classes]).collect();
            let labels: Vec<&[u32]> = owned.iter().map(Vec::as_slice).collect();
            let sample = Sample::draw(&labels);
            assert!(sample.rows.len() >= SAMPLE);
            let share = (20_000.0 / f64::from(classes) - 1.0) / 19_999.0;
            assert!((sample.share / share - 1.0).abs() < 0.1, "{} {share}", sample.share);
            let mut counts = HashMap::new();
            sample.rows.iter().for_each(|&row| *counts.entry(labels[row][0]).or_insert(0) += 1);
            let alone = counts.values().filter(|&&count| count == 1).count();
            assert!(alone <= 1, "{alone} rows of {classes} classes are alone");
        }
        let none: Vec<&[u32]> = vec![&[]; 30];
        assert_eq!(Sample::draw(&none).rows.len(), 30);
    }
}

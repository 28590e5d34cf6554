//! What a newer function would change: of a sample of items, how many bits, and how well distances tell labels.

use std::collections::HashMap;

use super::shared::{Shared, lock};
use crate::{Codes, Features, HashFunction, Result, hamming};

/// Items that are looked at.
const SAMPLE: usize = 1000;

/// So many of them must have labels, for distances to tell something of these.
const LABELLED: usize = 50;

/// What a function would change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// The share of the bits that would be others.
    pub(super) flips: f64,
    /// How many bits of information on labels distances would tell more; `None` where few items have labels.
    pub(super) information: Option<f64>,
}

impl Gain {
    /// What is compared with the least gain that a renewal is for.
    pub(super) fn value(self) -> f64 {
        self.information.unwrap_or(self.flips)
    }

    /// What a function would change in a store.
    pub(super) fn of(shared: &Shared, function: &HashFunction) -> Result<Gain> {
        let moment = shared.moment();
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        let mut old = Codes::new(function.bits())?;
        for id in moment.index.sample(SAMPLE)? {
            let (Some(item), Some(place)) = (moment.index.get(id)?, moment.index.place(id)?) else {
                continue;
            };
            values.extend(shared.files.row(place)?.vector);
            old.push(&item.code)?;
            labels.push(item.labels);
        }
        lock(&shared.quality).same_code = same_code(&old);
        let new = function.encode(Features::new(&values, shared.description.dim)?)?;
        let flipped: u32 = old.iter().zip(new.iter()).map(|(old, new)| hamming(old, new)).sum();
        let flips = f64::from(flipped) / (old.len().max(1) * function.bits()) as f64;
        let labelled: Vec<usize> =
            (0..labels.len()).filter(|&row| !labels[row].is_empty()).collect();
        let information = (labelled.len() >= LABELLED).then(|| {
            let labels: Vec<&[u32]> = labelled.iter().map(|&row| &labels[row][..]).collect();
            information(&new.select(&labelled), &labels)
                - information(&old.select(&labelled), &labels)
        });
        Ok(Gain { flips, information })
    }
}

/// The share of codes that are equal to the most frequent one; `None` of few codes.
fn same_code(codes: &Codes) -> Option<f64> {
    let mut counts = HashMap::new();
    codes.iter().for_each(|code| *counts.entry(code).or_insert(0usize) += 1);
    let most = counts.into_values().max()?;
    (codes.len() >= LABELLED).then(|| most as f64 / codes.len() as f64)
}

/// The mutual information of the distance of two items and whether they share a label, in bits.
fn information(codes: &Codes, labels: &[&[u32]]) -> f64 {
    let mut counts = [vec![0u64; codes.bits() + 1], vec![0u64; codes.bits() + 1]];
    for one in 0..labels.len() {
        for other in 0..one {
            let same = labels[one].iter().any(|label| labels[other].contains(label));
            counts[usize::from(same)][hamming(codes.code(one), codes.code(other)) as usize] += 1;
        }
    }
    let both: Vec<u64> = counts[0].iter().zip(&counts[1]).map(|(one, other)| one + other).collect();
    let all = both.iter().sum::<u64>().max(1) as f64;
    let given: f64 =
        counts.iter().map(|of| of.iter().sum::<u64>() as f64 / all * entropy(of)).sum();
    entropy(&both) - given
}

/// In bits; 0 of nothing.
fn entropy(counts: &[u64]) -> f64 {
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| count as f64 / all);
    shares.map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_tell_labels_wholly_or_not_at_all() {
        let labels: [&[u32]; 4] = [&[0], &[0, 7], &[1], &[1]];
        // Two pairs of one label among six: what is to be told is the entropy of 1/3.
        let all = -(1.0f64 / 3.0).log2() / 3.0 - 2.0 / 3.0 * (2.0f64 / 3.0).log2();
        let codes = |bytes: &[u8]| Codes::from_bytes(8, bytes).unwrap();
        assert!((information(&codes(&[0, 0, 255, 255]), &labels) - all).abs() < 1e-12);
        assert!(information(&codes(&[9, 9, 9, 9]), &labels).abs() < 1e-12);
        let some = information(&codes(&[0, 1, 3, 255]), &labels);
        assert!(some > 0.0 && some < all, "{some}");
    }
}

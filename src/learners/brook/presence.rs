//! Targets for rows with several labels, from what the vectors tell of each label.
//!
//! The regression of "has label `l`" on the vectors, `f_l(x)`, is linear in `x`, so that any bit
//! `[sum over l of w_l f_l(x) > threshold]` is one of a hash function. The sum of the codes of a row's
//! labels is no good target for several: where two codes differ it is zero, and chance decides.

use super::codes::Codes;
use crate::linalg::{product, symmetric_eigen, transposed_product};
use crate::memory::NoRoom;

/// How many labels a row must have on average before labels have bits of their own: one row in a
/// hundred has one more. Codes of classes leave such rows to chance, and are no better for others.
const PRESENCE_FROM: f64 = 1.01;

/// The same where labels share bits. There codes of classes are better as long as most rows have one
/// label.
const ROTATION_FROM: f64 = 1.5;

/// Where the thresholds of a label's bits lie between the mean of `f` over rows without it, 0, and
/// over those with it, 1.
const THRESHOLDS: (f64, f64) = (0.2, 0.7);

/// When to stop turning what does not settle; most settle in 10 to 30 turns.
const MOST_TURNS: usize = 50;

/// What bits should tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The code of a row's class: rows have one label, or nearly all do.
    Codes,
    /// Of one label each whether it is there: there are two bits or more for every label.
    Presence,
    /// Mixtures of labels.
    Rotation,
}

impl Wanted {
    pub(super) fn of(labels_per_row: f64, labels: usize, bits: usize) -> Self {
        match 2 * labels <= bits {
            true if labels_per_row >= PRESENCE_FROM => Wanted::Presence,
            false if labels_per_row >= ROTATION_FROM => Wanted::Rotation,
            _ => Wanted::Codes,
        }
    }
}

/// A bit is set where the weighted sum of what a row has of each label exceeds its threshold.
pub(super) struct Targets {
    /// Labels x bits.
    pub(super) weights: Vec<f64>,
    /// One per bit.
    pub(super) thresholds: Vec<f64>,
}

impl Targets {
    /// Of classes with codes: the bits of the code itself.
    pub(super) fn of_codes(codes: &Codes, bits: usize) -> Self {
        let weights = codes.iter().flat_map(|(_, code)| code).map(|&bit| f64::from(bit)).collect();
        Targets { weights, thresholds: vec![0.0; bits] }
    }
}

/// What the vectors tell of the labels that take part.
pub(super) struct Fitted<'a> {
    pub(super) bits: usize,
    /// Of all rows, the share that has each label.
    pub(super) shares: &'a [f64],
    /// `M / n`: the covariances of labels and their `f`, labels x labels.
    pub(super) fit: &'a [f64],
}

impl Fitted<'_> {
    /// Each label has the same number of bits, the most frequent one more if there are bits left: a
    /// row has as many bits in common with another as they have labels in common. The bits of a label
    /// have one threshold each, so that they also tell how sure it is.
    ///
    /// `chosen` are the places of the labels in `codes`, which become those of rows with one label.
    pub(super) fn presence(&self, chosen: &[usize], codes: &mut Codes) -> Targets {
        let (bits, labels) = (self.bits, chosen.len());
        let mut targets =
            Targets { weights: vec![0.0; codes.len() * bits], thresholds: vec![0.0; bits] };
        // What all rows have, or none, or what vectors do not tell, needs no bit.
        let spread = |l: usize| self.fit[l * labels + l] / (self.shares[l] * (1.0 - self.shares[l]));
        let tells = |l: usize| self.shares[l] < 1.0 - 1e-9 && spread(l) > 1e-9;
        let mut telling: Vec<usize> = (0..labels).filter(|&l| tells(l)).collect();
        telling.sort_by(|&a, &b| self.shares[b].total_cmp(&self.shares[a]).then(a.cmp(&b)));
        codes.iter_mut().for_each(|(_, code)| code.fill(-1));
        let mut bit = 0;
        for (at, &label) in telling.iter().enumerate() {
            let own = bits / telling.len() + usize::from(at < bits % telling.len());
            // From the mean of f where the label is not to that where it is, it rises by this.
            let rise = spread(label);
            let without = self.shares[label] * (1.0 - rise);
            for place in 0..own {
                let (low, high) = THRESHOLDS;
                let part = low + (high - low) * (place as f64 + 0.5) / own as f64;
                // About -1 where the label is not and 1 where it is.
                let scale = 2.0 / rise;
                targets.weights[chosen[label] * bits + bit] = scale;
                targets.thresholds[bit] = scale * (without + rise * part);
                codes[chosen[label]].1[bit] = 1;
                bit += 1;
            }
        }
        targets
    }

    /// With fewer bits than that, every bit weighs all labels. The means of `f` over the rows of each
    /// label are turned until signs cost least (iterative quantisation, Gong and Lazebnik 2011):
    /// `R` with orthonormal columns (or rows) and signs `B` that bring `Z R` and `B` together, where
    /// `Z = diag(1 / p) M / n` has these means as rows. Labels that come together have similar means, and
    /// so have classes and their superclass: what they share is not told twice.
    ///
    /// The turning starts from `codes`, which become `B`.
    pub(super) fn rotation(&self, chosen: &[usize], codes: &mut Codes) -> Result<Targets, NoRoom> {
        let (bits, labels) = (self.bits, chosen.len());
        let rows = self.fit.chunks_exact(labels).zip(self.shares);
        let means: Vec<f64> =
            rows.flat_map(|(row, share)| row.iter().map(move |value| value / share)).collect();
        let mut signs: Vec<f64> =
            chosen.iter().flat_map(|&c| &codes[c].1).map(|&bit| f64::from(bit)).collect();
        let mut weights = vec![0.0; labels * bits];
        let mut turned = vec![0.0; labels * bits];
        for _ in 0..MOST_TURNS {
            let towards = transposed_product(&means, labels, &signs, bits);
            let Some(nearest) = nearest_rotation(&towards, labels, bits)? else { break };
            weights = nearest;
            turned = product(&means, labels, &weights, bits);
            let sign = |value: &f64| if *value > 0.0 { 1.0 } else { -1.0 };
            let now: Vec<f64> = turned.iter().map(sign).collect();
            if std::mem::replace(&mut signs, now) == signs {
                break;
            }
        }
        // The mean of a label is at about -1 or 1.
        for bit in 0..bits {
            let column = || (0..labels).map(move |l| l * bits + bit);
            let size = column().map(|at| turned[at].abs()).sum::<f64>() / labels as f64;
            if size > 0.0 {
                column().for_each(|at| weights[at] /= size);
            }
        }
        let typical = (weights.iter().map(|w| w * w).sum::<f64>() / weights.len() as f64).sqrt();
        // Labels that are too rare to take part have their random codes.
        let code = |&bit: &i8| typical * f64::from(bit);
        let mut all: Vec<f64> = codes.iter().flat_map(|(_, c)| c.iter().map(code)).collect();
        let found = weights.chunks_exact(bits).zip(signs.chunks_exact(bits));
        for (&class, (weights, signs)) in chosen.iter().zip(found) {
            all[class * bits..(class + 1) * bits].copy_from_slice(weights);
            let code = &mut codes[class].1;
            code.iter_mut().zip(signs).for_each(|(bit, &sign)| *bit = sign as i8);
        }
        // Half of what comes lies on either side of the mean.
        let mut thresholds = vec![0.0; bits];
        for (&class, share) in chosen.iter().zip(self.shares) {
            let weights = &all[class * bits..(class + 1) * bits];
            thresholds.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += share * weight);
        }
        Ok(Targets { weights: all, thresholds })
    }
}

/// The matrix with orthonormal columns, or rows if those are fewer, that is nearest to one of `rows` x
/// `columns`; zeros in directions that this one does not have. `None` when it cannot be found.
fn nearest_rotation(
    matrix: &[f64],
    rows: usize,
    columns: usize,
) -> Result<Option<Vec<f64>>, NoRoom> {
    let wide = rows < columns;
    let transposed: Vec<f64>;
    // The smaller of A A^T and A^T A.
    let (small, size, long) = match wide {
        true => (matrix, rows, columns),
        false => {
            transposed = (0..columns)
                .flat_map(|j| (0..rows).map(move |i| matrix[i * columns + j]))
                .collect();
            (&transposed[..], columns, rows)
        }
    };
    let Some((values, vectors)) = symmetric_eigen(small, long)? else { return Ok(None) };
    let least = values.first().map_or(0.0, |largest| 1e-12 * largest);
    if !values.iter().all(|value| value.is_finite()) {
        return Ok(None);
    }
    let mut scaled = vec![0.0; size * size];
    let mut plain = vec![0.0; size * size];
    for i in 0..size {
        for (j, &value) in values.iter().enumerate() {
            let root = if value > least { 1.0 / value.sqrt() } else { 0.0 };
            plain[j * size + i] = vectors[(i, j)];
            scaled[i * size + j] = vectors[(i, j)] * root;
        }
    }
    // The inverse square root, symmetric.
    let inverse_root = product(&scaled, size, &plain, size);
    Ok(Some(match wide {
        true => product(&inverse_root, size, matrix, columns),
        false => product(matrix, columns, &inverse_root, columns),
    }))
}

//! Target weights for rows with several labels, derived from predictions of each label.
//!
//! The regression of "has label `l`" on the vectors, `f_l(x)`, is linear in `x`. A hash function
//! can therefore compute any bit of the form `[sum over l of w_l f_l(x) > threshold]`. For a row
//! with several labels, the sum of their codes is a poor target: it is zero where two codes differ,
//! so that chance decides.

use super::codes::Codes;
use crate::linalg::{product, symmetric_eigen, transposed_product};
use crate::memory::NoRoom;

/// Mean number of labels per row (a second label for one row in twenty) from which each label has
/// its own bits. Codes of classes leave such rows to chance, and are hardly better for others.
pub(super) const PRESENCE_FROM: f64 = 1.05;

/// Minimum mean number of labels per row for labels to share bits by a rotation. Below it, codes of
/// classes are better, because most rows have one label.
pub(super) const ROTATION_FROM: f64 = 1.5;

/// Range of the thresholds of a label's bits, on a scale where the mean of `f` is 0 over rows
/// without the label and 1 over rows with it.
const THRESHOLDS: (f64, f64) = (0.2, 0.7);

/// The last threshold for rare labels, high enough to also distinguish among rows with the label.
const LAST_OF_RARE: f64 = 1.2;

/// Limit on the iterations of a rotation that does not converge. Most rotations take 10 to 30.
const MOST_TURNS: usize = 50;

/// The kind of targets that bits encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The code of a row's class. Used if nearly all rows have one label.
    Codes,
    /// The presence of one label per bit. Used if each label can have at least two bits.
    Presence,
    /// Mixtures of labels by a rotation.
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

/// Targets as weights of labels: a bit is set where the weighted sum of a row's labels exceeds its
/// threshold.
pub(super) struct TargetWeights {
    /// Labels x bits.
    pub(super) weights: Vec<f64>,
    /// One per bit.
    pub(super) thresholds: Vec<f64>,
}

impl TargetWeights {
    /// Returns the targets for classes with codes: the bits of the codes themselves.
    pub(super) fn of_codes(codes: &Codes, bits: usize) -> Self {
        let weights = codes.iter().flat_map(|(_, code)| code).map(|&bit| f64::from(bit)).collect();
        TargetWeights { weights, thresholds: vec![0.0; bits] }
    }
}

/// The regressions of the chosen labels on the vectors.
pub(super) struct Fitted<'a> {
    pub(super) bits: usize,
    /// Share of the rows that have each label.
    pub(super) shares: &'a [f64],
    /// `M / n`: the covariances between labels and their `f`, labels x labels.
    pub(super) fit: &'a [f64],
}

impl Fitted<'_> {
    /// Returns targets in which each bit encodes the presence of one label. All labels have the
    /// same number of bits; if bits are left over, the most frequent labels have one more. The more
    /// labels two rows share, the more bits they share. Each bit of a label has its own threshold,
    /// so that the bits also encode how certain the label is.
    ///
    /// `chosen` holds the positions of the labels in `codes`. The code of each label becomes that
    /// of a row with this label alone.
    pub(super) fn presence(
        &self,
        chosen: &[usize],
        codes: &mut Codes,
        is_rare: bool,
    ) -> TargetWeights {
        let (bits, labels) = (self.bits, chosen.len());
        let mut targets =
            TargetWeights { weights: vec![0.0; codes.len() * bits], thresholds: vec![0.0; bits] };
        // A label needs no bit if all rows or no rows have it, or if the vectors do not predict it.
        let spread =
            |l: usize| self.fit[l * labels + l] / (self.shares[l] * (1.0 - self.shares[l]));
        let tells = |l: usize| self.shares[l] < 1.0 - 1e-9 && spread(l) > 1e-9;
        let mut telling: Vec<usize> = (0..labels).filter(|&l| tells(l)).collect();
        telling.sort_by(|&a, &b| self.shares[b].total_cmp(&self.shares[a]).then(a.cmp(&b)));
        codes.iter_mut().for_each(|(_, code)| code.fill(-1));
        let mut bit = 0;
        for (at, &label) in telling.iter().enumerate() {
            let own = bits / telling.len() + usize::from(at < bits % telling.len());
            // Difference between the mean of f over rows with the label and over rows without it.
            let rise = spread(label);
            let without = self.shares[label] * (1.0 - rise);
            for place in 0..own {
                let (low, high) = THRESHOLDS;
                let high = if is_rare { LAST_OF_RARE } else { high };
                let part = low + (high - low) * (place as f64 + 0.5) / own as f64;
                // The target is about -1 for rows without the label and 1 for rows with it.
                let scale = 2.0 / rise;
                targets.weights[chosen[label] * bits + bit] = scale;
                targets.thresholds[bit] = scale * (without + rise * part);
                codes[chosen[label]].1[bit] = 1;
                bit += 1;
            }
        }
        targets
    }

    /// Returns targets in which every bit weighs all labels, for fewer than two bits per label. The
    /// means of `f` over the rows of each label are rotated so that taking signs loses least
    /// (iterative quantization, Gong and Lazebnik 2011). The algorithm seeks `R` with orthonormal
    /// columns (or rows) and signs `B` such that `Z R` is near to `B`. The rows of
    /// `Z = diag(1 / p) M / n` are these means. Labels that occur together have similar means, and
    /// so do classes and their superclass: their common part is not encoded twice.
    ///
    /// The iteration starts from `codes`, which become `B`.
    pub(super) fn rotation(
        &self,
        chosen: &[usize],
        codes: &mut Codes,
    ) -> Result<TargetWeights, NoRoom> {
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
            let Some(nearest) = nearest_orthonormal(&towards, labels, bits)? else { break };
            weights = nearest;
            turned = product(&means, labels, &weights, bits);
            let sign = |value: &f64| if *value > 0.0 { 1.0 } else { -1.0 };
            let now: Vec<f64> = turned.iter().map(sign).collect();
            if std::mem::replace(&mut signs, now) == signs {
                break;
            }
        }
        // Scaled so that the mean of a label is about -1 or 1.
        for bit in 0..bits {
            let column = || (0..labels).map(move |l| l * bits + bit);
            let size = column().map(|at| turned[at].abs()).sum::<f64>() / labels as f64;
            if size > 0.0 {
                column().for_each(|at| weights[at] /= size);
            }
        }
        let typical = (weights.iter().map(|w| w * w).sum::<f64>() / weights.len() as f64).sqrt();
        // Labels that are too rare to take part keep their random codes.
        let code = |&bit: &i8| typical * f64::from(bit);
        let mut all: Vec<f64> = codes.iter().flat_map(|(_, c)| c.iter().map(code)).collect();
        let found = weights.chunks_exact(bits).zip(signs.chunks_exact(bits));
        for (&class, (weights, signs)) in chosen.iter().zip(found) {
            all[class * bits..(class + 1) * bits].copy_from_slice(weights);
            let code = &mut codes[class].1;
            code.iter_mut().zip(signs).for_each(|(bit, &sign)| *bit = sign as i8);
        }
        // With the mean as the threshold, about half of the rows are on either side of it.
        let mut thresholds = vec![0.0; bits];
        for (&class, share) in chosen.iter().zip(self.shares) {
            let weights = &all[class * bits..(class + 1) * bits];
            thresholds.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += share * weight);
        }
        Ok(TargetWeights { weights: all, thresholds })
    }
}

/// Returns the matrix with orthonormal columns (or rows, if there are fewer rows) that is nearest
/// to a matrix of `rows` x `columns`. The result is zero in directions that the matrix does not
/// span; a rotation would fill them arbitrarily. Returns `None` if it cannot be computed.
fn nearest_orthonormal(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::random::{Purpose, random};
    use rand::RngExt;

    #[test]
    fn what_bits_tell_follows_from_how_many_labels_rows_have() {
        for (labels_per_row, labels, bits, expected) in [
            (1.0, 10, 64, Wanted::Codes),
            (1.0, 300, 64, Wanted::Codes),
            (1.04, 10, 64, Wanted::Codes),
            (1.1, 10, 64, Wanted::Presence),
            (2.0, 32, 64, Wanted::Presence),
            (2.0, 33, 64, Wanted::Rotation),
            (1.2, 33, 64, Wanted::Codes),
        ] {
            assert_eq!(Wanted::of(labels_per_row, labels, bits), expected, "{labels_per_row}");
        }
    }

    /// Returns the shares, the covariances and the predictions for rows of `labels` independent
    /// labels. The predictions are the labels themselves, shrunk.
    fn covariances(labels: usize, shrink: f64, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
        let mut rng = random(seed, Purpose::Signs, 0);
        let has: Vec<Vec<f64>> = (0..500)
            .map(|_| {
                (0..labels)
                    .map(|l| f64::from(u8::from(rng.random_bool(0.1 + 0.02 * (l % 9) as f64))))
                    .collect()
            })
            .collect();
        let mean = |l: usize| has.iter().map(|row| row[l]).sum::<f64>() / 500.0;
        let shares: Vec<f64> = (0..labels).map(mean).collect();
        let told: Vec<Vec<f64>> = has
            .iter()
            .map(|row| row.iter().zip(&shares).map(|(y, p)| p + shrink * (y - p)).collect())
            .collect();
        let covariance = |a: usize, b: usize| {
            let both = has.iter().zip(&told).map(|(y, f)| (y[a] - shares[a]) * (f[b] - shares[b]));
            both.sum::<f64>() / 500.0
        };
        let fit = (0..labels).flat_map(|a| (0..labels).map(move |b| (a, b)));
        let fit = fit.map(|(a, b)| covariance(a, b)).collect();
        (shares, fit, told)
    }

    #[test]
    fn thresholds_lie_between_the_means_without_and_with_a_label() {
        let (labels, bits) = (7, 24);
        let (shares, fit, told) = covariances(labels, 0.6, 1);
        let fitted = Fitted { bits, shares: &shares, fit: &fit };
        let chosen: Vec<usize> = (0..labels).collect();
        let mut codes: Codes = chosen.iter().map(|&l| (l as u32, vec![1; bits])).collect();
        let TargetWeights { weights, thresholds } = fitted.presence(&chosen, &mut codes, false);
        let mut bits_of = vec![0; labels];
        for bit in 0..bits {
            let own: Vec<usize> = (0..labels).filter(|&l| weights[l * bits + bit] != 0.0).collect();
            let [label] = own[..] else { panic!("bit {bit} is of the labels {own:?}") };
            bits_of[label] += 1;
            let at = thresholds[bit] / weights[label * bits + bit];
            // A label's f takes two values here.
            let (low, high) = told
                .iter()
                .fold((1.0f64, 0.0f64), |(low, high), f| (low.min(f[label]), high.max(f[label])));
            let part = (at - low) / (high - low);
            assert!((0.2..0.7).contains(&part), "label {label}, bit {bit}: {part}");
            assert!((weights[label * bits + bit] * (high - low) - 2.0).abs() < 1e-9);
            assert_eq!(codes.iter().filter(|(_, code)| code[bit] == 1).count(), 1);
        }
        let most = (0..labels).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap();
        assert_eq!(bits_of[most], 4, "24 bits are 3 for each of 7 labels, and 3 more");
        assert!(bits_of.iter().all(|&own| own == 3 || own == 4), "{bits_of:?}");
    }

    #[test]
    fn labels_that_tell_nothing_have_no_bit() {
        let bits = 8;
        let (shares, fit) = ([1.0, 0.5, 0.3], [0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0]);
        let fitted = Fitted { bits, shares: &shares, fit: &fit };
        let codes = || (0..3).map(|label| (label, vec![1; bits])).collect::<Codes>();
        let targets = fitted.presence(&[0, 1, 2], &mut codes(), false);
        for label in 0..3 {
            let all = targets.weights[label * bits..][..bits].iter().all(|&w| w != 0.0);
            assert_eq!(all, label == 1, "of the label that vectors tell");
        }
        let nothing = Fitted { bits, shares: &shares, fit: &[0.0; 9] };
        let found = [
            nothing.presence(&[0, 1, 2], &mut codes(), false),
            nothing.rotation(&[0, 1, 2], &mut codes()).unwrap(),
        ];
        for targets in found {
            let mut numbers = targets.weights.iter().chain(&targets.thresholds);
            assert!(numbers.all(|value| value.is_finite()));
        }
    }

    #[test]
    fn the_nearest_orthonormal_matrix_is_that_of_the_definition() {
        let mut rng = random(3, Purpose::Signs, 0);
        for (rows, columns, rank) in [(9, 4, 4), (4, 9, 4), (6, 6, 6), (8, 5, 3)] {
            let mut draw =
                |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-1.0..1.0)).collect() };
            let matrix = product(&draw(rows * rank), rank, &draw(rank * columns), columns);
            let found = nearest_orthonormal(&matrix, rows, columns).unwrap().unwrap();
            // R is a partial isometry: R R^T R = R. R^T A is symmetric, with no negative values.
            let gram = transposed_product(&found, columns, &found, columns);
            let again = product(&found, columns, &gram, columns);
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(close(&again, &found), "{rows} x {columns}");
            let size: f64 = found.iter().map(|value| value * value).sum();
            assert!((size - rank as f64).abs() < 1e-6, "{size} dimensions of {rank}");
            let symmetric = transposed_product(&found, columns, &matrix, columns);
            for i in 0..columns {
                assert!(symmetric[i * columns + i] > -1e-9);
                for j in 0..i {
                    let (a, b) = (symmetric[i * columns + j], symmetric[j * columns + i]);
                    assert!((a - b).abs() < 1e-6, "{rows} x {columns}");
                }
            }
        }
    }

    /// Evaluates the rotation by its definition. Every sign agrees with its mean, so no flip of a
    /// single bit would fit better.
    #[test]
    fn a_rotation_ends_where_signs_and_means_agree() {
        for (labels, bits, seed) in [(30, 16, 1), (12, 20, 2), (40, 40, 3)] {
            let (shares, fit, _) = covariances(labels, 0.7, seed);
            let fitted = Fitted { bits, shares: &shares, fit: &fit };
            let mut rng = random(seed, Purpose::Signs, 1);
            let chosen: Vec<usize> = (0..labels).collect();
            let mut codes: Codes = chosen
                .iter()
                .map(|&l| {
                    (l as u32, (0..bits).map(|_| if rng.random() { 1 } else { -1 }).collect())
                })
                .collect();
            let TargetWeights { weights, thresholds } =
                fitted.rotation(&chosen, &mut codes).unwrap();
            let mut wrong = 0;
            for (l, (_, code)) in codes.iter().enumerate() {
                for bit in 0..bits {
                    let mean = |m: usize| fit[l * labels + m] / shares[l];
                    let sum: f64 = (0..labels).map(|m| mean(m) * weights[m * bits + bit]).sum();
                    wrong += usize::from((sum > 0.0) != (code[bit] == 1));
                }
            }
            assert_eq!(wrong, 0, "{labels} labels, {bits} bits");
            for bit in 0..bits {
                let mean: f64 = (0..labels).map(|m| shares[m] * weights[m * bits + bit]).sum();
                assert!((thresholds[bit] - mean).abs() < 1e-9);
            }
        }
    }
}

//! The codes of the classes: a small discrete problem, solved by flipping single bits.

use std::collections::{HashMap, HashSet};

use rand::RngExt;

use crate::learner::Loaded;
use crate::learners::random::{Purpose, random};
use crate::linalg::dot;
use crate::tensors::Tensors;

/// Limit on the passes over codes that do not converge. Most codes converge in 5 to 30 passes.
const MOST_PASSES: usize = 64;

/// The codes of the classes, by label; bits are `+1` and `-1`.
pub(super) type Codes = Vec<(u32, Vec<i8>)>;

/// The objective
/// `J(U) = 2k/r^2 sum over c != c' of p_c p_c' exp(r u_c . u_c' / k) - tr(U^T fit U)`.
pub(super) struct Problem {
    pub(super) bits: usize,
    /// `p`: share of each class in all rows.
    pub(super) shares: Vec<f64>,
    /// `r`: the rate at which the price of two codes falls with their distance.
    pub(super) repulsion: f64,
    /// The matrix `fit`: symmetric, classes x classes.
    pub(super) fit: Vec<f64>,
}

/// Gain required to flip a bit in use, relative to the cost against codes at the optimal distance.
const WORTH_A_CHANGE: f64 = 1.0;

/// Returns the codes that the search starts from. Classes with a code in use start from it. Others
/// start from random codes, all different as long as there are enough codes. The randomness depends
/// on the keys, not on the labels.
pub(super) fn start(
    classes: impl Iterator<Item = (u32, u64)>,
    bits: usize,
    seed: u64,
    in_use: &[(u32, Vec<i8>)],
) -> Codes {
    let in_use: HashMap<u32, &Vec<i8>> =
        in_use.iter().map(|(label, code)| (*label, code)).collect();
    let mut taken: HashSet<Vec<i8>> = in_use.values().map(|code| code.to_vec()).collect();
    let random_code = |key: u64, taken: &HashSet<Vec<i8>>| {
        let mut rng = random(seed, Purpose::Codewords, key);
        let mut draw = || (0..bits).map(|_| if rng.random() { 1 } else { -1 }).collect::<Vec<i8>>();
        let mut code = draw();
        // If there are many more codes than classes, the first draw is not in use yet. If there are
        // few codes, one of a hundred draws is good enough.
        for _ in 0..100 {
            if !taken.contains(&code) {
                break;
            }
            code = draw();
        }
        code
    };
    let mut codes = Codes::new();
    for (label, key) in classes {
        let code = match in_use.get(&label) {
            Some(code) if code.len() == bits => code.to_vec(),
            // The number of label bits has changed.
            Some(code) => {
                let others = random_code(key, &taken);
                code.iter().chain(others.iter().skip(code.len())).copied().take(bits).collect()
            }
            None => random_code(key, &taken),
        };
        taken.insert(code.clone());
        codes.push((label, code));
    }
    codes
}

impl Problem {
    /// Flips single bits of `codes` while `J` falls. Bits of classes that are `steady` are flipped
    /// only if the gain justifies the change. No two codes become equal.
    pub(super) fn descend(&self, codes: &mut [(u32, Vec<i8>)], steady: &[bool]) {
        let (classes, bits) = (codes.len(), self.bits);
        // Stored by bit, so that the innermost loop iterates over the classes.
        let mut columns: Vec<Vec<f64>> =
            (0..bits).map(|r| codes.iter().map(|(_, code)| f64::from(code[r])).collect()).collect();
        let mut fits: Vec<Vec<f64>> = columns
            .iter()
            .map(|u| self.fit.chunks_exact(classes).map(|row| dot(row, u)).collect())
            .collect();
        let mut pairs = Pairs::new(self, codes);
        // Relative change of a pair's price when a flip brings the two codes closer or drives them
        // apart.
        let step = 2.0 * self.repulsion / bits as f64;
        let (closer, farther) = (step.exp() - 1.0, (-step).exp() - 1.0);
        for _ in 0..MOST_PASSES {
            let mut changed = false;
            for r in 0..bits {
                for c in 0..classes {
                    let (u, p) = (columns[r][c], self.shares[c]);
                    let prices = pairs.prices_of(c);
                    let (all, alike) = (pairs.totals[c], u * dot(prices, &columns[r]));
                    let (alike, unlike) = ((all + alike) / 2.0, (all - alike) / 2.0);
                    let apart = 2.0 * p * (alike * farther + unlike * closer);
                    let fit = 4.0 * (self.fit[c * classes + c] - u * fits[r][c]);
                    let worth =
                        if steady[c] { 8.0 / bits as f64 * p * WORTH_A_CHANGE } else { 1e-12 };
                    let gains = apart - fit < -worth;
                    if !gains || pairs.would_be_equal(c, u, &columns[r]) {
                        continue;
                    }
                    changed = true;
                    pairs.flip(self, c, u, &columns[r]);
                    let fit = &self.fit[c * classes..(c + 1) * classes];
                    fits[r].iter_mut().zip(fit).for_each(|(sum, fit)| *sum -= 2.0 * u * fit);
                    columns[r][c] = -u;
                }
            }
            if !changed {
                break;
            }
        }
        for (r, column) in columns.iter().enumerate() {
            codes.iter_mut().zip(column).for_each(|((_, code), &u)| code[r] = u as i8);
        }
    }

    /// Returns the price of a pair of codes with this inner product, without the shares.
    fn price(&self, inner: i32) -> f64 {
        let k = self.bits as f64;
        2.0 * k / self.repulsion.powi(2) * (self.repulsion * f64::from(inner) / k).exp()
    }
}

/// The inner products of all pairs of codes, and their prices.
struct Pairs {
    bits: usize,
    classes: usize,
    inner: Vec<i32>,
    /// For each pair, the price of its inner product times the share of the second class; 0 for a
    /// class with itself.
    prices: Vec<f64>,
    /// Sums of the rows of `prices`.
    totals: Vec<f64>,
    /// The price of every possible inner product, from `-bits` on.
    table: Vec<f64>,
}

impl Pairs {
    fn new(problem: &Problem, codes: &[(u32, Vec<i8>)]) -> Self {
        let (bits, classes) = (problem.bits, codes.len());
        let product = |left: &[i8], right: &[i8]| -> i32 {
            left.iter().zip(right).map(|(l, r)| i32::from(*l) * i32::from(*r)).sum()
        };
        let inner: Vec<i32> = codes
            .iter()
            .flat_map(|(_, left)| codes.iter().map(|(_, right)| product(left, right)))
            .collect();
        let table = (-(bits as i32)..=bits as i32).map(|inner| problem.price(inner)).collect();
        let (prices, totals) = (vec![0.0; classes * classes], vec![0.0; classes]);
        let mut pairs = Pairs { bits, classes, inner, prices, totals, table };
        for c in 0..classes {
            (0..classes).for_each(|other| pairs.set_price(problem, c, other));
            pairs.totals[c] = pairs.prices_of(c).iter().sum();
        }
        pairs
    }

    fn prices_of(&self, class: usize) -> &[f64] {
        &self.prices[class * self.classes..(class + 1) * self.classes]
    }

    fn set_price(&mut self, problem: &Problem, class: usize, other: usize) {
        let at = class * self.classes + other;
        if class != other {
            let price = self.table[(self.inner[at] + self.bits as i32) as usize];
            self.prices[at] = price * problem.shares[other];
        }
    }

    /// Returns whether flipping the bit `u` of `column` would make the code of `class` equal to
    /// another.
    fn would_be_equal(&self, class: usize, u: f64, column: &[f64]) -> bool {
        let inner = &self.inner[class * self.classes..(class + 1) * self.classes];
        let equal = |(other, (inner, v)): (usize, (&i32, &f64))| {
            other != class && *v != u && inner + 2 == self.bits as i32
        };
        inner.iter().zip(column).enumerate().any(equal)
    }

    fn flip(&mut self, problem: &Problem, class: usize, u: f64, column: &[f64]) {
        for other in (0..self.classes).filter(|&other| other != class) {
            let change = if column[other] == u { -2 } else { 2 };
            let (there, back) = (class * self.classes + other, other * self.classes + class);
            self.inner[there] += change;
            self.inner[back] += change;
            let before = self.prices[back];
            self.set_price(problem, class, other);
            self.set_price(problem, other, class);
            self.totals[other] += self.prices[back] - before;
        }
        self.totals[class] = self.prices_of(class).iter().sum();
    }
}

pub(super) fn save(state: &mut Tensors, name: &str, bits: usize, codes: &[(u32, Vec<i8>)]) {
    let labels: Vec<u32> = codes.iter().map(|(label, _)| *label).collect();
    let values: Vec<i8> = codes.iter().flat_map(|(_, code)| code).copied().collect();
    state.put(&format!("{name}.labels"), 1, &labels);
    state.put(name, bits, &values);
}

/// Reads codes of at most `most` bits, all of the same length.
pub(super) fn load(state: &mut Tensors, name: &str, most: usize) -> Loaded<Codes> {
    let bits = state.width(name)?;
    if !(1..=most).contains(&bits) {
        return Err(format!("array {name:?} holds codes of {bits} bits, for at most {most}"));
    }
    let labels: Vec<u32> = state.take(&format!("{name}.labels"), 1)?;
    let values: Vec<i8> = state.take_rows(name, labels.len(), bits)?;
    if let Some(value) = values.iter().find(|value| !matches!(value, 1 | -1)) {
        return Err(format!("array {name:?} holds {value}, where only 1 and -1 may stand"));
    }
    Ok(labels.into_iter().zip(values.chunks_exact(bits).map(<[i8]>::to_vec)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::random::random;

    impl Problem {
        /// Computes `J` by its definition.
        fn objective(&self, codes: &[(u32, Vec<i8>)]) -> f64 {
            let (classes, k) = (codes.len(), self.bits as f64);
            let inner = |a: &[i8], b: &[i8]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            let mut sum = 0.0;
            for (c, (_, left)) in codes.iter().enumerate() {
                for (d, (_, right)) in codes.iter().enumerate() {
                    let inner = inner(left, right);
                    if c != d {
                        let pair = self.shares[c] * self.shares[d];
                        sum += pair * 2.0 * k / 16.0 * (4.0 * inner / k).exp();
                    }
                    sum -= self.fit[c * classes + d] * inner;
                }
            }
            sum
        }
    }

    fn problem(classes: usize, bits: usize, fit: f64, seed: u64) -> Problem {
        let mut rng = random(seed, Purpose::Signs, 0);
        let shares: Vec<f64> = (0..classes).map(|_| rng.random_range(0.1..1.0)).collect();
        let total: f64 = shares.iter().sum();
        let shares = shares.into_iter().map(|share| share / total).collect();
        let mut matrix = vec![0.0; classes * classes];
        for c in 0..classes {
            for d in 0..=c {
                let value = fit * rng.random_range(-0.1..0.1);
                matrix[c * classes + d] = value;
                matrix[d * classes + c] = value;
            }
            matrix[c * classes + c] += fit / classes as f64;
        }
        Problem { bits, shares, repulsion: 4.0, fit: matrix }
    }

    #[test]
    fn no_single_flip_is_left_that_lowers_the_objective() {
        for seed in 0..40 {
            let classes = 2 + seed as usize % 9;
            let problem = problem(classes, 24, if seed % 2 == 0 { 0.0 } else { 0.3 }, seed);
            let labels = (0..classes as u32).map(|label| (label, u64::from(label)));
            let start = start(labels, 24, seed, &[]);
            let mut codes = start.clone();
            problem.descend(&mut codes, &vec![false; classes]);
            let lowest = problem.objective(&codes);
            assert!(lowest <= problem.objective(&start));
            for c in 0..classes {
                for r in 0..24 {
                    let mut other = codes.clone();
                    other[c].1[r] *= -1;
                    let becomes_equal = (0..classes).any(|d| d != c && other[d].1 == other[c].1);
                    let lower = problem.objective(&other) < lowest - 1e-9;
                    assert!(becomes_equal || !lower, "seed {seed}: bit {r} of class {c}");
                }
            }
        }
    }

    #[test]
    fn codes_stay_different_however_much_a_common_one_would_fit() {
        for (classes, bits) in [(16usize, 5), (8, 3), (200, 32)] {
            let mut problem = problem(classes, bits, 0.0, 1);
            problem.fit = vec![1.0; classes * classes];
            let labels = (0..classes as u32).map(|label| (label, u64::from(label)));
            let mut codes = start(labels, bits, 7, &[]);
            problem.descend(&mut codes, &vec![false; classes]);
            let different: HashSet<_> = codes.iter().map(|(_, code)| code).collect();
            assert_eq!(different.len(), classes, "{classes} classes, {bits} bits");
        }
    }

    #[test]
    fn steady_codes_move_less() {
        let problem = problem(10, 64, 0.3, 3);
        let labels = (0..10).map(|label| (label, u64::from(label)));
        let begun = start(labels, 64, 3, &[]);
        let moved = |steady: bool| {
            let mut codes = begun.clone();
            problem.descend(&mut codes, &[steady; 10]);
            let pairs = codes.iter().zip(&begun);
            pairs.flat_map(|(a, b)| a.1.iter().zip(&b.1)).filter(|(a, b)| a != b).count()
        };
        assert!(moved(true) < moved(false));
    }
}

//! BSODH as the paper writes it, with the similarity matrix `S~` and the code of every existing
//! item: the naive reference for `Bsodh`. This file is not in `tests/` with the other references
//! because the command-line tool measures its cost, and a package cannot include files of another.

use super::{Bsodh, Existing, LabelSets, Order, Params};
pub use crate::linalg::Regression;
use crate::{Features, Labels, Learner};

/// Returns the actual BSODH learner, for vectors that are already preprocessed. It starts from
/// these weights (dim x bits), and solves its regressions by the given method.
pub fn learner(
    params: Params,
    dim: usize,
    weights: Vec<f32>,
    regression: Regression,
) -> impl Learner {
    Bsodh {
        params,
        dim,
        bits: weights.len() / dim,
        weights,
        sets: LabelSets::default(),
        existing: Existing::default(),
        last: None,
        started: false,
        batch_codes: None,
        regression,
    }
}

/// BSODH in plain loops: slow, and slower with every batch.
pub struct DenseBsodh {
    params: Params,
    dim: usize,
    bits: usize,
    /// The projection, dim x bits.
    pub weights: Vec<f32>,
    /// The labels and the code of every existing item.
    labels: Vec<Vec<u32>>,
    codes: Vec<Vec<f64>>,
}

impl DenseBsodh {
    /// Returns a learner that starts from these weights, dim x bits.
    pub fn new(params: Params, dim: usize, bits: usize, weights: Vec<f32>) -> Self {
        DenseBsodh { params, dim, bits, weights, labels: Vec::new(), codes: Vec::new() }
    }

    /// Learns the next batch: vectors that are already preprocessed, and their labels.
    ///
    /// # Panics
    /// When there are fewer labels than vectors.
    pub fn learn(&mut self, features: Features<'_>, labels: Labels<'_>) {
        let x: Vec<&[f32]> = (0..features.len()).map(|i| features.row(i)).collect();
        let y: Vec<Vec<u32>> = (0..labels.len()).map(|i| labels.row(i).to_vec()).collect();
        let projections = self.project(&x, &self.weights);
        let mut b: Vec<Vec<f64>> =
            projections.iter().map(|p| p.iter().map(|&p| self.sgn(p)).collect()).collect();
        if !self.codes.is_empty() {
            let s = self.similarity(&y);
            match self.params.order {
                Order::Printed => {
                    self.weights = self.regress(&x, &b);
                    self.update_existing(&b, &s);
                    let projections = self.project(&x, &self.weights);
                    self.update_batch(&mut b, &s, &projections);
                }
                Order::Alternating => {
                    self.update_existing(&b, &s);
                    self.update_batch(&mut b, &s, &projections);
                    self.weights = self.regress(&x, &b);
                }
                Order::Released => {
                    for (i, b) in b.iter_mut().enumerate() {
                        if let Some(j) = (0..self.codes.len()).find(|&j| s[i][j] > 0.0) {
                            b.clone_from(&self.codes[j]);
                        }
                    }
                    self.update_batch(&mut b, &s, &projections);
                    self.update_existing(&b, &s);
                    self.weights = self.regress(&x, &b);
                }
            }
        }
        self.labels.extend(y);
        self.codes.extend(b);
    }

    fn sgn(&self, value: f64) -> f64 {
        let zero = if self.params.order == Order::Released { 1.0 } else { -1.0 };
        if value > 0.0 {
            1.0
        } else if value < 0.0 {
            -1.0
        } else {
            zero
        }
    }

    fn project(&self, x: &[&[f32]], weights: &[f32]) -> Vec<Vec<f64>> {
        let bit = |x: &[f32], r: usize| {
            let column = weights.iter().skip(r).step_by(self.bits);
            x.iter().zip(column).fold(0.0f32, |sum, (x, w)| x.mul_add(*w, sum))
        };
        x.iter().map(|x| (0..self.bits).map(|r| f64::from(bit(x, r))).collect()).collect()
    }

    /// Returns `S~`, in single precision as in the authors' program.
    fn similarity(&self, y: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let Params { similar_weight, dissimilar_weight, .. } = self.params;
        let of = |a: &[u32], b: &[u32]| match a.iter().any(|label| b.contains(label)) {
            true => similar_weight as f32,
            false => -dissimilar_weight as f32,
        };
        y.iter().map(|a| self.labels.iter().map(|b| of(a, b)).collect()).collect()
    }

    /// Runs `B_e = sgn(B_s S~)`.
    fn update_existing(&mut self, b: &[Vec<f64>], s: &[Vec<f32>]) {
        let mut sums = vec![vec![0.0f32; self.bits]; self.codes.len()];
        for (b, s) in b.iter().zip(s) {
            for (sum, s) in sums.iter_mut().zip(s) {
                sum.iter_mut().zip(b).for_each(|(sum, b)| *sum += *b as f32 * s);
            }
        }
        self.codes = sums
            .iter()
            .map(|sums| sums.iter().map(|&sum| self.sgn(f64::from(sum))).collect())
            .collect();
    }

    /// Runs `b_r = sgn(p_r - b_er B_e'^T B_s')`, row after row.
    fn update_batch(&self, b: &mut [Vec<f64>], s: &[Vec<f32>], projections: &[Vec<f64>]) {
        let k = self.bits as f64;
        let (scale, pull, most) = match self.params.order {
            Order::Released => (k * k, 1.0, 1),
            _ => (k, self.params.fit_weight, self.params.max_iterations),
        };
        // The exact weights, not their single-precision values.
        let Params { similar_weight, dissimilar_weight, .. } = self.params;
        let exact = |s: f32| if s > 0.0 { similar_weight } else { -dissimilar_weight };
        let p: Vec<Vec<f64>> = s
            .iter()
            .zip(projections)
            .map(|(s, projections)| {
                let mut sums = vec![0.0; self.bits];
                for (&s, code) in s.iter().zip(&self.codes) {
                    let s = exact(s);
                    sums.iter_mut().zip(code).for_each(|(sum, e)| *sum += s * e);
                }
                sums.iter().zip(projections).map(|(sum, x)| scale * sum + pull * x).collect()
            })
            .collect();
        for _ in 0..most {
            let before = b.to_vec();
            for r in 0..self.bits {
                let mut products = vec![0.0; self.bits];
                for code in &self.codes {
                    let own = code[r];
                    products.iter_mut().zip(code).for_each(|(sum, e)| *sum += own * e);
                }
                products[r] = 0.0;
                for (b, p) in b.iter_mut().zip(&p) {
                    let others: f64 = products.iter().zip(&*b).map(|(g, b)| g * b).sum();
                    b[r] = self.sgn(p[r] - others);
                }
            }
            if before == b {
                break;
            }
        }
    }

    /// Solves `W = (X X^T + (lambda / sigma) I)^-1 X B^T`, by Gaussian elimination.
    fn regress(&self, x: &[&[f32]], b: &[Vec<f64>]) -> Vec<f32> {
        let (dim, bits) = (self.dim, self.bits);
        let width = dim + bits;
        let mut system = vec![0.0f64; dim * width];
        for (x, b) in x.iter().zip(b) {
            let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            for (row, &xi) in system.chunks_exact_mut(width).zip(&x) {
                let (left, right) = row.split_at_mut(dim);
                left.iter_mut().zip(&x).for_each(|(sum, x)| *sum += xi * x);
                right.iter_mut().zip(b).for_each(|(sum, b)| *sum += xi * b);
            }
        }
        for i in 0..dim {
            system[i * width + i] += self.params.ridge / self.params.fit_weight;
        }
        for i in 0..dim {
            let (above, below) = system.split_at_mut((i + 1) * width);
            let pivot = &mut above[i * width..];
            let scale = 1.0 / pivot[i];
            pivot.iter_mut().for_each(|value| *value *= scale);
            for row in below.chunks_exact_mut(width) {
                let factor = row[i];
                row[i..].iter_mut().zip(&pivot[i..]).for_each(|(v, p)| *v -= factor * p);
            }
        }
        for i in (0..dim).rev() {
            let (above, below) = system.split_at_mut(i * width);
            for row in above.chunks_exact_mut(width) {
                let factor = row[i];
                row[dim..].iter_mut().zip(&below[dim..width]).for_each(|(v, p)| *v -= factor * p);
            }
        }
        system.chunks_exact(width).flat_map(|row| &row[dim..]).map(|&w| w as f32).collect()
    }
}

//! A projection, and a block of steps that are not yet applied to it.

use crate::kernel::{Panels, row_products, squared_norm};
use crate::learner::Loaded;
use crate::learners::weights::take_weights;
use crate::tensors::Tensors;
use crate::{Features, Result};

/// Pairs in a block.
const PAIRS: usize = 32;

/// The projection `W T + X^T R`. `W` includes all steps of earlier blocks, `T` is the rotation
/// since then, and `X^T R` holds the steps along the rows `X`. A full block is applied to `W`. When
/// this happens depends only on the number of steps, not on how the rows were batched.
#[derive(Clone, Debug)]
pub(super) struct Block {
    dim: usize,
    bits: usize,
    /// `W`, dim x bits, and the same matrix packed for products with rows.
    base: Vec<f32>,
    panels: Panels,
    /// `T`, bits x bits.
    turn: Vec<f32>,
    /// `X`, and one row of `R` for each row of `X`.
    rows: Vec<f32>,
    along: Vec<f32>,
    /// `G`: the inner products of the columns of the whole projection.
    gram: Vec<f64>,
}

impl Block {
    pub(super) fn new(base: Vec<f32>, dim: usize, bits: usize) -> Self {
        let columns: Vec<f32> =
            (0..bits).flat_map(|r| base.iter().skip(r).step_by(bits).copied()).collect();
        let gram = multiply(&columns, &base, bits).into_iter().map(f64::from).collect();
        let panels = Panels::pack(&base, dim, bits);
        let mut turn = vec![0.0; bits * bits];
        turn.iter_mut().step_by(bits + 1).for_each(|diagonal| *diagonal = 1.0);
        Block { dim, bits, base, panels, turn, rows: Vec::new(), along: Vec::new(), gram }
    }

    /// Returns the projection with all steps applied.
    pub(super) fn weights(&self) -> Vec<f32> {
        if self.rows.is_empty() {
            return self.base.clone();
        }
        let mut weights = multiply(&self.base, &self.turn, self.bits);
        let columns: Vec<f32> = (0..self.dim)
            .flat_map(|i| self.rows.iter().skip(i).step_by(self.dim).copied())
            .collect();
        let along = multiply(&columns, &self.along, self.bits);
        weights.iter_mut().zip(along).for_each(|(weight, along)| *weight += along);
        weights
    }

    /// Returns the projections of two rows.
    pub(super) fn project(&self, x: [&[f32]; 2]) -> (Vec<f32>, Vec<f32>) {
        let [v, u] = x.map(|x| {
            let mut wide = vec![0.0; self.panels.width()];
            self.panels.multiply(x, &mut wide);
            let mut out = vec![0.0; self.bits];
            let mut add = |matrix: &[f32], factors: &[f32]| {
                for (row, factor) in matrix.chunks_exact(self.bits).zip(factors) {
                    out.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
                }
            };
            add(&self.turn, &wide[..self.bits]);
            let mut products = vec![0.0; self.rows.len() / self.dim];
            row_products(&self.rows, x, &mut products);
            add(&self.along, &products);
            out
        });
        (v, u)
    }

    /// Applies the step `W' = W M - x_i a^T - x_j c^T` with `M = I - lambda (G - I)`, then scales
    /// columns to unit length. `v` and `u` are the rows' projections.
    pub(super) fn step(
        &mut self,
        lambda: f64,
        x: [&[f32]; 2],
        [v, u]: [&[f32]; 2],
        [a, c]: [&[f32]; 2],
    ) {
        let bits = self.bits;
        let mut m: Vec<f32> = self.gram.iter().map(|g| (-lambda * g) as f32).collect();
        m.iter_mut().step_by(bits + 1).for_each(|diagonal| *diagonal += (1.0 + lambda) as f32);
        let scales = self.advance_gram(&m, x, [v, u], [a, c]);
        for row in m.chunks_exact_mut(bits) {
            row.iter_mut().zip(&scales).for_each(|(m, scale)| *m *= scale);
        }
        self.turn = multiply(&self.turn, &m, bits);
        self.along = multiply(&self.along, &m, bits);
        for (x, step) in x.into_iter().zip([a, c]) {
            self.rows.extend_from_slice(x);
            self.along.extend(step.iter().zip(&scales).map(|(step, scale)| -step * scale));
        }
        if self.rows.len() == 2 * PAIRS * self.dim {
            *self = Block::new(self.weights(), self.dim, bits);
        }
    }

    /// Computes `G` after the step from `G` before it. Returns the scale factors of the columns.
    fn advance_gram(
        &mut self,
        m: &[f32],
        [xi, xj]: [&[f32]; 2],
        [v, u]: [&[f32]; 2],
        [a, c]: [&[f32]; 2],
    ) -> Vec<f32> {
        let bits = self.bits;
        let old: Vec<f32> = self.gram.iter().map(|g| *g as f32).collect();
        let moved = multiply(&multiply(m, &old, bits), m, bits);
        let double = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let mut gram = double(&moved);
        let moved = |p: &[f32]| -> Vec<f64> {
            let dot = |row: &[f32]| row.iter().zip(p).map(|(m, p)| f64::from(m * p)).sum();
            m.chunks_exact(bits).map(dot).collect()
        };
        let (mv, mu, a, c) = (moved(v), moved(u), double(a), double(c));
        let (ii, jj) = (squared_norm(xi), squared_norm(xj));
        let ij: f64 = xi.iter().zip(xj).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        for (r, row) in gram.chunks_exact_mut(bits).enumerate() {
            // Factors of a and c of the other bits, from the row's own bit.
            let before_a = ii * a[r] + ij * c[r] - mv[r];
            let before_c = jj * c[r] + ij * a[r] - mu[r];
            for (q, g) in row.iter_mut().enumerate() {
                *g += before_a * a[q] + before_c * c[q] - a[r] * mv[q] - c[r] * mu[q];
            }
        }
        let norms = gram.iter().step_by(bits + 1).map(|norm| norm.max(f64::MIN_POSITIVE).sqrt());
        let scales: Vec<f64> = norms.map(|norm| 1.0 / norm).collect();
        for (row, scale) in gram.chunks_exact_mut(bits).zip(&scales) {
            row.iter_mut().zip(&scales).for_each(|(g, other)| *g *= scale * other);
        }
        self.gram = gram;
        scales.into_iter().map(|scale| scale as f32).collect()
    }

    pub(super) fn save(&self, name: &str, state: &mut Tensors) {
        state.put(&format!("{name}.base"), self.bits, &self.base);
        state.put(&format!("{name}.turn"), self.bits, &self.turn);
        state.put(&format!("{name}.rows"), self.dim, &self.rows);
        state.put(&format!("{name}.along"), self.bits, &self.along);
        state.put(&format!("{name}.gram"), self.bits, &self.gram);
    }

    pub(super) fn load(name: &str, dim: usize, bits: usize, state: &mut Tensors) -> Loaded<Self> {
        let base = take_weights(state, &format!("{name}.base"), dim, bits)?;
        let rows: Vec<f32> = state.take(&format!("{name}.rows"), dim)?;
        let count = rows.len() / dim;
        let block = Block {
            turn: state.take_rows(&format!("{name}.turn"), bits, bits)?,
            along: state.take_rows(&format!("{name}.along"), count, bits)?,
            gram: state.take_rows(&format!("{name}.gram"), bits, bits)?,
            rows,
            ..Block::new(base, dim, bits)
        };
        let finite = || -> Result<()> {
            Features::new(&block.rows, dim)?;
            Features::new(&block.weights(), bits).map(drop)
        };
        if count >= 2 * PAIRS || !count.is_multiple_of(2) || finite().is_err() {
            return Err("the arrays of its last steps make no sense".to_owned());
        }
        Ok(block)
    }
}

/// Returns `A B`, for `B` with rows of `columns` numbers.
fn multiply(a: &[f32], b: &[f32], columns: usize) -> Vec<f32> {
    let depth = b.len() / columns;
    if depth == 0 {
        return vec![];
    }
    let panels = Panels::pack(b, depth, columns);
    let mut wide = vec![0.0; a.len() / depth * panels.width()];
    panels.multiply(a, &mut wide);
    if panels.width() == columns {
        return wide;
    }
    wide.chunks_exact(panels.width()).flat_map(|row| &row[..columns]).copied().collect()
}

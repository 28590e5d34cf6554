//! Anchors from the first rows of a stream, and how near is near: the lift of methods that have one.

use rand::seq::index::sample;

use super::{Loaded, Purpose, random};
use crate::hash::Anchors;
use crate::tensors::Tensors;
use crate::{Error, Features, Lift, Result};

/// `x` becomes `exp(-gamma ||x - a||^2)` for each anchor `a`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rbf {
    anchors: Vec<f32>,
    gamma: f32,
    dim: usize,
}

impl Rbf {
    /// Fails unless so many anchors can be drawn from half of the warm-up.
    pub(super) fn check(anchors: usize, warmup: usize) -> Result<()> {
        if warmup < 2 {
            let expected =
                "2 or more: half of it are anchors, and the other half tells how far they are";
            return Err(Error::parameter("warmup", expected, warmup));
        }
        if (1..=warmup / 2).contains(&anchors) {
            return Ok(());
        }
        let expected = format!("from 1 to {}, half of the warm-up of {warmup} rows", warmup / 2);
        Err(Error::parameter("anchors", expected, anchors))
    }

    /// Anchors drawn from the first half of some rows. What gamma should be is told from the mean
    /// squared distance of the other half to them; rows that are all alike leave no scale, and any
    /// will do.
    pub(super) fn from_first(
        rows: Features<'_>,
        count: usize,
        seed: u64,
        gamma_of: impl Fn(f64) -> f64,
    ) -> Rbf {
        let (dim, half) = (rows.dim(), rows.len().div_ceil(2));
        let mut rng = random(seed, Purpose::Anchors, 0);
        // A stream that ends within the warm-up gives fewer anchors.
        let anchors: Vec<f32> = sample(&mut rng, half, count.min(half))
            .iter()
            .flat_map(|row| rows.row(row))
            .copied()
            .collect();
        // The rows that are left, or all of a stream of one row.
        let others = if half < rows.len() { rows.slice(half..rows.len()) } else { rows };
        let mut sum = 0.0;
        for row in 0..others.len() {
            for anchor in anchors.chunks_exact(dim) {
                let difference = others.row(row).iter().zip(anchor).map(|(x, a)| x - a);
                sum += difference.map(|d| f64::from(d) * f64::from(d)).sum::<f64>();
            }
        }
        let mean = sum / (others.len() * (anchors.len() / dim)) as f64;
        let gamma = if mean > 0.0 { gamma_of(mean) } else { 1.0 };
        let gamma = (gamma as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
        Rbf { anchors, gamma, dim }
    }

    /// How many anchors there are.
    pub(super) fn count(&self) -> usize {
        self.anchors.len() / self.dim
    }

    /// All rows, lifted.
    pub(super) fn lift_all(&self, rows: Features<'_>) -> Vec<f32> {
        Anchors::new(&self.anchors, self.dim, self.gamma).lift_all(rows)
    }

    /// As a hash function has it.
    pub(super) fn lift(&self) -> Lift {
        Lift::Rbf { anchors: self.anchors.clone(), gamma: self.gamma }
    }

    pub(super) fn save(&self, method: &str, state: &mut Tensors) {
        state.put(&format!("{method}.anchors"), self.dim, &self.anchors);
        state.put(&format!("{method}.gamma"), 1, &[self.gamma]);
    }

    /// What was saved, if anything was.
    pub(super) fn load(method: &str, dim: usize, state: &mut Tensors) -> Loaded<Option<Rbf>> {
        let name = format!("{method}.anchors");
        if !state.contains(&name) {
            return Ok(None);
        }
        let anchors: Vec<f32> = state.take(&name, dim)?;
        let gamma: f32 = state.take_rows(&format!("{method}.gamma"), 1, 1)?[0];
        let finite = Features::new(&anchors, dim).is_ok_and(|anchors| !anchors.is_empty());
        if !(finite && gamma.is_finite() && gamma > 0.0) {
            return Err("its anchors or their bandwidth make no sense".to_owned());
        }
        Ok(Some(Rbf { anchors, gamma, dim }))
    }
}

//! The RBF lift of other methods: anchors from the first rows of a stream, and the bandwidth.

use rand::seq::index::sample;

use super::random::{Purpose, random};
use crate::hash::Lifter;
use crate::{Error, Features, Lift, Result};

/// Fails unless `anchors` anchors can be drawn from half of the warm-up.
pub(super) fn check_anchors(anchors: usize, warmup: usize) -> Result<()> {
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

/// Returns the lift with anchors drawn from the first half of some rows. `gamma_of` computes gamma
/// from the mean squared distance of the other half to the anchors. If all rows are equal, no scale
/// exists, and gamma is 1.
pub(super) fn from_first(
    rows: Features<'_>,
    count: usize,
    seed: u64,
    gamma_of: impl Fn(f64) -> f64,
) -> Result<Lifter> {
    let (dim, half) = (rows.dim(), rows.len().div_ceil(2));
    let mut rng = random(seed, Purpose::Anchors, 0);
    // A stream that ends within the warm-up has fewer anchors.
    let anchors: Vec<f32> = sample(&mut rng, half, count.min(half))
        .iter()
        .flat_map(|row| rows.row(row))
        .copied()
        .collect();
    // The remaining rows, or all rows of a stream of one row.
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
    Lifter::new(Lift::Rbf { anchors, gamma }, dim)
}

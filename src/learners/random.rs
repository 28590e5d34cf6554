//! Random numbers of learners: the same for the same seed, whatever else happens.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::learner::Start;

/// The purpose of random numbers. Each purpose has its own streams, addressed by an index, so that
/// a loaded learner continues with the same numbers.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Projection,
    Anchors,
    Codewords,
    Reservoir,
    Rotation,
    Signs,
}

/// Returns the random numbers of a learner with this seed, for a purpose and an index.
pub(crate) fn random(seed: u64, purpose: Purpose, at: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 56 | at & (u64::MAX >> 8));
    rng
}

/// Returns the random initial projection of most methods: Gaussian, with columns of unit length.
pub(crate) fn random_projection(dim: usize, bits: usize, seed: u64) -> Vec<f32> {
    let mut rng = random(seed, Purpose::Projection, 0);
    let weights: Vec<f64> = (0..dim * bits).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut norms = vec![0.0; bits];
    for row in weights.chunks_exact(bits) {
        norms.iter_mut().zip(row).for_each(|(norm, weight)| *norm += weight * weight);
    }
    norms.iter_mut().for_each(|norm| *norm = f64::sqrt(*norm));
    weights.iter().zip(norms.iter().cycle()).map(|(weight, norm)| (weight / norm) as f32).collect()
}

/// Returns the initial projection: the given one, or a random one.
pub(crate) fn start_projection(start: &Start) -> Vec<f32> {
    let random = || random_projection(start.dim, start.bits, start.seed);
    start.init.clone().unwrap_or_else(random)
}

//! [`Weighing`]: weights of the bits of queries.

use super::goal::Goal;
use super::hits::Hits;
use crate::Weighed;
use crate::kernel::Weights;

/// Weights of queries, divided by their common divisor. If all weights are the same, the search
/// needs no weights, which is faster.
pub(in crate::index) struct Weighing {
    weights: Vec<Weights>,
    /// Divisor of the weights, and therefore of distances.
    divisor: u32,
}

impl Weighing {
    /// Returns a weighing in which each bit counts 1.
    pub(in crate::index) fn plain() -> Self {
        Weighing { weights: Vec::new(), divisor: 1 }
    }

    /// Returns the weighing of queries that a dial has weighed.
    pub(in crate::index) fn new(queries: &Weighed) -> Self {
        let Some(weights) = queries.shared() else {
            let weights = |query| Weights::new(queries.weights(query));
            return Weighing {
                weights: (0..queries.codes().len()).map(weights).collect(),
                divisor: 1,
            };
        };
        // The divisor is 1 if all weights are 0; all codes are then at distance 0.
        let divisor = weights.iter().copied().fold(0, common_divisor).max(1);
        let divided: Vec<u32> = weights.iter().map(|weight| weight / divisor).collect();
        let plain = divided.iter().all(|&weight| weight == 1);
        let weights = if plain { Vec::new() } else { vec![Weights::new(&divided)] };
        Weighing { weights, divisor }
    }

    /// Returns the weights of each query; one entry for all queries, or none if each bit counts 1.
    pub(in crate::index) fn weights(&self) -> &[Weights] {
        &self.weights
    }

    /// Returns the goal in units of the divided distances that the search uses.
    pub(in crate::index) fn divided(&self, goal: Goal) -> Goal {
        match goal {
            Goal::Within(radius) => Goal::Within(radius / self.divisor),
            nearest => nearest,
        }
    }

    /// Returns the hits with their distances multiplied by the divisor.
    pub(in crate::index) fn multiplied<H>(
        &self,
        mut hits: Hits<H>,
        distance: fn(&mut H) -> &mut u32,
    ) -> Hits<H> {
        if self.divisor > 1 {
            hits.all_mut().iter_mut().for_each(|hit| *distance(hit) *= self.divisor);
        }
        hits
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

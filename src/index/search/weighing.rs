//! What the bits of queries weigh in a search.

use super::goal::Goal;
use super::hits::Hits;
use crate::Weighed;
use crate::kernel::Weights;

/// The weights of queries as a search takes them: without the divisor that they have in common. What is
/// left of weights that are all the same is a search without weights, which is faster.
pub(in crate::index) struct Weighing {
    weights: Vec<Weights>,
    /// What distances were divided by.
    divisor: u32,
}

impl Weighing {
    /// Each bit counts 1.
    pub(in crate::index) fn plain() -> Self {
        Weighing { weights: Vec::new(), divisor: 1 }
    }

    /// As a dial has weighed them.
    pub(in crate::index) fn new(queries: &Weighed) -> Self {
        let Some(weights) = queries.shared() else {
            let weights = |query| Weights::new(queries.weights(query));
            return Weighing {
                weights: (0..queries.codes().len()).map(weights).collect(),
                divisor: 1,
            };
        };
        // Without any weight all codes are at distance 0.
        let divisor = weights.iter().copied().fold(0, common_divisor).max(1);
        let divided: Vec<u32> = weights.iter().map(|weight| weight / divisor).collect();
        let plain = divided.iter().all(|&weight| weight == 1);
        let weights = if plain { Vec::new() } else { vec![Weights::new(&divided)] };
        Weighing { weights, divisor }
    }

    /// The weights of each query, of all if there is one, or none if each bit counts 1.
    pub(in crate::index) fn weights(&self) -> &[Weights] {
        &self.weights
    }

    /// What is asked for, in the distances of the search.
    pub(in crate::index) fn divided(&self, goal: Goal) -> Goal {
        match goal {
            Goal::Within(radius) => Goal::Within(radius / self.divisor),
            nearest => nearest,
        }
    }

    /// Hits with their distances as they were asked for.
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

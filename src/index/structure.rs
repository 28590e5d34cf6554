//! What makes searches faster than a scan of everything.

use super::balls::Balls;
use super::buckets::Buckets;
use super::leaders::Leaders;
use crate::Kernel;
use crate::kernel::Layout;

/// What makes searches faster than a scan of everything; in memory alone, and built once it pays.
pub(super) enum Structure {
    /// For codes that lie in balls: the nearest, and all within a radius.
    Balls(Balls),
    /// For others: all within a small radius.
    Buckets(Buckets),
}

impl Structure {
    /// Segments with fewer words of codes are scanned in no time.
    pub(super) const LEAST_WORDS: usize = 1 << 16;
    /// What it takes to build, in comparisons per code.
    pub(super) const COST: u64 = 1 << 10;

    /// Of codes one after the other, as words. `None` if they do not lie in balls, and other than by
    /// balls is not asked for.
    pub(super) fn build(
        kernel: Kernel,
        layout: Layout,
        codes: Vec<u64>,
        of_balls_alone: bool,
    ) -> Option<Structure> {
        match Leaders::find(layout, &codes) {
            Some(leaders) => Some(Structure::Balls(Balls::build(kernel, layout, codes, &leaders))),
            None if of_balls_alone => None,
            None => Some(Structure::Buckets(Buckets::build(kernel, layout, codes, None))),
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Structure::Balls(balls) => balls.memory(),
            Structure::Buckets(buckets) => buckets.memory(),
        }
    }
}

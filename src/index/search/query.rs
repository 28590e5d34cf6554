//! What is asked of an index, and of one of its segments.

use super::filter::Filter;
use super::found::Found;
use super::goal::Goal;
use super::segment::SearchSegment;
use super::selection::Selection;
use crate::Codes;
use crate::index::scan::{TopK, weights_of};
use crate::index::segment::Segment;
use crate::index::structure::SearchStructure;
use crate::kernel::{Kernel, Weights};
use crate::similarity::LabelSets;

/// A search, to be run over segments.
pub(in crate::index) struct Search<'a> {
    pub(in crate::index) segments: &'a [SearchSegment],
    pub(in crate::index) sets: &'a LabelSets,
    /// `None` for all items.
    pub(in crate::index) filter: Option<&'a Filter>,
    pub(in crate::index) kernel: Kernel,
    pub(in crate::index) goal: Goal,
    pub(in crate::index) bits: usize,
    /// What bits weigh, of each query, or of all if there is one; without any, each bit 1.
    pub(in crate::index) weights: &'a [Weights],
    /// Search structure that may be built and used.
    pub(in crate::index) structures: SearchStructure,
}

/// From which `k` on it pays to guess the distance of the k-th.
pub(super) const GUESSED: usize = 16;

/// Queries of one segment, and which of its items they may find.
pub(super) struct SegmentQueries<'a> {
    pub(super) codes: &'a Codes,
    /// Which of the queries, and for each the distance from which on nothing is wanted.
    pub(super) chunk: Vec<usize>,
    pub(super) limits: Vec<u32>,
    pub(super) searched: &'a SearchSegment,
    pub(super) selection: &'a Selection,
}

impl SegmentQueries<'_> {
    pub(super) fn segment(&self) -> &Segment {
        &self.searched.segment
    }
}

impl Search<'_> {
    /// Codes at this distance or beyond cannot be among the results of a query, given its hits so far.
    /// A tie with the k-th may have a smaller id, so ties stay below it.
    pub(super) fn limit<F: Found>(&self, query: usize, found: &[F]) -> u32 {
        let largest = weights_of(self.weights, query).map(Weights::largest);
        let all = largest.unwrap_or(self.bits as u32).saturating_add(1);
        match self.goal {
            Goal::Within(radius) => radius.saturating_add(1).min(all),
            Goal::Nearest(k) => found.get(k - 1).map_or(all, |last| last.distance() + 1),
        }
    }

    /// Nothing found yet.
    pub(super) fn top(&self, limit: u32) -> TopK {
        match self.goal {
            Goal::Nearest(k) => TopK::nearest(k, limit),
            Goal::Within(_) => TopK::all(limit),
        }
    }
}

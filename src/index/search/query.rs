//! [`Search`]: a search of an index, and [`SegmentQueries`]: the queries of one of its segments.

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

/// Search of the segments of an index.
pub(in crate::index) struct Search<'a> {
    pub(in crate::index) segments: &'a [SearchSegment],
    pub(in crate::index) sets: &'a LabelSets,
    /// Filter; `None` for all items.
    pub(in crate::index) filter: Option<&'a Filter>,
    pub(in crate::index) kernel: Kernel,
    pub(in crate::index) goal: Goal,
    pub(in crate::index) bits: usize,
    /// Weights of the bits for each query; one entry for all queries, or none if each bit counts 1.
    pub(in crate::index) weights: &'a [Weights],
    /// Search structure that may be built and used.
    pub(in crate::index) structures: SearchStructure,
}

/// Least `k` for which guessing the distance of the k-th hit pays off.
pub(super) const GUESSED: usize = 16;

/// Queries of one segment, and the items of the segment that they may return.
pub(super) struct SegmentQueries<'a> {
    pub(super) codes: &'a Codes,
    /// Numbers of the queries. `limits` has an exclusive upper bound of the distances of each
    /// query's hits.
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
    /// Returns the exclusive upper bound of the distances that a query still needs, given its hits
    /// so far. An item at the distance of the k-th hit may have a smaller id, so the bound is one
    /// more than that distance.
    pub(super) fn limit<F: Found>(&self, query: usize, found: &[F]) -> u32 {
        let largest = weights_of(self.weights, query).map(Weights::largest);
        let all = largest.unwrap_or(self.bits as u32).saturating_add(1);
        match self.goal {
            Goal::Within(radius) => radius.saturating_add(1).min(all),
            Goal::Nearest(k) => found.get(k - 1).map_or(all, |last| last.distance() + 1),
        }
    }

    /// Returns an empty collection of hits for one query.
    pub(super) fn top(&self, limit: u32) -> TopK {
        match self.goal {
            Goal::Nearest(k) => TopK::nearest(k, limit),
            Goal::Within(_) => TopK::all(limit),
        }
    }
}

//! Searches of a segment by a scan of all codes, or of the codes that a filter selects.

use std::ops::Range;

use rayon::prelude::*;

use super::goal::Goal;
use super::query::{GUESSED, Search, SegmentQueries};
use super::selection::Selection;
use crate::Result;
use crate::index::scan::{Queries, Slots, Source, TopK};
use crate::index::segment::{BLOCK, Kind};

impl Search<'_> {
    /// Scans the segment, and returns the hits of each query for each part of the segment. Each
    /// part is scanned by one thread.
    pub(super) fn by_scan(
        &self,
        segment_queries: &SegmentQueries<'_>,
        threads: usize,
    ) -> Result<Vec<Vec<Vec<u64>>>> {
        let (segment, columns) = (segment_queries.segment(), segment_queries.searched.columns());
        let layout = columns.layout();
        if let Selection::Gathered(gathered) = segment_queries.selection {
            return Ok(vec![self.scan(&gathered.source(layout, segment.live()), segment_queries)?]);
        }
        let mut masks: Vec<&[u64]> = segment.live().into_iter().collect();
        if let Selection::Masked(by_slot) = segment_queries.selection {
            masks.push(by_slot);
        }
        let check = |slot: usize| columns.check(Kind::Codes, slot);
        let scan = |range: Range<usize>| {
            let source = Source {
                layout,
                words: &columns.code_words()[layout.words(range.start)..],
                count: range.len(),
                slots: Slots::From { first: range.start, check: &check },
                masks: masks.iter().map(|mask| &mask[range.start / 64..]).collect(),
            };
            self.scan(&source, segment_queries)
        };
        // A part ends with a block, so that no two threads compare the same checksum.
        let step = columns.len().div_ceil(threads).next_multiple_of(BLOCK);
        let ranges: Vec<Range<usize>> = (0..columns.len())
            .step_by(step.max(1))
            .map(|start| start..columns.len().min(start + step))
            .collect();
        match &ranges[..] {
            [only] => Ok(vec![scan(only.clone())?]),
            several => several.par_iter().map(|range| scan(range.clone())).collect(),
        }
    }

    fn scan(
        &self,
        source: &Source<'_>,
        segment_queries: &SegmentQueries<'_>,
    ) -> Result<Vec<Vec<u64>>> {
        let mut tops: Vec<TopK> =
            segment_queries.limits.iter().map(|&limit| self.top(limit)).collect();
        let guess = matches!(self.goal, Goal::Nearest(GUESSED..));
        let (kernel, codes, weights) = (self.kernel, segment_queries.codes, self.weights);
        let chunk = &segment_queries.chunk;
        source.scan(&Queries { kernel, codes, weights, chunk, guess }, &mut tops)?;
        // A guess can be wrong where near codes are clustered in one part of the segment.
        for (at, top) in tops.iter_mut().enumerate().filter(|(_, top)| top.failed()) {
            *top = self.top(segment_queries.limits[at]);
            let chunk = &segment_queries.chunk[at..=at];
            let queries = Queries { kernel, codes, weights, chunk, guess: false };
            source.scan(&queries, std::slice::from_mut(top))?;
        }
        Ok(tops.into_iter().map(TopK::finish).collect())
    }
}

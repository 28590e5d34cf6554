//! Searches of a segment by its search structure, where this is faster than a full scan.

use rayon::prelude::*;

use super::goal::Goal;
use super::query::{Search, SegmentQueries};
use super::selection::Selection;
use super::structure::Way;
use crate::Result;
use crate::index::answer::Asked;
use crate::index::scan::weights_of;
use crate::index::structure::{Scratch, SearchStructure};

/// A search by the structure may read one in `PART` codes, or one in `PART_OF_MANY` if there are
/// many queries. Beyond this limit a scan is faster, above all for many queries, which share the
/// codes that a scan reads.
const PART: usize = 4;
const PART_OF_MANY: usize = 10;

/// Number of queries from which on [`PART_OF_MANY`] applies.
const MANY: usize = 16;

impl Search<'_> {
    /// Searches by the structure of a segment, if it has one and this is faster, and calls `call`
    /// with each answered query and its hits. Unanswered queries stay in `chunk` for the scan.
    pub(super) fn pruned(
        &self,
        segment_queries: &mut SegmentQueries<'_>,
        threads: usize,
        mut call: impl FnMut(usize, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let (segment, many) = (&segment_queries.searched.segment, segment_queries.chunk.len());
        let (columns, lazy) = (segment.columns(), segment_queries.searched.structure());
        let is_gathered = matches!(segment_queries.selection, Selection::Gathered(_));
        if self.structures == SearchStructure::None || is_gathered {
            return Ok(());
        }
        let work = (columns.len() * many) as u64;
        let Some(structure) = lazy.get(columns, work, self.structures)? else { return Ok(()) };
        let mut masks: Vec<&[u64]> = segment.live().into_iter().collect();
        if let Selection::Masked(by_slot) = segment_queries.selection {
            masks.push(by_slot);
        }
        let filtered = !matches!(segment_queries.selection, Selection::All);
        let tries = |way: Way| lazy.tries(self.goal, filtered, way);
        let by_buckets = if self.weights.is_empty() { Way::Buckets } else { Way::Weighted };
        let (by_tables, by_buckets) = (tries(Way::Tables), tries(by_buckets));
        // All threads share a scan of few queries. With more threads the scan is faster, so a
        // search by the structure may read fewer codes.
        let part = if many < MANY { PART.max(threads) } else { PART_OF_MANY };
        let most = columns.len() / part;
        let k = match self.goal {
            Goal::Nearest(k) => Some(k),
            Goal::Within(_) => None,
        };
        // Returns `Ok` if the query was answered, and otherwise the tightest limit found.
        let one = |scratch: &mut Scratch, query: usize, limit: u32, found: &mut Vec<u64>| {
            found.clear();
            let (code, weights) =
                (segment_queries.codes.code(query), weights_of(self.weights, query));
            let (kernel, masks) = (self.kernel, &masks[..]);
            let mut asked = Asked { kernel, code, weights, k, limit, masks, most };
            let mut answered = None;
            if let Some(tables) = structure.tables_for(&asked)
                && by_tables.pay()
            {
                answered = tables.search(&mut asked, &mut scratch.tables, found)?;
                by_tables.note(answered.is_none());
            }
            if answered.is_none() && by_buckets.pay() {
                answered = structure.buckets.search(&mut asked, &mut scratch.buckets, found)?;
                by_buckets.note(answered.is_none());
            }
            Ok(answered.ok_or(asked.limit))
        };
        let queries = (&segment_queries.chunk, &segment_queries.limits);
        let mut left = Vec::new();
        if threads == 1 {
            let (mut scratch, mut found) = (Scratch::default(), Vec::new());
            for (&query, &limit) in queries.0.iter().zip(queries.1) {
                match one(&mut scratch, query, limit, &mut found)? {
                    Ok(()) => call(query, &found)?,
                    Err(limit) => left.push((query, limit)),
                }
            }
        } else {
            let answers: Vec<_> = queries
                .into_par_iter()
                .map_init(Scratch::default, |scratch, (&query, &limit)| {
                    let mut found = Vec::new();
                    Ok((query, one(scratch, query, limit, &mut found)?.map(|()| found)))
                })
                .collect::<Result<_>>()?;
            for (query, answer) in answers {
                match answer {
                    Ok(found) => call(query, &found)?,
                    Err(limit) => left.push((query, limit)),
                }
            }
        }
        (segment_queries.chunk, segment_queries.limits) = left.into_iter().unzip();
        Ok(())
    }
}

//! Searching a segment by its search structure, where that is faster than to scan everything.

use rayon::prelude::*;

use super::goal::Goal;
use super::query::{Search, SegmentQueries};
use super::selection::Selection;
use crate::Result;
use crate::index::buckets::{Asked, Scratch};

/// What part of the codes a search by the structure may look at; beyond it, the scan is faster. Many
/// queries share what it reads, so then it is much faster.
const PART: usize = 4;
const PART_OF_MANY: usize = 10;

/// So many queries are many.
const MANY: usize = 16;

impl Search<'_> {
    /// What queries find by the structure of a segment, if it has one and that is faster. Queries
    /// that it did not answer stay in `chunk`, for the scan.
    pub(super) fn pruned(
        &self,
        segment_queries: &mut SegmentQueries<'_>,
        threads: usize,
    ) -> Result<Vec<(usize, Vec<u64>)>> {
        let (segment, many) = (&segment_queries.searched.segment, segment_queries.chunk.len());
        let (columns, lazy) = (segment.columns(), segment_queries.searched.structure());
        if !self.structures || matches!(segment_queries.selection, Selection::Gathered(_)) {
            return Ok(Vec::new());
        }
        let work = (columns.len() * many) as u64;
        let Some(buckets) = lazy.get(columns, work)? else { return Ok(Vec::new()) };
        let mut masks: Vec<&[u64]> = segment.live().into_iter().collect();
        if let Selection::Masked(by_slot) = segment_queries.selection {
            masks.push(by_slot);
        }
        let filtered = !matches!(segment_queries.selection, Selection::All);
        let tries = lazy.tries(self.goal, filtered);
        // A scan of few queries is shared by the threads.
        let part = if many < MANY { PART.max(threads) } else { PART_OF_MANY };
        let most = columns.len() / part;
        let one = |scratch: &mut Scratch, (&query, &limit): (&usize, &u32)| {
            if !tries.pay() {
                return Ok((query, limit, None));
            }
            let k = match self.goal {
                Goal::Nearest(k) => Some(k),
                Goal::Within(_) => None,
            };
            let code = segment_queries.codes.code(query);
            let (kernel, masks) = (self.kernel, &masks[..]);
            let mut asked = Asked { kernel, code, weights: None, k, limit, masks, most };
            let mut hits = Vec::new();
            let answered = buckets.search(&mut asked, scratch, &mut hits)?;
            tries.note(answered.is_none());
            Ok((query, asked.limit, answered.map(|()| hits)))
        };
        let queries = (&segment_queries.chunk, &segment_queries.limits);
        let answers: Vec<(usize, u32, Option<Vec<u64>>)> = match threads {
            1 => {
                let mut scratch = Scratch::default();
                let queries = queries.0.iter().zip(queries.1);
                queries.map(|query| one(&mut scratch, query)).collect::<Result<_>>()?
            }
            _ => queries.into_par_iter().map_init(Scratch::default, one).collect::<Result<_>>()?,
        };
        let (mut found, mut left) = (Vec::with_capacity(many), Vec::new());
        for (query, limit, hits) in answers {
            match hits {
                Some(hits) => found.push((query, hits)),
                None => left.push((query, limit)),
            }
        }
        (segment_queries.chunk, segment_queries.limits) = left.into_iter().unzip();
        Ok(found)
    }
}

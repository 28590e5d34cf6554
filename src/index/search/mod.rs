//! Searching the segments of an index, each in the way that is fastest.

mod cache;
mod filter;
mod found;
mod goal;
mod hits;
mod id_set;
mod pruned;
mod query;
mod rerank;
mod scanned;
mod segment;
mod selection;
mod structure;

use rayon::prelude::*;

pub use self::filter::Filter;
use self::found::Found;
pub(super) use self::goal::Goal;
pub use self::hits::{Hit, Hits, RankedHit};
pub(super) use self::query::Search;
use self::query::SegmentQueries;
pub(super) use self::segment::SearchSegment;
use self::selection::Selection;
use super::segment::Segment;
use crate::kernel::parts;
use crate::{Codes, Result};

/// Queries that go over a tile together.
const QUERIES: usize = 64;

/// Comparisons of words below which a search is over before another thread is awake.
const WORTH_A_THREAD: usize = 1 << 19;

impl Search<'_> {
    pub(super) fn run(&self, queries: &Codes) -> Result<Hits> {
        self.run_by(queries, |_, found| Ok(found))
    }

    /// What becomes of that which each query finds, by a function of the query and of it.
    fn run_by<F: Found, T: Copy + Send>(
        &self,
        queries: &Codes,
        each: impl Fn(usize, Vec<F>) -> Result<Vec<T>> + Sync,
    ) -> Result<Hits<T>> {
        let select = |segment| match self.filter {
            None => Ok(Selection::All),
            Some(filter) => filter.select(segment, self.sets),
        };
        let selections: Vec<Selection> = self.segments.iter().map(select).collect::<Result<_>>()?;
        let slots: usize = self.segments.iter().map(|searched| searched.columns().len()).sum();
        let work = slots * queries.words_per_code() * queries.len();
        let threads = if work < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        let all: Vec<usize> = (0..queries.len()).collect();
        let of_chunk = |chunk: &[usize], threads: usize| {
            let found = self.chunk(queries, chunk, &selections, threads)?;
            chunk.iter().zip(found).map(|(&query, found)| each(query, found)).collect()
        };
        let found: Vec<Vec<Vec<T>>> = if threads == 1 {
            all.chunks(QUERIES).map(|chunk| of_chunk(chunk, 1)).collect::<Result<_>>()?
        } else if queries.len() >= 4 * threads {
            // Small chunks, so that no thread waits long for the last.
            let size = queries.len().div_ceil(4 * threads).clamp(1, QUERIES);
            all.par_chunks(size).map(|chunk| of_chunk(chunk, 1)).collect::<Result<_>>()?
        } else {
            all.chunks(QUERIES).map(|chunk| of_chunk(chunk, threads)).collect::<Result<_>>()?
        };
        let total = found.iter().flatten().map(Vec::len).sum();
        let mut hits = Hits::with_capacity(queries.len(), total);
        for row in found.into_iter().flatten() {
            hits.push(row);
        }
        Ok(hits)
    }

    /// Some of the queries, over all segments, each cut for so many threads.
    fn chunk<F: Found>(
        &self,
        codes: &Codes,
        chunk: &[usize],
        selections: &[Selection],
        threads: usize,
    ) -> Result<Vec<Vec<F>>> {
        let mut found: Vec<Vec<F>> = vec![Vec::new(); chunk.len()];
        for (number, (searched, selection)) in self.segments.iter().zip(selections).enumerate() {
            let segment = (number, &searched.segment);
            if segment.1.len() == 0 {
                continue;
            }
            let limits = found.iter().map(|found| self.limit(found)).collect();
            let chunk_left = chunk.to_vec();
            let mut segment_queries =
                SegmentQueries { codes, chunk: chunk_left, limits, searched, selection };
            for (query, hits) in self.pruned(&mut segment_queries, threads)? {
                self.take(segment, &hits, &mut found[query - chunk[0]])?;
            }
            if segment_queries.chunk.is_empty() {
                continue;
            }
            for hits in self.by_scan(&segment_queries, threads)? {
                for (&query, hits) in segment_queries.chunk.iter().zip(hits) {
                    self.take(segment, &hits, &mut found[query - chunk[0]])?;
                }
            }
        }
        Ok(found)
    }

    /// Adds what was found in a segment, in order of distance and slot.
    fn take<F: Found>(
        &self,
        (number, segment): (usize, &Segment),
        hits: &[u64],
        found: &mut Vec<F>,
    ) -> Result<()> {
        let first = found.is_empty();
        found.reserve_exact(hits.len());
        for &hit in hits {
            let (distance, slot) = parts(hit);
            found.push(F::new(distance, segment.columns().id(slot as usize)?, number, slot));
        }
        if !first {
            found.sort_unstable();
        }
        if let Goal::Nearest(k) = self.goal {
            found.truncate(k);
        }
        Ok(())
    }
}

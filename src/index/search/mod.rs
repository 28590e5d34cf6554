//! Searches of the segments of an index, each by the fastest method.

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
mod weighing;

use rayon::prelude::*;

pub use self::filter::Filter;
use self::found::Found;
pub(super) use self::goal::Goal;
pub use self::hits::{Hit, Hits, RankedHit};
pub(super) use self::query::Search;
use self::query::SegmentQueries;
pub(crate) use self::segment::Report;
pub(super) use self::segment::SearchSegment;
use self::selection::Selection;
pub(super) use self::weighing::Weighing;
use super::segment::Segment;
use crate::kernel::parts;
use crate::{Codes, Result};

/// Number of queries that are compared with a tile of codes together.
const QUERIES: usize = 64;

/// Number of word comparisons below which a search ends before another thread wakes up.
const WORTH_A_THREAD: usize = 1 << 19;

impl Search<'_> {
    pub(super) fn run(&self, queries: &Codes) -> Result<Hits> {
        let mut with_items =
            self.segments.iter().enumerate().filter(|(_, of)| of.segment.len() > 0);
        let (Some(segment), None) = (with_items.next(), with_items.next()) else {
            return self.run_by(queries, |_, found| Ok(found));
        };
        // With one segment, hits are written directly to the result: a query can have a hundred
        // thousand hits.
        let selection = self.select(segment.1)?;
        let all: Vec<usize> = (0..queries.len()).collect();
        let chunks = self.chunks(queries);
        let mut hits = Hits::with_capacity(queries.len(), 0);
        if chunks.side_by_side {
            let of_chunk = |chunk: &[usize]| {
                let mut hits = Hits::with_capacity(chunk.len(), 0);
                self.chunk_of_one(queries, chunk, segment, &selection, 1, &mut hits)?;
                Ok(hits)
            };
            let found: Vec<Hits> =
                all.par_chunks(chunks.size).map(of_chunk).collect::<Result<_>>()?;
            found.into_iter().for_each(|found| hits.append(found));
        } else {
            for chunk in all.chunks(chunks.size) {
                self.chunk_of_one(queries, chunk, segment, &selection, chunks.threads, &mut hits)?;
            }
        }
        Ok(hits)
    }

    /// Returns the items of a segment that pass the filter.
    fn select(&self, segment: &SearchSegment) -> Result<Selection> {
        self.filter.map_or(Ok(Selection::All), |filter| filter.select(segment, self.sets))
    }

    /// Returns the division of queries into chunks.
    fn chunks(&self, queries: &Codes) -> Chunks {
        let slots: usize = self.segments.iter().map(|searched| searched.columns().len()).sum();
        let work = slots * queries.words_per_code() * queries.len();
        let threads = if work < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        if threads == 1 || queries.len() < 4 * threads {
            return Chunks { size: QUERIES, side_by_side: false, threads };
        }
        // Small chunks, so that no thread waits long for the last.
        let size = queries.len().div_ceil(4 * threads).clamp(1, QUERIES);
        Chunks { size, side_by_side: true, threads: 1 }
    }

    /// Appends the hits of a chunk of the queries in the only segment.
    fn chunk_of_one(
        &self,
        codes: &Codes,
        chunk: &[usize],
        (number, searched): (usize, &SearchSegment),
        selection: &Selection,
        threads: usize,
        hits: &mut Hits,
    ) -> Result<()> {
        let limits = chunk.iter().map(|&query| self.limit::<Hit>(query, &[])).collect();
        let chunk_left = chunk.to_vec();
        let mut segment_queries =
            SegmentQueries { codes, chunk: chunk_left, limits, searched, selection };
        let (before, first) = (hits.len(), chunk.first().copied().unwrap_or(0));
        let segment = (number, &searched.segment);
        self.pruned(&mut segment_queries, threads, |query, found| {
            (hits.len()..before + query - first).for_each(|_| hits.push(Vec::new()));
            hits.write_row(|row| append(segment, found, row))
        })?;
        (hits.len()..before + chunk.len()).for_each(|_| hits.push(Vec::new()));
        if segment_queries.chunk.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<(usize, Vec<Hit>)> = segment_queries
            .chunk
            .iter()
            .map(|query| (before + query - first, Vec::new()))
            .collect();
        for found in self.by_scan(&segment_queries, threads)? {
            for ((_, row), found) in rows.iter_mut().zip(found) {
                self.take(segment, &found, row)?;
            }
        }
        hits.fill_rows(rows);
        Ok(())
    }

    /// Searches all segments. `each` converts the hits of each query.
    fn run_by<F: Found, T: Copy + Send>(
        &self,
        queries: &Codes,
        each: impl Fn(usize, Vec<F>) -> Result<Vec<T>> + Sync,
    ) -> Result<Hits<T>> {
        let selections: Vec<Selection> =
            self.segments.iter().map(|segment| self.select(segment)).collect::<Result<_>>()?;
        let all: Vec<usize> = (0..queries.len()).collect();
        let chunks = self.chunks(queries);
        let of_chunk = |chunk: &[usize]| {
            let found = self.chunk(queries, chunk, &selections, chunks.threads)?;
            chunk.iter().zip(found).map(|(&query, found)| each(query, found)).collect()
        };
        let found: Vec<Vec<Vec<T>>> = match chunks.side_by_side {
            true => all.par_chunks(chunks.size).map(of_chunk).collect::<Result<_>>()?,
            false => all.chunks(chunks.size).map(of_chunk).collect::<Result<_>>()?,
        };
        let total = found.iter().flatten().map(Vec::len).sum();
        let mut hits = Hits::with_capacity(queries.len(), total);
        for row in found.into_iter().flatten() {
            hits.push(row);
        }
        Ok(hits)
    }

    /// Searches all segments for a chunk of the queries. Each segment is divided among `threads`
    /// threads.
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
            let limits =
                chunk.iter().zip(&found).map(|(&query, found)| self.limit(query, found)).collect();
            let chunk_left = chunk.to_vec();
            let mut segment_queries =
                SegmentQueries { codes, chunk: chunk_left, limits, searched, selection };
            self.pruned(&mut segment_queries, threads, |query, hits| {
                self.take(segment, hits, &mut found[query - chunk[0]])
            })?;
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

    /// Merges the hits in a segment, which are in order of distance and slot, into the hits so far.
    fn take<F: Found>(
        &self,
        segment: (usize, &Segment),
        hits: &[u64],
        found: &mut Vec<F>,
    ) -> Result<()> {
        let before = found.len();
        append(segment, hits, found)?;
        if before > 0 {
            // The list has two sorted runs, which the stable sort detects and merges.
            found.sort();
        }
        if let Goal::Nearest(k) = self.goal {
            found.truncate(k);
        }
        Ok(())
    }
}

/// Division of queries into chunks. The chunks are answered in parallel (`side_by_side`), or one
/// after the other, each by `threads` threads.
struct Chunks {
    size: usize,
    side_by_side: bool,
    threads: usize,
}

/// Appends the hits in a segment in the given order.
fn append<F: Found>(
    (number, segment): (usize, &Segment),
    hits: &[u64],
    found: &mut Vec<F>,
) -> Result<()> {
    found.reserve(hits.len());
    let mut distances = hits.iter().map(|&hit| parts(hit).0);
    segment.columns().each_id(hits.iter().map(|&hit| parts(hit).1), |slot, id| {
        let distance = distances.next().unwrap_or(0);
        found.push(F::new(distance, id, number, slot));
    })
}

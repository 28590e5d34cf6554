//! Searching the segments of an index, each in the way that is fastest.

use std::ops::Range;

use rayon::prelude::*;

use super::best::Best;
use super::chosen::Chosen;
use super::filter::Filter;
use super::segment::{CHECKED, Segment};
use super::tiles::{Queries, Slots, Source};
use super::{Hit, Hits};
use crate::kernel::{Kernel, parts};
use crate::similarity::LabelSets;
use crate::{Codes, Result};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    /// The `k` nearest.
    Nearest(usize),
    /// All up to a distance, which is included.
    Within(u32),
}

/// A search, to be run over segments.
pub(super) struct Search<'a> {
    pub(super) segments: &'a [Segment],
    pub(super) sets: &'a LabelSets,
    pub(super) filter: &'a Filter,
    pub(super) kernel: Kernel,
    pub(super) want: Want,
    pub(super) bits: usize,
    /// Whether structures may be built and used.
    pub(super) structures: bool,
}

/// Queries that go over a tile together.
const QUERIES: usize = 64;

/// Comparisons of words below which a search is over before another thread is awake.
const WORTH_A_THREAD: usize = 1 << 19;

/// From which `k` on it pays to guess the distance of the last.
pub(super) const GUESSED: usize = 16;

/// Queries over a segment, and what of it is let through.
pub(super) struct Asked<'a> {
    pub(super) codes: &'a Codes,
    /// Which of the queries, and from which distance on each wants nothing.
    pub(super) chunk: Vec<usize>,
    pub(super) limits: Vec<u32>,
    pub(super) segment: &'a Segment,
    pub(super) chosen: &'a Chosen,
}

impl Search<'_> {
    pub(super) fn run(&self, queries: &Codes) -> Result<Hits> {
        let choose = |segment| self.filter.choose(segment, self.sets);
        let chosen: Vec<Chosen> = self.segments.iter().map(choose).collect::<Result<_>>()?;
        let slots: usize = self.segments.iter().map(Segment::slots).sum();
        let work = slots * queries.words_per_code() * queries.len();
        let threads = if work < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        let all: Vec<usize> = (0..queries.len()).collect();
        let found: Vec<Vec<Vec<Hit>>> = if threads == 1 {
            all.chunks(QUERIES)
                .map(|chunk| self.chunk(queries, chunk, &chosen, 1))
                .collect::<Result<_>>()?
        } else if queries.len() >= 4 * threads {
            // Small chunks, so that no thread waits long for the last.
            let size = queries.len().div_ceil(4 * threads).clamp(1, QUERIES);
            all.par_chunks(size)
                .map(|chunk| self.chunk(queries, chunk, &chosen, 1))
                .collect::<Result<_>>()?
        } else {
            all.chunks(QUERIES)
                .map(|chunk| self.chunk(queries, chunk, &chosen, threads))
                .collect::<Result<_>>()?
        };
        let total = found.iter().flatten().map(Vec::len).sum();
        let mut hits = Hits::with_capacity(queries.len(), total);
        for row in found.into_iter().flatten() {
            hits.push(row);
        }
        Ok(hits)
    }

    /// Some of the queries, over all segments, each cut for so many threads.
    fn chunk(
        &self,
        codes: &Codes,
        chunk: &[usize],
        chosen: &[Chosen],
        threads: usize,
    ) -> Result<Vec<Vec<Hit>>> {
        let mut found: Vec<Vec<Hit>> = vec![Vec::new(); chunk.len()];
        for (segment, chosen) in self.segments.iter().zip(chosen) {
            if segment.len() == 0 {
                continue;
            }
            let limits = found.iter().map(|found| self.limit(found)).collect();
            let mut asked = Asked { codes, chunk: chunk.to_vec(), limits, segment, chosen };
            for (query, hits) in self.by_structure(&mut asked, threads)? {
                self.take(segment, &hits, &mut found[query - chunk[0]])?;
            }
            if asked.chunk.is_empty() {
                continue;
            }
            for hits in self.by_scan(&asked, threads)? {
                for (&query, hits) in asked.chunk.iter().zip(hits) {
                    self.take(segment, &hits, &mut found[query - chunk[0]])?;
                }
            }
        }
        Ok(found)
    }

    /// The distance from which on a query wants nothing more, given what it has found. What is as
    /// far as the last of it may have a smaller id, so that is still wanted.
    fn limit(&self, found: &[Hit]) -> u32 {
        let all = self.bits as u32 + 1;
        match self.want {
            Want::Within(radius) => radius.saturating_add(1).min(all),
            Want::Nearest(k) => found.get(k - 1).map_or(all, |last| last.distance + 1),
        }
    }

    /// Nothing found yet.
    pub(super) fn best(&self, limit: u32) -> Best {
        match self.want {
            Want::Nearest(k) => Best::nearest(k, limit),
            Want::Within(_) => Best::all(limit),
        }
    }

    /// Adds what was found in a segment, in order of distance and slot.
    fn take(&self, segment: &Segment, hits: &[u64], found: &mut Vec<Hit>) -> Result<()> {
        let first = found.is_empty();
        found.reserve_exact(hits.len());
        for &hit in hits {
            let (distance, slot) = parts(hit);
            found.push(Hit { distance, id: segment.id(slot as usize)? });
        }
        if !first {
            found.sort_unstable();
        }
        if let Want::Nearest(k) = self.want {
            found.truncate(k);
        }
        Ok(())
    }

    /// What queries find by a scan, for each part of the segment that a thread took.
    fn by_scan(&self, asked: &Asked<'_>, threads: usize) -> Result<Vec<Vec<Vec<u64>>>> {
        let segment = asked.segment;
        if let Chosen::Few(few) = asked.chosen {
            return Ok(vec![self.scan(&few.source(segment), asked)?]);
        }
        let mut maps: Vec<&[u64]> = segment.live().map(|live| &live[..]).into_iter().collect();
        if let Chosen::Many(many) = asked.chosen {
            maps.push(many.by_slot());
        }
        let scan = |range: Range<usize>| {
            let source = Source {
                segment,
                words: segment.codes_from(range.start),
                count: range.len(),
                slots: Slots::From(range.start),
                chosen: maps.iter().map(|map| &map[range.start / 64..]).collect(),
            };
            self.scan(&source, asked)
        };
        // A part ends where a checksum does, so that no two threads check the same.
        let step = segment.slots().div_ceil(threads).next_multiple_of(CHECKED);
        let ranges: Vec<Range<usize>> = (0..segment.slots())
            .step_by(step.max(1))
            .map(|start| start..segment.slots().min(start + step))
            .collect();
        match &ranges[..] {
            [only] => Ok(vec![scan(only.clone())?]),
            several => several.par_iter().map(|range| scan(range.clone())).collect(),
        }
    }

    fn scan(&self, source: &Source<'_>, asked: &Asked<'_>) -> Result<Vec<Vec<u64>>> {
        let mut bests: Vec<Best> = asked.limits.iter().map(|&limit| self.best(limit)).collect();
        let guess = matches!(self.want, Want::Nearest(GUESSED..));
        let (kernel, codes) = (self.kernel, asked.codes);
        source.scan(&Queries { kernel, codes, chunk: &asked.chunk, guess }, &mut bests)?;
        // Where near codes stand together in a corner a guess can be wrong.
        for (at, best) in bests.iter_mut().enumerate().filter(|(_, best)| best.failed()) {
            *best = self.best(asked.limits[at]);
            let chunk = &asked.chunk[at..=at];
            let queries = Queries { kernel, codes, chunk, guess: false };
            source.scan(&queries, std::slice::from_mut(best))?;
        }
        Ok(bests.into_iter().map(Best::finish).collect())
    }
}

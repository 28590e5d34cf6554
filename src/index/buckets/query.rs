//! Search for one query, branch by branch and bucket by bucket.

use super::block::Block;
use super::branches::Buckets;
use super::split::EXCEPTIONS;
use crate::Result;
use crate::index::answer::{Asked, Memory, Nearest};
use crate::kernel::{Comparison, Nearly, Run, Weights, distances, hit, parts, prefetch};

/// Cost of reading a bucket, in codes scanned.
const BUCKET_COST: usize = 64;

/// A whole branch is scanned if more than one in `WHOLE` of its buckets would be read.
const WHOLE: usize = 8;

/// Divisors of the limit, one for each round. A round reads the buckets with bounds below the limit
/// divided by its divisor.
const ROUNDS: [u32; 4] = [24, 10, 4, 1];

/// Number of codes in the first tile. The hits of a tile lower the limit; each next tile is twice
/// as large.
const TILE: usize = 128;

/// Number of codes in the scan of a whole branch that cost as much as one code of a bucket.
const IN_ONE_GO: usize = 4;

/// Number of buckets to prefetch ahead.
const AHEAD: usize = 2;

/// Buffers that are reused from query to query.
#[derive(Default)]
pub(in crate::index) struct Scratch {
    /// Branches and, in `bounds`, buckets of a branch; each is a hit whose distance is a bound.
    branches: Vec<u64>,
    bounds: Vec<u64>,
    /// Distances of the query from the centres of branches.
    centres: Vec<u16>,
    /// Buckets to read.
    visits: Vec<Visit>,
    /// Branches that were read as a whole.
    done: Vec<u32>,
    in_order: Vec<Visit>,
    /// Next free position in `in_order` for visits of each bound.
    places: Vec<u32>,
    /// Candidates and counts; a candidate's number is its position among the codes of all branches.
    memory: Memory,
}

/// A bucket to read, or a whole branch.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// Lower bound of the distances of its codes.
    bound: u32,
    branch: u32,
    /// Bucket of the branch, or `ALL` for the whole branch.
    bucket: u32,
}

const ALL: u32 = u32::MAX;

impl Buckets {
    /// Appends the hits in order of distance, then slot. Returns `None` if the search would exceed
    /// its cost limit; `asked.limit` then holds the tightest bound found. Fails if a branch is
    /// damaged.
    pub(in crate::index) fn search(
        &self,
        asked: &mut Asked<'_>,
        scratch: &mut Scratch,
        found: &mut Vec<u64>,
    ) -> Result<Option<()>> {
        scratch.memory.candidates.clear();
        scratch.done.clear();
        let mut nearest = Nearest::new(asked, &mut scratch.memory.counts);
        let (all, mut cost, mut from) = (asked.limit, 0, 0);
        // The nearest buckets come first: usually they have enough hits, and these hits lower the
        // limit for the other buckets.
        let rounds: &[u32] = if asked.k.is_some() { &ROUNDS } else { &[1] };
        for part in rounds {
            let round = Asked { limit: asked.limit.min(all / part + 1), ..*asked };
            scratch.visits.clear();
            self.branches(&round, scratch);
            for at in 0..scratch.branches.len() {
                if let Some(&next) = scratch.branches.get(at + 2) {
                    self.prefetch_bounds(parts(next).1 as usize);
                }
                self.collect(&round, scratch.branches[at], from, scratch)?;
            }
            cost += self.cost(&scratch.visits);
            if cost > asked.most {
                return Ok(None);
            }
            self.visit(asked, &mut nearest, scratch)?;
            from = round.limit;
            if asked.limit <= from {
                break;
            }
        }
        self.finish(asked, scratch, found)?;
        Ok(Some(()))
    }

    /// Collects the branches that may have codes below the limit, each with its lower bound.
    fn branches(&self, asked: &Asked<'_>, scratch: &mut Scratch) {
        let branches = &mut scratch.branches;
        branches.clear();
        let count = self.branches.len();
        self.bounds(asked, (&self.values, &self.known), None, count, branches);
        // Every differing bit weighs at least this much.
        let weight = asked.weights.map_or(1, Weights::least);
        scratch.centres.resize(count, 0);
        distances(asked.code, &self.centres, &mut scratch.centres);
        branches.retain_mut(|branch| {
            let (bound, number) = parts(*branch);
            let of = &self.branches[number as usize];
            let distance = u32::from(scratch.centres[number as usize]);
            let beyond = distance.saturating_sub(of.farthest.into());
            let within = u32::from(of.nearest).saturating_sub(distance);
            let bound = bound.max(weight.saturating_mul(beyond.max(within)));
            *branch = hit(bound, number);
            bound < asked.limit
        });
    }

    /// Appends all branches or buckets that may have codes below the limit, judged by the bits that
    /// their codes have in common.
    fn bounds(
        &self,
        asked: &Asked<'_>,
        (words, known): (&[u64], &[u64]),
        nearly: Option<Nearly<'_>>,
        count: usize,
        bounds: &mut Vec<u64>,
    ) {
        let Asked { kernel, code: query, weights, limit, .. } = *asked;
        let run = Run { words, count, first: 0, mask: None };
        let (layout, known) = (self.layout, Some(known));
        let comparison = Comparison { layout, query, run, known, nearly, weights, limit };
        kernel.compare(comparison, bounds);
    }

    /// Adds the buckets of a branch that may have codes below the limit to the visits, except those
    /// with bounds below `from`. Adds the whole branch instead if that is less work.
    fn collect(
        &self,
        asked: &Asked<'_>,
        branch: u64,
        from: u32,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (least, branch) = parts(branch);
        let Scratch { bounds, visits, done, .. } = scratch;
        if done.contains(&branch) {
            return Ok(());
        }
        let block = self.block(branch as usize)?;
        bounds.clear();
        let (count, before) = (self.branches[branch as usize].buckets as usize, visits.len());
        let weight = asked.weights.map_or(1, Weights::most);
        let exceptions = weight.saturating_mul(EXCEPTIONS);
        let nearly = Nearly { centres: block.centres, bits: block.nearly, exceptions };
        self.bounds(asked, (block.values, block.known), Some(nearly), count, bounds);
        for &found in bounds.iter() {
            let (bound, bucket) = parts(found);
            // A bucket is read in the round of its branch, which may be later than the round of its
            // own bound.
            let bound = bound.max(least);
            if bound >= from {
                visits.push(Visit { bound, branch, bucket });
            }
        }
        // The whole branch is not added if an earlier round may have read some of its buckets.
        if from == 0 && WHOLE * (visits.len() - before) > count {
            let bound = visits.drain(before..).map(|visit| visit.bound).min().unwrap_or(0);
            visits.push(Visit { bound, branch, bucket: ALL });
            done.push(branch);
        }
        Ok(())
    }

    /// Reads the buckets of all visits, the nearest first.
    fn visit(
        &self,
        asked: &mut Asked<'_>,
        nearest: &mut Nearest,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { visits, in_order, places, memory, .. } = scratch;
        let Memory { candidates, counts, .. } = memory;
        let visits = if asked.k.is_some() {
            by_bound(visits, in_order, places, nearest.shift());
            in_order
        } else {
            visits
        };
        let mut last = None;
        for (at, &Visit { bound, branch, bucket }) in visits.iter().enumerate() {
            if bound >= asked.limit {
                continue;
            }
            if let Some(ahead) = visits.get(at + AHEAD) {
                self.prefetch(*ahead);
            }
            let block = match last {
                Some((of, block)) if of == branch => block,
                _ => self.block(branch as usize)?,
            };
            last = Some((branch, block));
            let first = self.branches[branch as usize].first;
            // A whole branch includes unused positions, whose codes belong to no item.
            let (start, count) =
                if bucket == ALL { (0, block.count()) } else { block.run(bucket as usize) };
            let (mut start, end) = (start, start + count);
            let mut tile = TILE;
            while start < end {
                let (before, count) = (candidates.len(), (end - start).min(tile));
                self.scan(asked, &block, start, count, first, candidates);
                if candidates.len() > before && asked.k.is_some() {
                    let single = bucket != ALL && block.is_single(bucket as usize);
                    let items = |asked: &Asked<'_>, number: u32| {
                        let code = (number - first) as usize;
                        match single && asked.masks.is_empty() {
                            true => 1,
                            false => asked.items(block.slots(code)),
                        }
                    };
                    nearest.settle(asked, before, candidates, counts, items);
                }
                start += count;
                tile *= 2;
            }
        }
        Ok(())
    }

    /// Estimates the cost of visits, with about fifty codes per bucket.
    fn cost(&self, visits: &[Visit]) -> usize {
        let cost = |visit: &Visit| match visit.bucket {
            ALL => self.branches[visit.branch as usize].codes as usize / IN_ONE_GO,
            _ => BUCKET_COST + 64,
        };
        visits.iter().map(cost).sum()
    }

    /// Prefetches the descriptions of a branch's buckets, which will be compared soon.
    #[inline]
    fn prefetch_bounds(&self, branch: usize) {
        let of = &self.branches[branch];
        for start in [0, of.ends[0], of.ends[1], of.ends[2]] {
            if let Some(words) = self.words.get(of.start + start..of.start + of.ends[3]) {
                prefetch(words);
            }
        }
    }

    /// Prefetches the codes of a bucket, which will be scanned soon.
    #[inline]
    fn prefetch(&self, visit: Visit) {
        let branch = &self.branches[visit.branch as usize];
        if visit.bucket != ALL
            && let Some(codes) = branch.codes_at(self.layout, visit.bucket as usize, &self.words)
        {
            prefetch(codes);
        }
    }

    /// Scans `count` codes of a block, from `start` on, and appends those below the limit.
    fn scan(
        &self,
        asked: &Asked<'_>,
        block: &Block<'_>,
        start: usize,
        count: usize,
        first: u32,
        candidates: &mut Vec<u64>,
    ) {
        let Asked { kernel, code: query, weights, limit, .. } = *asked;
        let words = &block.codes[self.layout.words(start)..];
        let run = Run { words, count, first: first + start as u32, mask: None };
        match weights {
            None => kernel.scan(self.layout, query, run, limit, candidates),
            Some(_) => {
                let layout = self.layout;
                let (known, nearly) = (None, None);
                let comparison = Comparison { layout, query, run, known, nearly, weights, limit };
                kernel.compare(comparison, candidates);
            }
        }
    }

    /// Appends the items of the candidates, at most the requested number.
    fn finish(&self, asked: &Asked<'_>, scratch: &mut Scratch, found: &mut Vec<u64>) -> Result<()> {
        let mut branch = 0;
        let append = |number: u32, left: usize, slots: &mut Vec<u32>| {
            // Consecutive candidates are mostly from one branch.
            let of = &self.branches[branch];
            if number < of.first || number - of.first >= of.codes {
                branch = self.branches.partition_point(|branch| branch.first <= number) - 1;
            }
            let code = (number - self.branches[branch].first) as usize;
            asked.append(self.block(branch)?.slots(code), left, slots);
            Ok(())
        };
        scratch.memory.write(asked, self.count, append, found)
    }
}

/// Sorts visits by their bounds without the lowest `shift` bits. Visits with equal bounds stay in
/// order.
fn by_bound(visits: &[Visit], in_order: &mut Vec<Visit>, places: &mut Vec<u32>, shift: u32) {
    let most = visits.iter().map(|visit| visit.bound >> shift).max().unwrap_or(0) as usize;
    places.clear();
    places.resize(most + 2, 0);
    for visit in visits {
        places[(visit.bound >> shift) as usize + 1] += 1;
    }
    for bin in 0..most {
        places[bin + 1] += places[bin];
    }
    in_order.clear();
    in_order.resize(visits.len(), Visit::default());
    for visit in visits {
        let place = &mut places[(visit.bound >> shift) as usize];
        in_order[*place as usize] = *visit;
        *place += 1;
    }
}

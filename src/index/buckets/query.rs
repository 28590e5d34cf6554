//! A query, from branch to branch and from bucket to bucket.

use super::asked::Asked;
use super::block::Block;
use super::branches::Buckets;
use super::nearest::Nearest;
use super::slots::Sorter;
use super::split::EXCEPTIONS;
use crate::kernel::{Comparison, Run, Weights, hit, parts, prefetch};
use crate::{Result, hamming};

/// What it takes to look into a bucket, in codes scanned.
const BUCKET_COST: usize = 96;

/// So many buckets ahead the codes of one are asked for.
const AHEAD: usize = 3;

/// Memory that queries use one after the other.
#[derive(Default)]
pub(in crate::index) struct Scratch {
    /// Branches, and buckets of one of them, behind their bounds.
    branches: Vec<u64>,
    bounds: Vec<u64>,
    /// Buckets to look into.
    visits: Vec<Visit>,
    in_order: Vec<Visit>,
    /// Codes below the limit, by their number among those of all branches.
    pub(super) candidates: Vec<u64>,
    /// How many items are at each distance.
    pub(super) counts: Vec<u32>,
    sorter: Sorter,
}

/// A bucket to look into.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// How near a code in it is at least.
    bound: u32,
    branch: u32,
    bucket: u32,
}

impl Buckets {
    /// Appends what is asked for, in order of distance and slot; `None` if that would cost more than it
    /// may. The limit then is what it had fallen to.
    pub(in crate::index) fn search(
        &self,
        asked: &mut Asked<'_>,
        scratch: &mut Scratch,
        found: &mut Vec<u64>,
    ) -> Result<Option<()>> {
        scratch.candidates.clear();
        scratch.visits.clear();
        self.branches(asked, scratch);
        let mut nearest = Nearest::new(asked, &mut scratch.counts);
        let (mut cost, mut next) = (0, 0);
        if asked.k.is_some() {
            // The nearest branches first: what is in them makes the limit fall.
            scratch.branches.sort_unstable();
            while next < scratch.branches.len() && !nearest.is_full() && cost <= asked.most {
                let branch = parts(scratch.branches[next]).1;
                self.collect(asked, branch, scratch)?;
                cost += self.visit(asked, &mut nearest, scratch)?;
                scratch.visits.clear();
                next += 1;
            }
        }
        for at in next..scratch.branches.len() {
            let (bound, branch) = parts(scratch.branches[at]);
            if bound < asked.limit {
                self.collect(asked, branch, scratch)?;
            }
            // About a hundred codes to a bucket.
            if cost + 2 * BUCKET_COST * scratch.visits.len() > asked.most {
                return Ok(None);
            }
        }
        self.visit(asked, &mut nearest, scratch)?;
        let limit = asked.limit;
        scratch.candidates.retain(|&candidate| parts(candidate).0 < limit);
        self.finish(asked, scratch, found)?;
        Ok(Some(()))
    }

    /// The branches that may hold anything below the limit, each behind how near that is at least.
    fn branches(&self, asked: &Asked<'_>, scratch: &mut Scratch) {
        let branches = &mut scratch.branches;
        branches.clear();
        self.bounds(asked, &self.values, &self.known, self.branches.len(), branches);
        // Every bit that differs weighs at least this.
        let weight = asked.weights.map_or(1, Weights::least);
        let width = self.layout.code_words();
        branches.retain_mut(|branch| {
            let (bound, number) = parts(*branch);
            let of = &self.branches[number as usize];
            let distance = hamming(asked.code, &self.centres[number as usize * width..][..width]);
            let beyond = distance.saturating_sub(of.farthest.into());
            let within = u32::from(of.nearest).saturating_sub(distance);
            let bound = bound.max(weight.saturating_mul(beyond.max(within)));
            *branch = hit(bound, number);
            bound < asked.limit
        });
    }

    /// Appends all that differ from the code in bits that are known by less than the limit.
    fn bounds(
        &self,
        asked: &Asked<'_>,
        values: &[u64],
        known: &[u64],
        count: usize,
        bounds: &mut Vec<u64>,
    ) {
        let Asked { kernel, code: query, weights, limit, .. } = *asked;
        let run = Run { words: values, count, first: 0, mask: None };
        let known = Some(known);
        kernel
            .compare(Comparison { layout: self.layout, query, run, known, weights, limit }, bounds);
    }

    /// Takes note of the buckets of a branch that may hold anything below the limit.
    fn collect(&self, asked: &Asked<'_>, branch: u32, scratch: &mut Scratch) -> Result<()> {
        let block = self.block(branch as usize)?;
        let Scratch { bounds, visits, .. } = scratch;
        bounds.clear();
        let count = self.branches[branch as usize].buckets as usize;
        self.bounds(asked, block.values, block.known, count, bounds);
        for &found in bounds.iter() {
            let (bound, bucket) = parts(found);
            let differ = block.differ(bucket as usize, asked.code);
            let (differ, exceptions) = match asked.weights {
                None => (differ.map(u64::count_ones).sum::<u32>(), EXCEPTIONS),
                Some(weights) => (weights.of(differ), weights.most().saturating_mul(EXCEPTIONS)),
            };
            let bound = bound.max(differ.saturating_sub(exceptions));
            if bound < asked.limit {
                visits.push(Visit { bound, branch, bucket });
            }
        }
        Ok(())
    }

    /// Looks into the buckets that were noted, the nearest first; what that cost.
    fn visit(
        &self,
        asked: &mut Asked<'_>,
        nearest: &mut Nearest,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let Scratch { visits, in_order, candidates, counts, .. } = scratch;
        let visits = if asked.k.is_some() {
            by_bound(visits, in_order, nearest.shift());
            in_order
        } else {
            visits
        };
        let mut cost = 0;
        let mut last = None;
        for at in 0..visits.len() {
            let Visit { bound, branch, bucket } = visits[at];
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
            let before = candidates.len();
            cost += BUCKET_COST + self.scan(asked, &block, bucket as usize, first, candidates);
            if candidates.len() > before && asked.k.is_some() {
                nearest.settle(asked, &block, first, before, candidates, counts);
            }
        }
        Ok(cost)
    }

    /// Asks for the codes of a bucket, which will be scanned soon.
    #[inline]
    fn prefetch(&self, visit: Visit) {
        let branch = &self.branches[visit.branch as usize];
        if let Some(codes) = branch.codes_at(self.layout, visit.bucket as usize, &self.words) {
            prefetch(codes);
        }
    }

    /// Appends the codes of a bucket below the limit; how many codes it has.
    fn scan(
        &self,
        asked: &Asked<'_>,
        block: &Block<'_>,
        bucket: usize,
        first: u32,
        candidates: &mut Vec<u64>,
    ) -> usize {
        let Asked { kernel, code: query, weights, limit, .. } = *asked;
        let (start, count) = block.run(bucket);
        let words = &block.codes[self.layout.words(start)..];
        let run = Run { words, count, first: first + start as u32, mask: None };
        match weights {
            None => kernel.scan(self.layout, query, run, limit, candidates),
            Some(_) => {
                let layout = self.layout;
                let known = None;
                kernel
                    .compare(Comparison { layout, query, run, known, weights, limit }, candidates);
            }
        }
        count
    }

    /// Appends the items of the candidates, as many as are asked for.
    fn finish(&self, asked: &Asked<'_>, scratch: &mut Scratch, found: &mut Vec<u64>) -> Result<()> {
        let Scratch { candidates, sorter, .. } = scratch;
        candidates.sort_unstable();
        let mut lists: Vec<&[u32]> = Vec::new();
        let mut let_through: Vec<Vec<u32>> = Vec::new();
        let mut left = asked.k.unwrap_or(usize::MAX);
        let mut branch = 0;
        for level in candidates.chunk_by(|one, other| parts(*one).0 == parts(*other).0) {
            let distance = parts(level[0]).0;
            lists.clear();
            for &candidate in level {
                let number = parts(candidate).1;
                // Candidates of one distance are in order of their numbers.
                let of = &self.branches[branch];
                if number < of.first || number - of.first >= of.codes {
                    branch = self.branches.partition_point(|branch| branch.first <= number) - 1;
                }
                let code = (number - self.branches[branch].first) as usize;
                lists.push(self.block(branch)?.slots(code));
            }
            let before = found.len();
            let mut push = |slot: u32| found.push(hit(distance, slot));
            if asked.masks.is_empty() {
                sorter.merge(lists.iter().copied(), self.count, left, &mut push);
            } else {
                let_through.clear();
                let_through.extend(lists.iter().map(|list| {
                    let slots = list.iter().copied().filter(|&slot| asked.lets_through(slot));
                    slots.take(left).collect()
                }));
                let lists = let_through.iter().map(|list| &list[..]);
                sorter.merge(lists, self.count, left, &mut push);
            }
            left -= found.len() - before;
            if left == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Puts visits in order of their bounds, without so many of their lowest bits; those with the same
/// stay in order.
fn by_bound(visits: &[Visit], in_order: &mut Vec<Visit>, shift: u32) {
    let most = visits.iter().map(|visit| visit.bound >> shift).max().unwrap_or(0) as usize;
    let mut places = vec![0u32; most + 2];
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

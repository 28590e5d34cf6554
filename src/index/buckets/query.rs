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
const BUCKET_COST: usize = 64;

/// One in so many buckets of a branch are more work than all of its codes in one go.
const WHOLE: usize = 4;

/// Buckets that are looked into at first, to find out how near the nearest are.
const FIRST: usize = 4;

/// Codes that are scanned before what is found makes the limit fall.
const TILE: usize = 1 << 10;

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
    /// Where those of each bound go.
    places: Vec<u32>,
    /// Codes below the limit, by their number among those of all branches.
    pub(super) candidates: Vec<u64>,
    /// How many items are at each distance.
    pub(super) counts: Vec<u32>,
    sorter: Sorter,
}

/// A bucket to look into, or all of a branch.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// How near a code in it is at least.
    bound: u32,
    branch: u32,
    /// `ALL` of the branch.
    bucket: u32,
}

const ALL: u32 = u32::MAX;

impl Buckets {
    /// Appends what is asked for, in order of distance and slot; `None` if that would cost more than it
    /// may. The limit then is what it had fallen to.
    pub(in crate::index) fn search(
        &self,
        asked: &mut Asked<'_>,
        scratch: &mut Scratch,
        found: &mut Vec<u64>,
    ) -> Result<Option<()>> {
        if asked.k.is_some() {
            self.first_limit(asked, scratch)?;
        }
        self.branches(asked, scratch);
        scratch.visits.clear();
        let (mut cost, mut known) = (0, 0);
        for at in 0..scratch.branches.len() {
            let (bound, branch) = parts(scratch.branches[at]);
            if bound < asked.limit {
                self.collect(asked, branch, true, scratch)?;
            }
            cost += self.cost(&scratch.visits[known..]);
            known = scratch.visits.len();
            if cost > asked.most {
                return Ok(None);
            }
        }
        scratch.candidates.clear();
        let mut nearest = Nearest::new(asked, &mut scratch.counts);
        self.visit(asked, &mut nearest, usize::MAX, scratch)?;
        let limit = asked.limit;
        scratch.candidates.retain(|&candidate| parts(candidate).0 < limit);
        self.finish(asked, scratch, found)?;
        Ok(Some(()))
    }

    /// Lets the limit fall to what as many of the nearest buckets have as it takes to find enough items,
    /// and some more: then little else has to be looked into.
    fn first_limit(&self, asked: &mut Asked<'_>, scratch: &mut Scratch) -> Result<()> {
        let all = asked.limit;
        // Mostly there is enough in buckets that are very near.
        for part in [16, 4, 1] {
            scratch.candidates.clear();
            let mut nearest = Nearest::new(asked, &mut scratch.counts);
            let near = Asked { limit: asked.limit.min(all / part + 1), ..*asked };
            self.branches(&near, scratch);
            scratch.branches.sort_unstable();
            let mut cost = 0;
            for at in 0..scratch.branches.len() {
                scratch.visits.clear();
                self.collect(&near, parts(scratch.branches[at]).1, false, scratch)?;
                cost += self.cost(&scratch.visits);
                self.visit(asked, &mut nearest, FIRST, scratch)?;
                if nearest.is_full() || cost > asked.most {
                    return Ok(());
                }
            }
        }
        Ok(())
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

    /// Takes note of the buckets of a branch that may hold anything below the limit; or of the whole, if
    /// it may be and most of it would be.
    fn collect(
        &self,
        asked: &Asked<'_>,
        branch: u32,
        whole: bool,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let block = self.block(branch as usize)?;
        let Scratch { bounds, visits, .. } = scratch;
        bounds.clear();
        let (count, before) = (self.branches[branch as usize].buckets as usize, visits.len());
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
        // Before anything is found the limit lets all codes through, and the nearest make it fall.
        if whole && WHOLE * (visits.len() - before) > count {
            let bound = visits.drain(before..).map(|visit| visit.bound).min().unwrap_or(0);
            visits.push(Visit { bound, branch, bucket: ALL });
        }
        Ok(())
    }

    /// Looks into the buckets that were noted, the nearest first; into no more than `enough` once as many
    /// items are found as are asked for.
    fn visit(
        &self,
        asked: &mut Asked<'_>,
        nearest: &mut Nearest,
        enough: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { visits, in_order, places, candidates, counts, .. } = scratch;
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
            if at >= enough && nearest.is_full() {
                break;
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
            // Free places behind buckets come along with all of a branch; no item has their codes.
            let (start, count) =
                if bucket == ALL { (0, block.count()) } else { block.run(bucket as usize) };
            let end = start + count;
            for start in (start..end).step_by(TILE) {
                let (before, count) = (candidates.len(), (end - start).min(TILE));
                self.scan(asked, &block, start, count, first, candidates);
                if candidates.len() > before && asked.k.is_some() {
                    nearest.settle(asked, &block, first, before, candidates, counts);
                }
            }
        }
        Ok(())
    }

    /// What visits will cost: there are some fifty codes to a bucket.
    fn cost(&self, visits: &[Visit]) -> usize {
        let cost = |visit: &Visit| match visit.bucket {
            ALL => self.branches[visit.branch as usize].codes as usize / WHOLE,
            _ => BUCKET_COST + 48,
        };
        visits.iter().map(cost).sum()
    }

    /// Asks for the codes of a bucket, which will be scanned soon.
    #[inline]
    fn prefetch(&self, visit: Visit) {
        let branch = &self.branches[visit.branch as usize];
        if visit.bucket != ALL
            && let Some(codes) = branch.codes_at(self.layout, visit.bucket as usize, &self.words)
        {
            prefetch(codes);
        }
    }

    /// Appends so many codes of a block that are below the limit.
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
                let known = None;
                kernel
                    .compare(Comparison { layout, query, run, known, weights, limit }, candidates);
            }
        }
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

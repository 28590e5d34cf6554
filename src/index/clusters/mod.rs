//! Codes by the clusters they lie in, as those of supervised hashing do: one cluster for each class.
//! A query looks into its own, and into those that are so near that they may hold something.

mod centres;

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

pub(super) use self::centres::Centres;
use super::scan::{Sample, Slots, Source};
use super::segment::{Bitmap, is_set};
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, parts};

pub(super) struct Clusters {
    layout: Layout,
    clusters: Vec<Cluster>,
    /// The codes in their centres, to be scanned.
    centres: Lines,
    /// Codes cluster by cluster and in order of their slots within each. The place of one is its number;
    /// each cluster begins with a number that fills a word of bits.
    words: Lines,
    /// Their slots. Those of free places are beyond all.
    slots: Vec<u32>,
    /// How far from its centre a code is at most.
    reach: u32,
    /// Without filters, and with them.
    tries: [[Tries; CLASSES]; 2],
}

#[derive(Clone, Copy)]
struct Cluster {
    /// The number of its first code, and how many they are.
    start: usize,
    count: usize,
    /// How near to the centre the nearest is, and how far the farthest.
    nearest: u32,
    farthest: u32,
}

impl Cluster {
    /// Finds the centre of its codes, and takes note of how near to it and how far they are.
    fn measure(&mut self, layout: Layout, words: &[u64]) -> Vec<u64> {
        let width = layout.code_words();
        let mut codes = vec![0; self.count * width];
        for (number, code) in (self.start..).zip(codes.chunks_exact_mut(width)) {
            layout.get(words, number, code);
        }
        let centre = Sample::new(&codes, width).centre();
        for code in codes.chunks_exact(width) {
            let distance = hamming(code, &centre);
            self.nearest = self.nearest.min(distance);
            self.farthest = self.farthest.max(distance);
        }
        centre
    }
}

/// How many searches for the nearest were made by clusters, how many of them in vain, and how many not
/// by clusters for that reason.
#[derive(Default)]
struct Tries {
    made: AtomicU32,
    vain: AtomicU32,
    left: AtomicU32,
}

/// Numbers of neighbours that are told apart when it is judged whether clusters pay: those with the
/// same logarithm are not.
const CLASSES: usize = 16;

/// One in so many searches is tried where most were in vain.
const STILL_TRIED: u32 = 32;

/// Searches after which what was noted counts half, so that what comes now weighs more.
const REMEMBERED: u32 = 1 << 10;

/// What it takes to look into a cluster at all, in words compared.
const LOOK: usize = 1 << 12;

/// Numbers at multiples of which clusters begin.
const ALIGNED: usize = 64;

impl Clusters {
    /// Of so many codes as they stand in a segment.
    pub(super) fn build(
        kernel: Kernel,
        layout: Layout,
        codes: &[u64],
        count: usize,
        centres: &Centres,
    ) -> Self {
        let width = layout.code_words();
        let cluster_of = centres.clusters_of(kernel, count, |at, out| layout.get(codes, at, out));
        let counts = centres.counts(&cluster_of);
        let mut places = Vec::with_capacity(counts.len());
        let mut clusters = Vec::with_capacity(counts.len());
        let mut total = 0;
        for count in counts {
            places.push(total);
            if count > 0 {
                clusters.push(Cluster { start: total, count, nearest: u32::MAX, farthest: 0 });
            }
            total += count.next_multiple_of(ALIGNED);
        }
        let mut words = Lines::zeros(layout.words(total));
        let mut slots = vec![u32::MAX; total];
        let mut code = vec![0; width];
        for (slot, &cluster) in cluster_of.iter().enumerate() {
            let place = &mut places[cluster as usize];
            layout.get(codes, slot, &mut code);
            layout.put(&mut words, *place, &code);
            slots[*place] = slot as u32;
            *place += 1;
        }
        let centres_of: Vec<Vec<u64>> =
            clusters.par_iter_mut().map(|cluster| cluster.measure(layout, &words)).collect();
        let mut centres = Lines::zeros(layout.words(clusters.len()));
        for (number, centre) in centres_of.iter().enumerate() {
            layout.put(&mut centres, number, centre);
        }
        let reach = clusters.iter().map(|cluster| cluster.farthest).max().unwrap_or(0);
        Clusters { layout, clusters, centres, words, slots, reach, tries: Default::default() }
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Cluster>() * self.clusters.capacity()
            + 8 * (self.centres.capacity() + self.words.capacity())
            + 4 * self.slots.capacity()
    }

    fn centres(&self) -> Run<'_> {
        Run { words: &self.centres, count: self.clusters.len(), first: 0, mask: None }
    }

    /// The cluster whose centre is nearest.
    pub(super) fn nearest(&self, kernel: Kernel, code: &[u64]) -> Option<usize> {
        let mut hits = Vec::new();
        // Most are far from all clusters but their own.
        for limit in [self.layout.bits() as u32 / 4, u32::MAX] {
            kernel.scan(self.layout, code, self.centres(), limit, &mut hits);
            if let Some(&nearest) = hits.iter().min() {
                return Some(parts(nearest).1 as usize);
            }
        }
        None
    }

    /// The clusters that may hold anything nearer than a limit, each behind how near that is at least;
    /// the nearest first.
    pub(super) fn below(&self, kernel: Kernel, code: &[u64], limit: u32) -> Vec<(u32, usize)> {
        let mut hits = Vec::new();
        let reach = limit.saturating_add(self.reach);
        kernel.scan(self.layout, code, self.centres(), reach, &mut hits);
        hits.sort_unstable();
        let bound = |&hit: &u64| {
            let (distance, number) = parts(hit);
            let Cluster { nearest, farthest, .. } = self.clusters[number as usize];
            let bound = distance.saturating_sub(farthest).max(nearest.saturating_sub(distance));
            (bound, number as usize)
        };
        let mut clusters: Vec<(u32, usize)> =
            hits.iter().map(bound).filter(|&(bound, _)| bound < limit).collect();
        // Those with the same bound stay in order of their centres.
        clusters.sort_by_key(|&(bound, _)| bound);
        clusters
    }

    /// What it takes to look through a cluster, in codes scanned.
    pub(super) fn cost(&self, cluster: usize) -> usize {
        self.clusters[cluster].count + LOOK / self.layout.code_words()
    }

    /// The codes of a cluster, of which those may be found whose numbers have a bit in all masks and
    /// whose slots have one in `live`.
    pub(super) fn source<'a>(
        &'a self,
        cluster: usize,
        masks: &[&'a [u64]],
        live: Option<&'a [u64]>,
    ) -> Source<'a> {
        let Cluster { start, count, .. } = self.clusters[cluster];
        Source {
            layout: self.layout,
            words: &self.words[self.layout.words(start)..],
            count,
            slots: Slots::Listed { slots: &self.slots[start..], live },
            masks: masks.iter().map(|mask| &mask[start / 64..]).collect(),
        }
    }

    /// A bitmap by slots, in the order of numbers.
    pub(super) fn in_order(&self, by_slot: &[u64]) -> Bitmap {
        let beyond = 64 * by_slot.len();
        let bit = |slot: usize| u64::from(slot < beyond && is_set(by_slot, slot));
        let word = |slots: &[u32]| {
            let bits = slots.iter().enumerate();
            bits.fold(0, |word, (at, &slot)| word | bit(slot as usize) << at)
        };
        self.slots.chunks(64).map(word).collect()
    }

    /// Whether to look for the `k` nearest by clusters: unless most such searches were in vain, and now
    /// and then even so.
    pub(super) fn pay(&self, k: usize, filtered: bool) -> bool {
        let Tries { made, vain, left } = self.tries(k, filtered);
        let (made, vain) = (made.load(Ordering::Relaxed), vain.load(Ordering::Relaxed));
        made < STILL_TRIED
            || vain < made / 2
            || left.fetch_add(1, Ordering::Relaxed) % STILL_TRIED == 0
    }

    /// Takes note of how a search for the `k` nearest went.
    pub(super) fn note(&self, k: usize, filtered: bool, in_vain: bool) {
        let Tries { made, vain, .. } = self.tries(k, filtered);
        vain.fetch_add(u32::from(in_vain), Ordering::Relaxed);
        if made.fetch_add(1, Ordering::Relaxed) > REMEMBERED {
            // That another thread may do the same just now does no harm.
            made.store(made.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            vain.store(vain.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
    }

    fn tries(&self, k: usize, filtered: bool) -> &Tries {
        &self.tries[usize::from(filtered)][(k.ilog2() as usize).min(CLASSES - 1)]
    }
}

//! Codes that lie in clusters, as those of supervised hashing do: one cluster for each class.

use rayon::prelude::*;

use super::sample::Sample;
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, parts};

/// Codes looked at to find the clusters.
const SAMPLE: usize = 1 << 14;

/// Codes of these that are looked at to see whether the clusters are apart.
const PROBES: usize = 1 << 8;

/// Codes given to a thread at a time.
const CHUNK: usize = 1 << 14;

/// Codes in the centre of clusters.
pub(in crate::index) struct Centres {
    layout: Layout,
    words: Lines,
    count: usize,
    /// Codes of different clusters are farther apart than this, mostly.
    apart: u32,
}

impl Centres {
    /// The centres of codes, of which there are `count` and `get` copies one out, if they lie in
    /// clusters: whatever of a sample is far from all centres so far becomes one. If many do, or if
    /// most codes are about as near to a second one, there are no clusters.
    pub(in crate::index) fn find(
        layout: Layout,
        count: usize,
        get: impl Fn(usize, &mut [u64]),
    ) -> Option<Centres> {
        let width = layout.code_words();
        let step = count.div_ceil(SAMPLE).max(1);
        let mut sample = vec![0; count.div_ceil(step) * width];
        let places = sample.chunks_exact_mut(width);
        (0..count).step_by(step).zip(places).for_each(|(at, code)| get(at, code));
        let apart = layout.bits() as u32 / 4;
        let mut clusters: Vec<Vec<u64>> = Vec::new();
        for code in sample.chunks_exact(width) {
            let distance = |cluster: &Vec<u64>| hamming(&cluster[..width], code);
            let many = 4 * clusters.len() * width > sample.len();
            match clusters.iter_mut().min_by_key(|cluster| distance(cluster)) {
                Some(cluster) if distance(cluster) <= apart => cluster.extend_from_slice(code),
                _ if many => return None,
                _ => clusters.push(code.to_vec()),
            }
        }
        // What most of a cluster's codes have is nearer to all of them than the first that came. What
        // came out as several clusters may be one, around the same centre.
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
        let mut centres: Vec<Vec<u64>> = Vec::new();
        for cluster in &clusters {
            let centre = Sample::new(cluster, width).centre();
            if centres.iter().all(|other| hamming(other, &centre) > apart / 2) {
                centres.push(centre);
            }
        }
        if centres.len() < 2 || !are_apart(layout, &centres, &sample) {
            return None;
        }
        let mut words = Lines::zeros(layout.words(centres.len()));
        for (number, centre) in centres.iter().enumerate() {
            layout.put(&mut words, number, centre);
        }
        Some(Centres { layout, words, count: centres.len(), apart })
    }

    /// How many there are.
    pub(in crate::index) fn len(&self) -> usize {
        self.count
    }

    /// The cluster of a code; `hits` is memory to use.
    pub(in crate::index) fn nearest(
        &self,
        kernel: Kernel,
        code: &[u64],
        hits: &mut Vec<u64>,
    ) -> usize {
        let run = Run { words: &self.words, count: self.count, first: 0, mask: None };
        hits.clear();
        kernel.scan(self.layout, code, run, self.apart, hits);
        if hits.is_empty() {
            kernel.scan(self.layout, code, run, u32::MAX, hits);
        }
        hits.iter().min().map_or(0, |&hit| parts(hit).1 as usize)
    }

    /// The cluster of each code.
    fn clusters_of(
        &self,
        kernel: Kernel,
        count: usize,
        get: impl Fn(usize, &mut [u64]) + Sync,
    ) -> Vec<u32> {
        let mut clusters = vec![0; count];
        clusters.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, clusters)| {
            let (mut hits, mut code) = (Vec::new(), vec![0; self.layout.code_words()]);
            for (at, cluster) in (chunk * CHUNK..).zip(clusters) {
                get(at, &mut code);
                *cluster = self.nearest(kernel, &code, &mut hits) as u32;
            }
        });
        clusters
    }

    /// How many codes each cluster has.
    fn counts(&self, clusters: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.count];
        clusters.iter().for_each(|&cluster| counts[cluster as usize] += 1);
        counts
    }

    /// Puts the codes of each cluster together; where each code stood before, and where each cluster
    /// ends.
    pub(in crate::index) fn sort(
        &self,
        kernel: Kernel,
        codes: &mut [u64],
    ) -> (Vec<u32>, Vec<usize>) {
        let width = self.layout.code_words();
        let count = codes.len() / width;
        let get = |at: usize, out: &mut [u64]| out.copy_from_slice(&codes[at * width..][..width]);
        let clusters = self.clusters_of(kernel, count, get);
        let mut places = self.counts(&clusters);
        let mut total = 0;
        for place in &mut places {
            total += std::mem::replace(place, total);
        }
        // Where the code of each place stood.
        let mut before = vec![0u32; count];
        for (at, &cluster) in clusters.iter().enumerate() {
            let place = &mut places[cluster as usize];
            before[*place] = at as u32;
            *place += 1;
        }
        drop(clusters);
        permute(codes, width, &before);
        // Each place has moved on to the end of its cluster.
        (before, places)
    }
}

/// Puts codes in another order, where they stand: code `before[at]` comes to place `at`.
fn permute(codes: &mut [u64], width: usize, before: &[u32]) {
    let mut moved = vec![0u64; before.len().div_ceil(64)];
    let mut first = vec![0; width];
    for start in 0..before.len() {
        // A round of places, each of which takes the code of the next.
        let mut at = start;
        first.copy_from_slice(&codes[start * width..][..width]);
        while moved[at / 64] >> (at % 64) & 1 == 0 {
            moved[at / 64] |= 1 << (at % 64);
            let from = before[at] as usize;
            if from == start {
                codes[at * width..][..width].copy_from_slice(&first);
            } else {
                codes.copy_within(from * width..(from + 1) * width, at * width);
            }
            at = from;
        }
    }
}

/// Whether codes are much nearer to their own centre than to the next: by a sixteenth of their bits,
/// on average.
fn are_apart(layout: Layout, centres: &[Vec<u64>], sample: &[u64]) -> bool {
    let width = layout.code_words();
    let step = (sample.len() / width).div_ceil(PROBES).max(1);
    let (mut probed, mut apart) = (0, 0);
    for code in sample.chunks_exact(width).step_by(step) {
        let (mut own, mut next) = (u32::MAX, u32::MAX);
        for centre in centres {
            let distance = hamming(centre, code);
            next = next.min(own.max(distance));
            own = own.min(distance);
        }
        probed += layout.bits();
        apart += (next - own) as usize;
    }
    16 * apart >= probed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_are_put_in_order_where_they_stand(
            before in (0..200u32).prop_flat_map(|n| Just((0..n).collect::<Vec<u32>>()).prop_shuffle()),
            width in 1..4usize,
        ) {
            let mut codes: Vec<u64> = (0..(before.len() * width) as u64).collect();
            let expected: Vec<u64> = before
                .iter()
                .flat_map(|&at| codes[at as usize * width..][..width].to_vec())
                .collect();
            permute(&mut codes, width, &before);
            prop_assert_eq!(codes, expected);
        }
    }
}

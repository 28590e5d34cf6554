//! Clusters of codes: codes of supervised hashing lie in one cluster for each class.

use rayon::prelude::*;

use super::sample::Sample;
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, parts};

/// Number of codes in the sample that determines the clusters.
const SAMPLE: usize = 1 << 14;

/// Number of sampled codes that are tested to decide whether clusters are well separated.
const PROBES: usize = 1 << 8;

/// Number of codes given to a thread at a time.
const CHUNK: usize = 1 << 14;

/// Codes in the centres of clusters.
pub(in crate::index) struct Centres {
    layout: Layout,
    words: Lines,
    count: usize,
    /// Distance that codes of different clusters mostly exceed.
    apart: u32,
}

impl Centres {
    /// Returns the centres of `count` codes if they lie in clusters, otherwise `None`. `get` copies
    /// a code to a buffer. A sampled code that is far from all clusters so far starts a new
    /// cluster. The codes do not lie in clusters if many codes start one, or if codes are about as
    /// near to a second centre as to their own.
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
        // The majority code of a cluster is a better centre than its first code. Clusters with
        // nearly the same centre are one cluster.
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

    /// Returns the number of centres.
    pub(in crate::index) fn len(&self) -> usize {
        self.count
    }

    /// Returns the cluster of a code; `hits` is a buffer.
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

    /// Returns the cluster of each code.
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

    /// Returns the number of codes of each cluster.
    fn counts(&self, clusters: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.count];
        clusters.iter().for_each(|&cluster| counts[cluster as usize] += 1);
        counts
    }

    /// Reorders codes by cluster. Returns the previous position of each code, and the end of each
    /// cluster.
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
        // Previous position of the code at each position.
        let mut before = vec![0u32; count];
        for (at, &cluster) in clusters.iter().enumerate() {
            let place = &mut places[cluster as usize];
            before[*place] = at as u32;
            *place += 1;
        }
        drop(clusters);
        permute(codes, width, &before);
        // Each position has advanced to the end of its cluster.
        (before, places)
    }
}

/// Permutes codes in place: code `before[at]` moves to position `at`.
fn permute(codes: &mut [u64], width: usize, before: &[u32]) {
    let mut moved = vec![0u64; before.len().div_ceil(64)];
    let mut first = vec![0; width];
    for start in 0..before.len() {
        // Positions form cycles; each position takes the code of the next position in the cycle.
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

/// Returns true if codes are much nearer to their own centre than to the second nearest: on average
/// by a sixteenth of their bits.
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

//! A uniform sample of the stream, with its projections.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernel::{distances, project_row, sigmoid_in_place};
use crate::learner::Loaded;
use crate::similarity::{LabelSets, running_total, share_a_label};
use crate::tensors::Tensors;
use crate::{Features, Labels, MAX_BITS};

/// A sample that contains each point seen so far with the same probability. Every point draws a
/// key, and the points with the smallest keys remain.
#[derive(Clone, Debug)]
pub(super) struct Reservoir {
    dim: usize,
    bits: usize,
    room: usize,
    features: Vec<f32>,
    labels: Vec<Vec<u32>>,
    keys: Vec<f64>,
    /// `W^T x` of each point under the newest weights.
    projections: Vec<f32>,
    /// Relaxed bits in [-1, 1], while they are up to date with the projections.
    relaxed: Vec<f32>,
    stale: bool,
    /// Codes of the points under the weights of the published function.
    given_out: Vec<u64>,
}

/// Minimum number of relaxed bits for which the work of a thread exceeds the time to wake it.
const WORTH_A_THREAD: usize = 1 << 16;

impl Reservoir {
    pub(super) fn new(dim: usize, bits: usize, room: usize) -> Self {
        Reservoir {
            dim,
            bits,
            room,
            features: Vec::new(),
            labels: Vec::new(),
            keys: Vec::new(),
            projections: Vec::new(),
            relaxed: Vec::new(),
            stale: true,
            given_out: Vec::new(),
        }
    }

    fn words(&self) -> usize {
        self.bits.div_ceil(64)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn features(&self) -> &[f32] {
        &self.features
    }

    #[cfg(test)]
    pub(super) fn projections(&self) -> &[f32] {
        &self.projections
    }

    /// Returns, for each point, whether it has one of `labels`.
    pub(super) fn similar_to(&self, labels: &[u32]) -> Vec<bool> {
        self.labels.iter().map(|own| share_a_label(own, labels)).collect()
    }

    /// Returns the relaxed bits of the points.
    pub(super) fn relaxed(&mut self, slope: f64) -> &[f32] {
        if self.stale {
            self.relaxed.clear();
            self.relaxed.extend_from_slice(&self.projections);
            self.relaxed.par_chunks_mut(WORTH_A_THREAD).for_each(|values| {
                values.iter_mut().for_each(|value| *value *= slope as f32);
                sigmoid_in_place(values);
                values.iter_mut().for_each(|value| *value = 2.0 * *value - 1.0);
            });
            self.stale = false;
        }
        &self.relaxed
    }

    /// Updates the projections after `x step^T` was added to the weights; `along` are the products
    /// `x_r . x`.
    pub(super) fn follow<'a>(&mut self, along: impl Iterator<Item = &'a f32>, step: &[f32]) {
        for (projection, along) in self.projections.chunks_exact_mut(self.bits).zip(along) {
            projection.iter_mut().zip(step).for_each(|(p, step)| *p += along * step);
        }
        self.stale = true;
    }

    /// Adds a point if there is room, or if its key is smaller than the largest key, whose point
    /// then leaves. Returns the point's index. `given_out` are the weights of the published
    /// function.
    pub(super) fn offer(
        &mut self,
        x: &[f32],
        labels: &[u32],
        projection: &[f32],
        given_out: &[f32],
        key: f64,
    ) -> Option<usize> {
        let place = if self.len() < self.room {
            self.features.extend_from_slice(x);
            self.labels.push(labels.to_vec());
            self.keys.push(key);
            self.projections.extend_from_slice(projection);
            self.len() - 1
        } else {
            let largest = (0..self.len()).max_by(|&a, &b| self.keys[a].total_cmp(&self.keys[b]))?;
            if key >= self.keys[largest] {
                return None;
            }
            self.features[largest * self.dim..][..self.dim].copy_from_slice(x);
            self.labels[largest] = labels.to_vec();
            self.keys[largest] = key;
            self.projections[largest * self.bits..][..self.bits].copy_from_slice(projection);
            largest
        };
        let words = self.words();
        let mut other = vec![0.0; self.bits];
        project_row(given_out, x, &mut other);
        self.given_out.resize(self.len() * words, 0);
        signs(&other, &mut self.given_out[place * words..][..words]);
        self.stale = true;
        Some(place)
    }

    /// Updates the published codes to those of the newest weights.
    pub(super) fn give_out(&mut self) {
        self.given_out = self.newest_codes();
    }

    fn newest_codes(&self) -> Vec<u64> {
        let words = self.words();
        let mut codes = vec![0; self.len() * words];
        let projections = self.projections.chunks_exact(self.bits);
        codes.chunks_exact_mut(words).zip(projections).for_each(|(code, p)| signs(p, code));
        codes
    }

    /// Returns by how much the newest weights predict similarity better than the published weights.
    /// For each point, its Hamming distances to all points have a mutual information with
    /// similarity. The result is the difference of the means under the two weights.
    pub(super) fn gain(&self) -> f64 {
        self.information(&self.newest_codes()) - self.information(&self.given_out)
    }

    fn information(&self, codes: &[u64]) -> f64 {
        let (words, total) = (self.words(), self.len());
        let mut sets = LabelSets::default();
        let numbers: Vec<usize> = self.labels.iter().map(|labels| sets.number(labels)).collect();
        // Points of one label set are stored together, so that the points similar to a point form a
        // few ranges.
        let mut order: Vec<usize> = (0..total).collect();
        order.sort_by_key(|&point| numbers[point]);
        let sorted: Vec<u64> =
            order.iter().flat_map(|&point| &codes[point * words..][..words]).copied().collect();
        let mut ranges = vec![0..0; sets.len()];
        for (at, &point) in order.iter().enumerate() {
            let range = &mut ranges[numbers[point]];
            *range = if range.start == range.end { at..at + 1 } else { range.start..at + 1 };
        }
        let similar = |number: usize| {
            let labels = sets.labels(number);
            let shares = |other: &usize| share_a_label(labels, sets.labels(*other));
            (0..sets.len()).filter(shares).map(|other| ranges[other].clone()).collect()
        };
        let similar: Vec<Vec<Range<usize>>> = (0..sets.len()).map(similar).collect();
        // Table of c log2 c, from which entropies of counts are computed.
        let weighed: Vec<f64> = (0..=total)
            .map(|count| if count == 0 { 0.0 } else { count as f64 * (count as f64).log2() })
            .collect();
        let of_point = |room: &mut (Vec<u16>, Vec<u32>, Vec<u32>), point: usize| {
            let (out, all, near) = room;
            distances(&codes[point * words..][..words], &sorted, out);
            count(out, all);
            near.fill(0);
            let mut count = 0;
            for range in &similar[numbers[point]] {
                count += range.len();
                out[range.clone()].iter().for_each(|&distance| near[usize::from(distance)] += 1);
            }
            // The last bin holds the two largest distances.
            for counts in [&mut *all, &mut *near] {
                counts[self.bits - 1] += counts[self.bits];
            }
            let mut information = weighed[total] - weighed[count] - weighed[total - count];
            for (&all, &near) in all[..self.bits].iter().zip(&near[..self.bits]) {
                let of = |count: u32| weighed[count as usize];
                information += of(all - near) + of(near) - of(all);
            }
            (information / total as f64).max(0.0)
        };
        let room = || (vec![0; total], vec![0; self.bits + 1], vec![0; self.bits + 1]);
        let of_points: Vec<f64> =
            (0..total).into_par_iter().with_min_len(64).map_init(room, of_point).collect();
        of_points.iter().sum::<f64>() / total.max(1) as f64
    }

    pub(super) fn save(&self, name: &str, state: &mut Tensors) {
        let ends: Vec<usize> =
            self.labels.iter().map(Vec::as_slice).scan(0, running_total).collect();
        state.put(&format!("{name}.features"), self.dim, &self.features);
        state.put_places(&format!("{name}.label_ends"), &ends);
        state.put(&format!("{name}.labels"), 1, &self.labels.concat());
        state.put(&format!("{name}.keys"), 1, &self.keys);
        state.put(&format!("{name}.projections"), self.bits, &self.projections);
        state.put(&format!("{name}.given_out"), self.words(), &self.given_out);
    }

    pub(super) fn load(
        name: &str,
        dim: usize,
        bits: usize,
        room: usize,
        state: &mut Tensors,
    ) -> Loaded<Self> {
        let keys: Vec<f64> = state.take(&format!("{name}.keys"), 1)?;
        let count = keys.len();
        let features: Vec<f32> = state.take_rows(&format!("{name}.features"), count, dim)?;
        let projections: Vec<f32> = state.take_rows(&format!("{name}.projections"), count, bits)?;
        let ends = state.take_places(&format!("{name}.label_ends"))?;
        let values: Vec<u32> = state.take(&format!("{name}.labels"), 1)?;
        let labels = Labels::sets(&ends, &values).map_err(|error| error.to_string())?;
        Features::new(&features, dim).map_err(|error| format!("its reservoir: {error}"))?;
        if labels.len() != count || count > room {
            return Err("the arrays of its reservoir do not match".to_owned());
        }
        let labels = (0..count).map(|row| labels.row(row).to_vec()).collect();
        let reservoir = Reservoir::new(dim, bits, room);
        let words = reservoir.words();
        let given_out: Vec<u64> = state.take_rows(&format!("{name}.given_out"), count, words)?;
        // As in all codes, the bits beyond the last must be zero.
        let beyond = |code: &[u64]| !bits.is_multiple_of(64) && code[words - 1] >> (bits % 64) != 0;
        if given_out.chunks_exact(words).any(beyond) {
            return Err("the codes of its reservoir are longer than they should be".to_owned());
        }
        Ok(Reservoir { features, labels, keys, projections, given_out, ..reservoir })
    }
}

/// Counts how often each distance occurs. Four arrays take turns: equal distances often follow one
/// another, and a count that was just written is slow to read.
fn count(distances: &[u16], counts: &mut [u32]) {
    let mut parts = [[0u32; MAX_BITS + 1]; 4];
    let (fours, rest) = distances.as_chunks::<4>();
    for four in fours {
        for (part, &distance) in parts.iter_mut().zip(four) {
            part[usize::from(distance)] += 1;
        }
    }
    rest.iter().for_each(|&distance| parts[0][usize::from(distance)] += 1);
    for (at, count) in counts.iter_mut().enumerate() {
        *count = parts.iter().map(|part| part[at]).sum();
    }
}

/// Packs the signs of projections into a code.
fn signs(projections: &[f32], code: &mut [u64]) {
    code.fill(0);
    for (bit, &projection) in projections.iter().enumerate() {
        code[bit / 64] |= u64::from(projection > 0.0) << (bit % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn every_point_is_as_likely_to_stay_as_any_other() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut kept = [0; 40];
        for _ in 0..4000 {
            let mut reservoir = Reservoir::new(1, 1, 10);
            for at in 0..40 {
                reservoir.offer(&[at as f32], &[at], &[0.0], &[0.0], rng.random());
            }
            reservoir.features().iter().for_each(|x| kept[*x as usize] += 1);
        }
        // Each point stays in a quarter of the runs: 1000 times, give or take 27.
        assert!(kept.iter().all(|count| (850..1150).contains(count)), "{kept:?}");
    }

    /// The mean mutual information, computed by its definition.
    #[test]
    fn information_from_counts_is_that_of_the_histograms() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (bits, count) = (7, 25);
        let mut reservoir = Reservoir::new(2, bits, count);
        for _ in 0..count {
            let labels: Vec<u32> = (0..3).filter(|_| rng.random_bool(0.4)).collect();
            let projection: Vec<f32> = (0..bits).map(|_| rng.random_range(-1.0..1.0)).collect();
            let none = vec![0.0; 2 * bits];
            reservoir.offer(&[0.0, 0.0], &labels, &projection, &none, rng.random());
        }
        let mut expected = 0.0;
        for i in 0..count {
            let similar = reservoir.similar_to(&reservoir.labels[i]);
            let mut bins = vec![[0.0; 2]; bits];
            for j in 0..count {
                let of = |at: usize| &reservoir.projections[at * bits..][..bits];
                let differ = |(a, b): (&f32, &f32)| (*a > 0.0) != (*b > 0.0);
                let distance = of(i).iter().zip(of(j)).filter(|&pair| differ(pair)).count();
                bins[distance.min(bits - 1)][usize::from(similar[j])] += 1.0;
            }
            let entropy = |counts: Vec<f64>| -> f64 {
                let sum: f64 = counts.iter().sum();
                let part = |c: &f64| if *c > 0.0 { -c / sum * (c / sum).log2() } else { 0.0 };
                counts.iter().map(part).sum()
            };
            let near = similar.iter().filter(|&&s| s).count() as f64 / count as f64;
            let information = entropy(bins.iter().map(|b| b[0] + b[1]).collect())
                - near * entropy(bins.iter().map(|b| b[1]).collect())
                - (1.0 - near) * entropy(bins.iter().map(|b| b[0]).collect());
            expected += information.max(0.0) / count as f64;
        }
        assert!((reservoir.information(&reservoir.newest_codes()) - expected).abs() < 1e-9);
        let nothing = reservoir.information(&reservoir.given_out);
        assert!(nothing.abs() < 1e-9, "equal codes tell nothing: {nothing}");
        assert!((reservoir.gain() - expected).abs() < 1e-9);
        reservoir.give_out();
        assert!(reservoir.gain().abs() < 1e-12);
    }
}

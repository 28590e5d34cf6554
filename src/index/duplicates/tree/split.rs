//! Putting codes into a tree: split by the bit that parts them most evenly, again and again.

use rayon::prelude::*;

use crate::hamming;
use crate::index::scan::Sample;

/// Codes a bucket has at most, unless they are all the same...
const BUCKET: usize = 128;

/// ...or so alike that no bit divides them well: then it may have so many, since to split off a
/// few at a time makes many small buckets and rules out little.
const ALIKE: usize = 2048;

/// How often codes are split at most, where only a few fall away each time.
const DEEPEST: usize = 128;

/// Codes worth splitting on a thread of their own.
const WORTH_A_THREAD: usize = 1 << 15;

/// A tree under construction.
pub(super) struct Split {
    pub(super) count: usize,
    /// The bits that all codes have, and those that any has.
    pub(super) all: Vec<u64>,
    pub(super) any: Vec<u64>,
    pub(super) centre: Vec<u64>,
    /// How near to the centre the nearest is, and how far the farthest.
    pub(super) distances: (u16, u16),
    pub(super) halves: Option<Box<[Split; 2]>>,
}

impl Split {
    /// One tree of several, of which each is a cluster and nothing is known together.
    pub(super) fn of_all(mut trees: Vec<Split>, bits: usize) -> Split {
        trees.retain(|tree| tree.count > 0);
        while trees.len() > 1 {
            let mut joined = Vec::with_capacity(trees.len().div_ceil(2));
            let mut trees_left = trees.into_iter();
            while let Some(left) = trees_left.next() {
                joined.push(match trees_left.next() {
                    None => left,
                    Some(right) => Split {
                        count: left.count + right.count,
                        all: both(&left.all, &right.all, |left, right| left & right),
                        any: both(&left.any, &right.any, |left, right| left | right),
                        centre: left.centre.clone(),
                        distances: (0, bits as u16),
                        halves: Some(Box::new([left, right])),
                    },
                });
            }
            trees = joined;
        }
        let nothing = || Split {
            count: 0,
            all: Vec::new(),
            any: Vec::new(),
            centre: Vec::new(),
            distances: (0, 0),
            halves: None,
        };
        trees.pop().unwrap_or_else(nothing)
    }
}

fn both(left: &[u64], right: &[u64], with: fn(u64, u64) -> u64) -> Vec<u64> {
    left.iter().zip(right).map(|(left, right)| with(*left, *right)).collect()
}

/// A tree for each cluster of codes that stand together.
pub(super) fn split_clusters(
    codes: &mut [u64],
    slots: &mut [u32],
    width: usize,
    ends: &[usize],
) -> Vec<Split> {
    let (mut clusters, mut codes, mut slots, mut start) = (Vec::new(), codes, slots, 0);
    for &end in ends {
        let (cluster, rest) = codes.split_at_mut((end - start) * width);
        let (cluster_slots, rest_slots) = slots.split_at_mut(end - start);
        clusters.push((cluster, cluster_slots));
        (codes, slots, start) = (rest, rest_slots, end);
    }
    clusters.into_par_iter().map(|(codes, slots)| split(codes, slots, width, 0)).collect()
}

/// Orders codes, and their slots with them, into a tree.
pub(super) fn split(codes: &mut [u64], slots: &mut [u32], width: usize, depth: usize) -> Split {
    let count = slots.len();
    let sample = Sample::new(codes, width);
    let centre = sample.centre();
    let mut distances = (u16::MAX, 0);
    for code in codes.chunks_exact(width) {
        let distance = hamming(code, &centre) as u16;
        distances = (distances.0.min(distance), distances.1.max(distance));
    }
    let divisible = count > BUCKET && depth < DEEPEST;
    let bit = if divisible { dividing_bit(&sample, codes, width) } else { None };
    let Some(bit) = bit else {
        let (mut all, mut any) = (vec![u64::MAX; width], vec![0; width]);
        for code in codes.chunks_exact(width) {
            all.iter_mut().zip(code).for_each(|(all, code)| *all &= code);
            any.iter_mut().zip(code).for_each(|(any, code)| *any |= code);
        }
        return Split { count, all, any, centre, distances, halves: None };
    };
    let is_set = |codes: &[u64], at: usize| codes[at * width + bit / 64] >> (bit % 64) & 1 == 1;
    let (mut low, mut high) = (0, count);
    while low < high {
        if !is_set(codes, low) {
            low += 1;
        } else {
            high -= 1;
            slots.swap(low, high);
            (0..width).for_each(|word| codes.swap(low * width + word, high * width + word));
        }
    }
    let (left, right) = codes.split_at_mut(low * width);
    let (left_slots, right_slots) = slots.split_at_mut(low);
    let (left, right) = if count > WORTH_A_THREAD {
        rayon::join(
            || split(left, left_slots, width, depth + 1),
            || split(right, right_slots, width, depth + 1),
        )
    } else {
        (split(left, left_slots, width, depth + 1), split(right, right_slots, width, depth + 1))
    };
    let all = both(&left.all, &right.all, |left, right| left & right);
    let any = both(&left.any, &right.any, |left, right| left | right);
    Split { count, all, any, centre, distances, halves: Some(Box::new([left, right])) }
}

/// The bit that parts the codes most evenly; `None` if they are all the same, or few and alike.
fn dividing_bit(sample: &Sample, codes: &[u64], width: usize) -> Option<usize> {
    let evenness = |ones: usize| ones.min(sample.size - ones);
    let most = sample.ones.iter().map(|&ones| evenness(ones)).max()?;
    // The first of those that are about as good: nodes that were split by the same bits can be
    // told apart by them.
    let best = sample.ones.iter().position(|&ones| 4 * evenness(ones) >= 3 * most)?;
    if codes.len() / width <= ALIKE && 8 * evenness(sample.ones[best]) < sample.size {
        return None;
    }
    if evenness(sample.ones[best]) > 0 {
        return Some(best);
    }
    // All of the sample are the same; another may not be.
    let first = &codes[..width];
    let other = codes.chunks_exact(width).find(|code| *code != first)?;
    let word = first.iter().zip(other).position(|(first, other)| first != other)?;
    Some(64 * word + (first[word] ^ other[word]).trailing_zeros() as usize)
}

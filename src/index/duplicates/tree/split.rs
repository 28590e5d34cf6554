//! Building of a tree: codes are split repeatedly by the bit that splits them most evenly.

use rayon::prelude::*;

use crate::hamming;
use crate::index::scan::Sample;

/// Maximum number of codes in a bucket, unless they are all the same, or so similar that [`ALIKE`]
/// applies.
const BUCKET: usize = 128;

/// Maximum number of codes in a bucket if no bit divides them well. Splitting off a few codes at a
/// time would make many small buckets and rule out little.
const ALIKE: usize = 2048;

/// Maximum depth of a tree, in case each split separates only a few codes.
const DEEPEST: usize = 128;

/// Number of codes above which a separate thread pays off.
const WORTH_A_THREAD: usize = 1 << 15;

/// A tree under construction.
pub(super) struct Split {
    pub(super) count: usize,
    /// Bits that are set in all codes, and bits that are set in at least one code.
    pub(super) all: Vec<u64>,
    pub(super) any: Vec<u64>,
    pub(super) centre: Vec<u64>,
    /// Distances of the nearest and the farthest code from the centre.
    pub(super) distances: (u16, u16),
    pub(super) halves: Option<Box<[Split; 2]>>,
}

impl Split {
    /// Joins several trees, each of one cluster, into one tree. Joined nodes have no bound by
    /// distances from a centre.
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

/// Builds a tree for each cluster; the codes of a cluster are consecutive.
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

/// Reorders codes, together with their slots, into a tree.
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

/// Returns a bit that splits the codes about as evenly as possible; `None` if they are all the
/// same, or few and similar.
fn dividing_bit(sample: &Sample, codes: &[u64], width: usize) -> Option<usize> {
    let evenness = |ones: usize| ones.min(sample.size - ones);
    let most = sample.ones.iter().map(|&ones| evenness(ones)).max()?;
    // Chooses the first bit that is about as good as the best. Different nodes are then split by
    // the same bits, which distinguish their codes.
    let best = sample.ones.iter().position(|&ones| 4 * evenness(ones) >= 3 * most)?;
    if codes.len() / width <= ALIKE && 8 * evenness(sample.ones[best]) < sample.size {
        return None;
    }
    if evenness(sample.ones[best]) > 0 {
        return Some(best);
    }
    // All codes of the sample are the same, but another code may differ.
    let first = &codes[..width];
    let other = codes.chunks_exact(width).find(|code| *code != first)?;
    let word = first.iter().zip(other).position(|(first, other)| first != other)?;
    Some(64 * word + (first[word] ^ other[word]).trailing_zeros() as usize)
}

//! Search within a radius below linear cost: a tree of codes that agree in some bits.
//!
//! Codes are split by the bit that parts them most evenly, again and again, down to buckets of some
//! hundred. Every node rules out queries in two ways. It knows the bits in which all codes below it
//! agree: who differs in more of them than the radius cannot find anything there. And it knows a
//! code in their middle, and how near and how far from it they are: who is farther from the middle
//! than the farthest of them by more than the radius, or nearer than the nearest, cannot either.
//! The first is good for random codes, where it is the bits that were split by; the second for those
//! that supervised hashing makes, where each class is a ball and whole balls fall away at once. Such
//! balls are found first, since splitting by bits would scatter each of them over the whole tree.

pub(super) mod groups;
mod leaders;
pub(super) mod pieces;
mod union;

use std::sync::OnceLock;

use rayon::prelude::*;

use self::leaders::Leaders;
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, hit, parts};

pub(super) struct Buckets {
    layout: Layout,
    /// In depth-first order, each before its first child.
    nodes: Vec<Node>,
    /// For each node the bits in which all its codes agree, what they are there, and a code in their
    /// middle.
    masks: Vec<u64>,
    /// Codes in the order of the buckets, each of which begins a group.
    words: Lines,
    /// Their slots.
    slots: Vec<u32>,
    pays: Vec<OnceLock<bool>>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The node after all that are below this one.
    skip: u32,
    /// How many codes are below it, and where in the order they begin.
    count: u32,
    start: u32,
    /// Where a bucket's codes stand; inner nodes have none.
    group: Option<u32>,
    /// How near to the middle the nearest is, and how far the farthest.
    nearest: u16,
    farthest: u16,
}

/// Codes a bucket has at most, unless they are all the same...
const BUCKET: usize = 128;

/// ...or so alike that no bit divides them well: then it may have so many, since to split off a
/// few at a time makes many small buckets and rules out little.
const ALIKE: usize = 2048;

/// How often codes are split at most, where only a few fall away each time.
const DEEPEST: usize = 128;

/// Codes looked at to find the bit to split by.
const SAMPLE: usize = 256;

/// Codes worth splitting on a thread of their own.
const WORTH_A_THREAD: usize = 1 << 15;

/// Up to which radius it is asked whether the structure pays.
const RADII: usize = 33;

impl Buckets {
    /// Segments with fewer items are scanned in no time.
    pub(super) const LEAST_ITEMS: usize = 1 << 13;
    /// What it takes to build, in comparisons per code.
    pub(super) const COST: u64 = 1 << 10;

    /// Of codes one after the other, as words.
    pub(super) fn build(kernel: Kernel, layout: Layout, mut codes: Vec<u64>) -> Self {
        let width = layout.code_words();
        let count = codes.len() / width;
        let mut slots: Vec<u32> = (0..count as u32).collect();
        let tree = match Leaders::find(layout, &codes) {
            None => split(&mut codes, &mut slots, width, 0),
            Some(leaders) => {
                let ends = leaders.sort(kernel, &mut codes, &mut slots);
                let balls = split_balls(&mut codes, &mut slots, width, &ends);
                Tree::of_all(balls, layout.bits())
            }
        };
        let mut buckets = Buckets {
            layout,
            nodes: Vec::new(),
            masks: Vec::new(),
            words: Lines::with_capacity(layout.words(count) * 17 / 16),
            slots,
            pays: (0..RADII).map(|_| OnceLock::new()).collect(),
        };
        buckets.flatten(&tree, &codes, 0);
        buckets
    }

    pub(super) fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + 8 * (self.masks.capacity() + self.words.capacity())
            + 4 * self.slots.capacity()
    }

    fn width(&self) -> usize {
        self.layout.code_words()
    }

    /// Appends a tree whose first code is number `start`.
    fn flatten(&mut self, tree: &Tree, codes: &[u64], start: usize) {
        let (at, width) = (self.nodes.len(), self.width());
        let (nearest, farthest) = tree.distances;
        let (count, start_at) = (tree.count as u32, start as u32);
        self.nodes.push(Node { skip: 0, count, start: start_at, group: None, nearest, farthest });
        self.masks.extend(tree.all.iter().zip(&tree.any).map(|(all, any)| !(all ^ any)));
        self.masks.extend_from_slice(&tree.all);
        self.masks.extend_from_slice(&tree.middle);
        match &tree.halves {
            Some(halves) => {
                self.flatten(&halves[0], codes, start);
                self.flatten(&halves[1], codes, start + halves[0].count);
            }
            None => {
                let lanes = 8 * width;
                let place = self.words.len();
                self.nodes[at].group = Some((place / lanes) as u32);
                self.words.resize(place + self.layout.words(tree.count));
                for (number, code) in
                    codes[start * width..][..tree.count * width].chunks_exact(width).enumerate()
                {
                    self.layout.put(&mut self.words[place..], number, code);
                }
            }
        }
        self.nodes[at].skip = self.nodes.len() as u32;
    }

    /// The bits in which a node's codes agree, what they are there, and the middle.
    fn masks(&self, node: usize) -> [&[u64]; 3] {
        let width = self.width();
        let masks = &self.masks[3 * node * width..][..3 * width];
        [&masks[..width], &masks[width..2 * width], &masks[2 * width..]]
    }

    /// How far a code is from all codes of a node at least.
    fn bound(&self, node: usize, code: &[u64]) -> u32 {
        let [agreed, value, middle] = self.masks(node);
        let Node { nearest, farthest, .. } = self.nodes[node];
        let (mut differ, mut distance) = (0, 0);
        for (word, code) in code.iter().enumerate() {
            differ += ((code ^ value[word]) & agreed[word]).count_ones();
            distance += (code ^ middle[word]).count_ones();
        }
        let beyond = distance.saturating_sub(farthest.into());
        let within = u32::from(nearest).saturating_sub(distance);
        differ.max(beyond).max(within)
    }

    /// How far apart the codes of two nodes are at least.
    fn bound_between(&self, left: usize, right: usize) -> u32 {
        let ([agreed, value, middle], [other, other_value, other_middle]) =
            (self.masks(left), self.masks(right));
        let (mut differ, mut distance) = (0, 0);
        for word in 0..self.width() {
            let both = agreed[word] & other[word];
            differ += (both & (value[word] ^ other_value[word])).count_ones();
            distance += (middle[word] ^ other_middle[word]).count_ones();
        }
        let (one, two) = (self.nodes[left], self.nodes[right]);
        differ.max(distance.saturating_sub(u32::from(one.farthest) + u32::from(two.farthest)))
    }

    /// The codes of a bucket; their numbers are their places in it.
    fn run(&self, node: Node) -> Option<Run<'_>> {
        let words = &self.words[node.group? as usize * 8 * self.width()..];
        Some(Run { words, count: node.count as usize, first: 0, chosen: None })
    }

    /// Calls with every bucket that a code may have something within the radius in.
    fn visit(&self, code: &[u64], radius: u32, mut call: impl FnMut(Node, Run<'_>)) {
        let mut at = 0;
        while at < self.nodes.len() {
            let node = self.nodes[at];
            if self.bound(at, code) > radius {
                at = node.skip as usize;
                continue;
            }
            if let Some(run) = self.run(node) {
                call(node, run);
            }
            at += 1;
        }
    }

    /// Appends all codes up to a distance, which is included; in no order.
    pub(super) fn within(&self, kernel: Kernel, code: &[u64], radius: u32, hits: &mut Vec<u64>) {
        self.visit(code, radius, |node, run| {
            let before = hits.len();
            kernel.scan(self.layout, code, run, radius + 1, hits);
            for found in &mut hits[before..] {
                let (distance, number) = parts(*found);
                *found = hit(distance, self.slots[(node.start + number) as usize]);
            }
        });
    }

    /// Whether a search by buckets is faster than a scan, judged by some of the codes themselves:
    /// a code in a bucket costs about four times one of a scan.
    pub(super) fn pay(&self, radius: u32) -> bool {
        let Some(pays) = self.pays.get(radius as usize) else { return false };
        *pays.get_or_init(|| {
            let leaves: Vec<&Node> =
                self.nodes.iter().filter(|node| node.group.is_some()).collect();
            let (mut seen, mut asked) = (0u64, 0u64);
            let mut code = vec![0; self.width()];
            for node in leaves.iter().step_by(leaves.len().div_ceil(32).max(1)) {
                let Some(run) = self.run(**node) else { continue };
                self.layout.get(run.words, 0, &mut code);
                asked += self.slots.len() as u64;
                self.visit(&code, radius, |_, run| seen += run.count as u64);
            }
            4 * seen < asked
        })
    }
}

/// A tree under construction.
struct Tree {
    count: usize,
    /// The bits that all codes have, and those that any has.
    all: Vec<u64>,
    any: Vec<u64>,
    middle: Vec<u64>,
    /// How near to the middle the nearest is, and how far the farthest.
    distances: (u16, u16),
    halves: Option<Box<[Tree; 2]>>,
}

impl Tree {
    /// One tree of several, of which each is a ball and nothing is known together.
    fn of_all(mut trees: Vec<Tree>, bits: usize) -> Tree {
        trees.retain(|tree| tree.count > 0);
        while trees.len() > 1 {
            let mut joined = Vec::with_capacity(trees.len().div_ceil(2));
            let mut trees_left = trees.into_iter();
            while let Some(left) = trees_left.next() {
                joined.push(match trees_left.next() {
                    None => left,
                    Some(right) => Tree {
                        count: left.count + right.count,
                        all: both(&left.all, &right.all, |left, right| left & right),
                        any: both(&left.any, &right.any, |left, right| left | right),
                        middle: left.middle.clone(),
                        distances: (0, bits as u16),
                        halves: Some(Box::new([left, right])),
                    },
                });
            }
            trees = joined;
        }
        let nothing = || Tree {
            count: 0,
            all: Vec::new(),
            any: Vec::new(),
            middle: Vec::new(),
            distances: (0, 0),
            halves: None,
        };
        trees.pop().unwrap_or_else(nothing)
    }
}

fn both(left: &[u64], right: &[u64], with: fn(u64, u64) -> u64) -> Vec<u64> {
    left.iter().zip(right).map(|(left, right)| with(*left, *right)).collect()
}

/// A tree for each ball of codes that stand together.
fn split_balls(codes: &mut [u64], slots: &mut [u32], width: usize, ends: &[usize]) -> Vec<Tree> {
    let (mut balls, mut codes, mut slots, mut start) = (Vec::new(), codes, slots, 0);
    for &end in ends {
        let (ball, rest) = codes.split_at_mut((end - start) * width);
        let (ball_slots, rest_slots) = slots.split_at_mut(end - start);
        balls.push((ball, ball_slots));
        (codes, slots, start) = (rest, rest_slots, end);
    }
    balls.into_par_iter().map(|(codes, slots)| split(codes, slots, width, 0)).collect()
}

/// Orders codes, and their slots with them, into a tree.
fn split(codes: &mut [u64], slots: &mut [u32], width: usize, depth: usize) -> Tree {
    let count = slots.len();
    let sample = Sample::new(codes, width);
    let middle = sample.middle();
    let mut distances = (u16::MAX, 0);
    for code in codes.chunks_exact(width) {
        let distance = hamming(code, &middle) as u16;
        distances = (distances.0.min(distance), distances.1.max(distance));
    }
    let divisible = count > BUCKET && depth < DEEPEST;
    let bit = if divisible { sample.dividing_bit(codes, width) } else { None };
    let Some(bit) = bit else {
        let (mut all, mut any) = (vec![u64::MAX; width], vec![0; width]);
        for code in codes.chunks_exact(width) {
            all.iter_mut().zip(code).for_each(|(all, code)| *all &= code);
            any.iter_mut().zip(code).for_each(|(any, code)| *any |= code);
        }
        return Tree { count, all, any, middle, distances, halves: None };
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
    Tree { count, all, any, middle, distances, halves: Some(Box::new([left, right])) }
}

/// How often each bit is set in some of the codes.
struct Sample {
    size: usize,
    ones: Vec<usize>,
}

impl Sample {
    fn new(codes: &[u64], width: usize) -> Self {
        let step = (codes.len() / width).div_ceil(SAMPLE).max(1);
        let (mut size, mut ones) = (0, vec![0usize; 64 * width]);
        for code in codes.chunks_exact(width).step_by(step) {
            size += 1;
            for (word, ones) in code.iter().zip(ones.chunks_exact_mut(64)) {
                let bits = ones.iter_mut().enumerate();
                bits.for_each(|(bit, ones)| *ones += (word >> bit & 1) as usize);
            }
        }
        Sample { size, ones }
    }

    /// The code with each bit as most have it.
    fn middle(&self) -> Vec<u64> {
        let word = |ones: &[usize]| {
            let bits = ones.iter().enumerate();
            bits.fold(0, |word, (bit, &ones)| word | u64::from(2 * ones > self.size) << bit)
        };
        self.ones.chunks_exact(64).map(word).collect()
    }

    /// The bit that parts the codes most evenly; `None` if they are all the same, or few and alike.
    fn dividing_bit(&self, codes: &[u64], width: usize) -> Option<usize> {
        let evenness = |ones: usize| ones.min(self.size - ones);
        let most = self.ones.iter().map(|&ones| evenness(ones)).max()?;
        // The first of those that are about as good: nodes that were split by the same bits can be
        // told apart by them.
        let best = self.ones.iter().position(|&ones| 4 * evenness(ones) >= 3 * most)?;
        if codes.len() / width <= ALIKE && 8 * evenness(self.ones[best]) < self.size {
            return None;
        }
        if evenness(self.ones[best]) > 0 {
            return Some(best);
        }
        // All of the sample are the same; another may not be.
        let first = &codes[..width];
        let other = codes.chunks_exact(width).find(|code| *code != first)?;
        let word = first.iter().zip(other).position(|(first, other)| first != other)?;
        Some(64 * word + (first[word] ^ other[word]).trailing_zeros() as usize)
    }
}

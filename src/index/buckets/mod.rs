//! Search within a radius below linear cost: a tree of codes that agree in some bits.
//!
//! Codes are split by the bit that parts them most evenly, again and again, down to buckets of some
//! hundred. Every node knows the bits in which all codes below it agree; a query that differs in
//! more of them than the radius cannot find anything there. In codes that supervised hashing
//! makes, most of what is far is in other classes and agrees in many bits that the query has not,
//! so whole classes fall away at once. In random codes the bits that were split by do the same.

pub(super) mod groups;

use std::sync::OnceLock;

use crate::kernel::{Kernel, Layout, Lines, Run, hit, parts};

pub(super) struct Buckets {
    layout: Layout,
    /// In depth-first order, each before its first child.
    nodes: Vec<Node>,
    /// For each node the bits in which all its codes agree, and what they are there.
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
}

/// Codes a bucket has at most, unless they are all the same.
const BUCKET: usize = 128;

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

    pub(super) fn build(layout: Layout, words: &[u64], count: usize) -> Self {
        let width = layout.code_words();
        let mut codes = vec![0; count * width];
        for (at, code) in codes.chunks_exact_mut(width).enumerate() {
            layout.get(words, at, code);
        }
        let mut slots: Vec<u32> = (0..count as u32).collect();
        let tree = split(&mut codes, &mut slots, width);
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
        self.nodes.push(Node { skip: 0, count: tree.count as u32, start: start as u32, group: None });
        self.masks.extend(tree.all.iter().zip(&tree.any).map(|(all, any)| !(all ^ any)));
        self.masks.extend_from_slice(&tree.all);
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

    fn masks(&self, node: usize) -> (&[u64], &[u64]) {
        self.masks[2 * node * self.width()..][..2 * self.width()].split_at(self.width())
    }

    /// In how many bits a code differs from all codes of a node.
    fn bound(&self, node: usize, code: &[u64]) -> u32 {
        let (agreed, value) = self.masks(node);
        let words = code.iter().zip(agreed).zip(value);
        words.map(|((code, agreed), value)| ((code ^ value) & agreed).count_ones()).sum()
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
            let leaves: Vec<&Node> = self.nodes.iter().filter(|node| node.group.is_some()).collect();
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
    halves: Option<Box<[Tree; 2]>>,
}

/// Orders codes, and their slots with them, into a tree.
fn split(codes: &mut [u64], slots: &mut [u32], width: usize) -> Tree {
    let count = slots.len();
    let bit = if count > BUCKET { dividing_bit(codes, width) } else { None };
    let Some(bit) = bit else {
        let (mut all, mut any) = (vec![u64::MAX; width], vec![0; width]);
        for code in codes.chunks_exact(width) {
            all.iter_mut().zip(code).for_each(|(all, code)| *all &= code);
            any.iter_mut().zip(code).for_each(|(any, code)| *any |= code);
        }
        return Tree { count, all, any, halves: None };
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
        rayon::join(|| split(left, left_slots, width), || split(right, right_slots, width))
    } else {
        (split(left, left_slots, width), split(right, right_slots, width))
    };
    let both = |of: fn(&Tree) -> &Vec<u64>, with: fn(u64, u64) -> u64| -> Vec<u64> {
        of(&left).iter().zip(of(&right)).map(|(left, right)| with(*left, *right)).collect()
    };
    let all = both(|tree| &tree.all, |left, right| left & right);
    let any = both(|tree| &tree.any, |left, right| left | right);
    Tree { count, all, any, halves: Some(Box::new([left, right])) }
}

/// The bit that parts the codes most evenly; `None` if they are all the same.
fn dividing_bit(codes: &[u64], width: usize) -> Option<usize> {
    let count = codes.len() / width;
    let sample: Vec<&[u64]> =
        codes.chunks_exact(width).step_by(count.div_ceil(SAMPLE).max(1)).collect();
    let mut ones = vec![0usize; 64 * width];
    for code in &sample {
        for (word, ones) in code.iter().zip(ones.chunks_exact_mut(64)) {
            ones.iter_mut().enumerate().for_each(|(bit, ones)| *ones += (word >> bit & 1) as usize);
        }
    }
    let evenness = |ones: usize| ones.min(sample.len() - ones);
    let best = (0..ones.len()).max_by_key(|&bit| (evenness(ones[bit]), usize::MAX - bit))?;
    if evenness(ones[best]) > 0 {
        return Some(best);
    }
    // All of the sample are the same; another may not be.
    let first = &codes[..width];
    let other = codes.chunks_exact(width).find(|code| *code != first)?;
    let word = first.iter().zip(other).position(|(first, other)| first != other)?;
    Some(64 * word + (first[word] ^ other[word]).trailing_zeros() as usize)
}

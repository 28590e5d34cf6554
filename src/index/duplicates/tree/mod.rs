//! Codes near one another below linear cost: a tree of codes that agree in some bits.
//!
//! Codes are split by the bit that parts them most evenly, again and again, down to buckets of some
//! hundred. Every node rules out queries in two ways. It knows the bits in which all codes below it
//! agree: a query that differs in more of these bits than the radius finds nothing below it. And it knows a
//! code in their centre, and how near to it the nearest and how far the farthest is: a query that is farther
//! than the farthest by more than the radius, or nearer than the nearest by more, finds nothing either.
//! The first is good for random codes, where it is the bits that were split by; the second for those
//! that supervised hashing makes, where each class is a cluster and whole clusters fall away at once.

mod split;

use std::ops::Range;

use self::split::{Split, split, split_clusters};
use crate::index::scan::Centres;
use crate::kernel::{Kernel, Layout, Lines, Run};

/// Codes that are moved at a time.
const PART: usize = 1 << 20;

/// Codes in buckets, below nodes that rule out queries.
pub(super) struct Tree {
    pub(super) layout: Layout,
    /// In depth-first order, each before its first child.
    pub(super) nodes: Vec<Node>,
    /// For each node the bits in which all its codes agree, what they are there, and a code in their
    /// centre.
    masks: Vec<u64>,
    /// Codes in the order of the buckets; a code's place in it is its number.
    pub(super) words: Lines,
    /// Their slots.
    pub(super) slots: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The node after all that are below this one.
    pub(super) skip: u32,
    /// How many codes are below it, and the number of the first.
    pub(super) count: u32,
    pub(super) start: u32,
    /// Whether no nodes are below it.
    pub(super) is_bucket: bool,
    /// How near to the centre the nearest is, and how far the farthest.
    nearest: u16,
    farthest: u16,
}

impl Node {
    pub(super) fn numbers(self) -> Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }
}

impl Tree {
    /// Of codes one after the other, as words.
    ///
    /// Where there are clusters, they are found first, since splitting by bits would scatter each of
    /// them over the whole tree.
    pub(super) fn build(
        kernel: Kernel,
        layout: Layout,
        mut codes: Vec<u64>,
        centres: Option<Centres>,
    ) -> Self {
        let width = layout.code_words();
        let count = codes.len() / width;
        let (slots, split) = match centres {
            None => {
                let mut slots: Vec<u32> = (0..count as u32).collect();
                let split = split(&mut codes, &mut slots, width, 0);
                (slots, split)
            }
            Some(centres) => {
                let (mut slots, ends) = centres.sort(kernel, &mut codes);
                let clusters = split_clusters(&mut codes, &mut slots, width, &ends);
                (slots, Split::of_all(clusters, layout.bits()))
            }
        };
        let mut tree = Tree {
            layout,
            nodes: Vec::new(),
            masks: Vec::new(),
            words: Lines::with_capacity(layout.words(count)),
            slots,
        };
        tree.flatten(&split, 0);
        drop(split);
        // In parts, so that memory for all codes is never taken twice.
        let mut done = 0;
        while !codes.is_empty() {
            let part = codes.len().min(PART * width);
            let end = done + part / width;
            tree.words.resize(layout.words(end));
            for (number, code) in (done..).zip(codes[..part].chunks_exact(width)) {
                layout.put(&mut tree.words, number, code);
            }
            codes.drain(..part);
            codes.shrink_to_fit();
            done = end;
        }
        tree
    }

    fn width(&self) -> usize {
        self.layout.code_words()
    }

    /// Appends the nodes of a split whose first code is number `start`.
    fn flatten(&mut self, split: &Split, start: usize) {
        let at = self.nodes.len();
        let (nearest, farthest) = split.distances;
        self.nodes.push(Node {
            skip: 0,
            count: split.count as u32,
            start: start as u32,
            is_bucket: split.halves.is_none(),
            nearest,
            farthest,
        });
        self.masks.extend(split.all.iter().zip(&split.any).map(|(all, any)| !(all ^ any)));
        self.masks.extend_from_slice(&split.all);
        self.masks.extend_from_slice(&split.centre);
        if let Some(halves) = &split.halves {
            self.flatten(&halves[0], start);
            self.flatten(&halves[1], start + halves[0].count);
        }
        self.nodes[at].skip = self.nodes.len() as u32;
    }

    /// The bits in which a node's codes agree, what they are there, and the centre.
    pub(super) fn masks(&self, node: usize) -> [&[u64]; 3] {
        let width = self.width();
        let masks = &self.masks[3 * node * width..][..3 * width];
        [&masks[..width], &masks[width..2 * width], &masks[2 * width..]]
    }

    /// How far a code is from all codes of a node at least.
    pub(super) fn bound(&self, node: usize, code: &[u64]) -> u32 {
        let [agreed, value, centre] = self.masks(node);
        let Node { nearest, farthest, .. } = self.nodes[node];
        let (mut differ, mut distance) = (0, 0);
        for (word, code) in code.iter().enumerate() {
            differ += ((code ^ value[word]) & agreed[word]).count_ones();
            distance += (code ^ centre[word]).count_ones();
        }
        let beyond = distance.saturating_sub(farthest.into());
        let within = u32::from(nearest).saturating_sub(distance);
        differ.max(beyond).max(within)
    }

    /// How far apart the codes of two nodes are at least.
    pub(super) fn bound_between(&self, left: usize, right: usize) -> u32 {
        let ([agreed, value, centre], [other, other_value, other_centre]) =
            (self.masks(left), self.masks(right));
        let (mut differ, mut distance) = (0, 0);
        for word in 0..self.width() {
            let both = agreed[word] & other[word];
            differ += (both & (value[word] ^ other_value[word])).count_ones();
            distance += (centre[word] ^ other_centre[word]).count_ones();
        }
        let (one, two) = (self.nodes[left], self.nodes[right]);
        differ.max(distance.saturating_sub(u32::from(one.farthest) + u32::from(two.farthest)))
    }

    /// Codes by their numbers, of which some before the first come along: runs begin with whole
    /// groups.
    pub(super) fn run(&self, numbers: Range<usize>) -> Run<'_> {
        let first = numbers.start & !15;
        Run {
            words: &self.words[self.layout.words(first)..],
            count: numbers.end - first,
            first: first as u32,
            mask: None,
        }
    }
}

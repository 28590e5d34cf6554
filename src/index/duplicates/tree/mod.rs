//! Search for near codes at less than linear cost: a tree of codes that agree in some bits.
//!
//! Codes are split repeatedly by the bit that splits them most evenly, down to buckets of about a
//! hundred codes. Every node rules out queries by two bounds:
//!
//! - The bits in which all codes below the node agree. A query that differs in more of these bits
//!   than the radius has no hits below the node.
//! - A code in the centre, and the distances of the nearest and the farthest code from it. A query
//!   has no hits if its distance from the centre exceeds the farthest, or is below the nearest, by
//!   more than the radius.
//!
//! The first bound suits random codes, whose common bits are those that they were split by. The
//! second bound suits codes of supervised hashing, where each class is a cluster and whole clusters
//! are ruled out at once.

mod split;

use std::ops::Range;

use self::split::{Split, split, split_clusters};
use crate::index::scan::Centres;
use crate::kernel::{Kernel, Layout, Lines, Run};

/// Number of codes that are moved at a time.
const PART: usize = 1 << 20;

/// Codes in buckets, below nodes that rule out queries.
pub(super) struct Tree {
    pub(super) layout: Layout,
    /// Nodes in depth-first order, each before its first child.
    pub(super) nodes: Vec<Node>,
    /// For each node: the bits in which all its codes agree, the values of these bits, and a code
    /// in the centre.
    masks: Vec<u64>,
    /// Codes in the order of the buckets; the number of a code is its position in this order.
    pub(super) words: Lines,
    /// Slots of the codes.
    pub(super) slots: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Number of the node after all nodes below this one.
    pub(super) skip: u32,
    /// Count of codes below the node, and the number of the first of these codes.
    pub(super) count: u32,
    pub(super) start: u32,
    /// True if no nodes are below this one.
    pub(super) is_bucket: bool,
    /// Distances of the nearest and the farthest code from the centre.
    nearest: u16,
    farthest: u16,
}

impl Node {
    pub(super) fn numbers(self) -> Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }
}

impl Tree {
    /// Builds the tree of codes, given one after the other as words.
    ///
    /// With centres, codes are sorted into clusters first, because splitting by bits would scatter
    /// each cluster over the whole tree.
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
        // Codes are moved in parts, so that memory for all codes is never allocated twice.
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

    /// Returns the bits in which a node's codes agree, the values of these bits, and the centre.
    pub(super) fn masks(&self, node: usize) -> [&[u64]; 3] {
        let width = self.width();
        let masks = &self.masks[3 * node * width..][..3 * width];
        [&masks[..width], &masks[width..2 * width], &masks[2 * width..]]
    }

    /// Returns a lower bound of the distances of a code from all codes of a node.
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

    /// Returns a lower bound of the distances between the codes of two nodes.
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

    /// Returns the run of codes with these numbers. It may include codes before the first, because
    /// runs begin with whole groups.
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

//! Disjoint sets that many threads join at once.

use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers in disjoint sets; at first each number is alone in its set.
pub(super) struct Union {
    /// For each number, a smaller number of the same set; for the smallest number, itself.
    parents: Vec<AtomicU32>,
}

impl Union {
    pub(super) fn new(count: usize) -> Self {
        Union { parents: (0..count as u32).map(AtomicU32::new).collect() }
    }

    /// Returns the smallest number of a set. If other threads join sets at the same time, the
    /// result may be outdated.
    pub(super) fn root(&self, mut number: u32) -> u32 {
        loop {
            let parent = self.parents[number as usize].load(Ordering::Relaxed);
            if parent == number {
                return number;
            }
            // Path halving: the next search from this number takes half as many steps.
            let above = self.parents[parent as usize].load(Ordering::Relaxed);
            self.parents[number as usize].fetch_min(above, Ordering::Relaxed);
            number = above;
        }
    }

    pub(super) fn join(&self, left: u32, right: u32) {
        let (mut left, mut right) = (self.root(left), self.root(right));
        while left != right {
            let (small, large) = (left.min(right), left.max(right));
            let parent = &self.parents[large as usize];
            let swap = parent.compare_exchange(large, small, Ordering::Relaxed, Ordering::Relaxed);
            if swap.is_ok() {
                return;
            }
            (left, right) = (self.root(small), self.root(large));
        }
    }

    /// Returns the sets of at least two numbers, each as the slots of its numbers, ascending.
    pub(super) fn groups(self, slot: impl Fn(u32) -> u32) -> Vec<Vec<u32>> {
        let numbers = 0..self.parents.len() as u32;
        // Roots with at least one other number in their set.
        let mut joined = vec![0u64; self.parents.len().div_ceil(64)];
        for number in numbers.clone() {
            let root = self.root(number);
            if root != number {
                joined[root as usize / 64] |= 1 << (root % 64);
            }
        }
        let is_joined = |number: u32| joined[number as usize / 64] >> (number % 64) & 1 == 1;
        let mut members: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            let root = self.root(number);
            if root != number || is_joined(number) {
                members.push((root, slot(number)));
            }
        }
        members.sort_unstable();
        let sets = members.chunk_by(|left, right| left.0 == right.0);
        let mut groups: Vec<Vec<u32>> =
            sets.map(|set| set.iter().map(|&(_, slot)| slot).collect()).collect();
        groups.sort_unstable();
        groups
    }
}

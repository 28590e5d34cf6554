//! Groups of near-duplicates: what hangs together when all within a radius are joined.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::{Buckets, Kernel, Node, parts};

/// Pairs of codes worth a thread of their own.
const WORTH_A_THREAD: u64 = 1 << 20;

/// The groups of at least two codes that hang together, each by its slots, ascending.
pub(in crate::index) fn join(buckets: &Buckets, kernel: Kernel, radius: u32) -> Vec<Vec<u32>> {
    let count = buckets.slots.len();
    let joining = Joining {
        buckets,
        kernel,
        radius,
        parents: (0..count as u32).map(AtomicU32::new).collect(),
        whole: buckets.nodes.iter().map(|_| AtomicBool::new(false)).collect(),
    };
    if count > 0 {
        joining.within(0);
    }
    let mut members: Vec<(u32, u32)> = (0..count as u32)
        .map(|number| (joining.root(number), buckets.slots[number as usize]))
        .collect();
    members.sort_unstable();
    let groups = members.chunk_by(|left, right| left.0 == right.0);
    let several = groups.filter(|group| group.len() > 1);
    let mut groups: Vec<Vec<u32>> =
        several.map(|group| group.iter().map(|&(_, slot)| slot).collect()).collect();
    groups.sort_unstable();
    groups
}

struct Joining<'a> {
    buckets: &'a Buckets,
    kernel: Kernel,
    radius: u32,
    /// For each code another of its group, with a smaller number; the smallest has itself.
    parents: Vec<AtomicU32>,
    /// Nodes all of whose codes are known to be in one group.
    whole: Vec<AtomicBool>,
}

impl Joining<'_> {
    fn root(&self, mut number: u32) -> u32 {
        loop {
            let parent = self.parents[number as usize].load(Ordering::Relaxed);
            if parent == number {
                return number;
            }
            // Every second look leads twice as far the next time.
            let above = self.parents[parent as usize].load(Ordering::Relaxed);
            self.parents[number as usize].fetch_min(above, Ordering::Relaxed);
            number = above;
        }
    }

    fn unite(&self, left: u32, right: u32) {
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

    fn node(&self, at: usize) -> Node {
        self.buckets.nodes[at]
    }

    fn halves(&self, at: usize) -> (usize, usize) {
        (at + 1, self.node(at + 1).skip as usize)
    }

    /// The group of a node, if all its codes are in one.
    fn group(&self, at: usize) -> Option<u32> {
        let node = self.node(at);
        let root = || self.root(node.start);
        if self.whole[at].load(Ordering::Relaxed) {
            return Some(root());
        }
        let whole = if node.group.is_some() {
            let root = root();
            (node.start..node.start + node.count).all(|number| self.root(number) == root)
        } else {
            let (left, right) = self.halves(at);
            self.whole[left].load(Ordering::Relaxed)
                && self.whole[right].load(Ordering::Relaxed)
                && self.root(self.node(left).start) == self.root(self.node(right).start)
        };
        // Groups only grow, so what is whole stays so.
        self.whole[at].store(whole, Ordering::Relaxed);
        whole.then(root)
    }

    /// Joins what is near among the codes of a node.
    fn within(&self, at: usize) {
        let node = self.node(at);
        if node.group.is_some() {
            let [agreed, ..] = self.buckets.masks(at);
            let open: u32 = agreed.iter().map(|word| word.count_zeros()).sum();
            if open <= self.radius {
                // No two of them can differ by more.
                (1..node.count).for_each(|number| self.unite(node.start, node.start + number));
            } else {
                self.compare(at, at);
            }
            self.group(at);
            return;
        }
        let (left, right) = self.halves(at);
        if u64::from(node.count).pow(2) > WORTH_A_THREAD {
            rayon::join(|| self.within(left), || self.within(right));
        } else {
            self.within(left);
            self.within(right);
        }
        self.between(left, right);
        self.group(at);
    }

    /// Joins what is near between the codes of two nodes.
    fn between(&self, left: usize, right: usize) {
        if self.buckets.bound_between(left, right) > self.radius {
            return;
        }
        let groups = (self.group(left), self.group(right));
        if groups.0.is_some() && groups.0 == groups.1 {
            return;
        }
        let (one, other) = (self.node(left), self.node(right));
        let inner = |node: Node| node.group.is_none();
        // The larger of the two is halved, if it can be.
        let (whole, halved) = match (inner(one), inner(other)) {
            (false, false) => return self.compare(left, right),
            (true, false) => (right, left),
            (true, true) if one.count >= other.count => (right, left),
            _ => (left, right),
        };
        let (first, second) = self.halves(halved);
        if u64::from(one.count) * u64::from(other.count) > WORTH_A_THREAD {
            rayon::join(|| self.between(whole, first), || self.between(whole, second));
        } else {
            self.between(whole, first);
            self.between(whole, second);
        }
    }

    /// Joins what is near between two buckets, or within one.
    ///
    /// Not every code has to be compared. Those of one group need no joining among themselves; so
    /// whoever is in that group may be passed over, if all others are compared with everything.
    fn compare(&self, one: usize, other: usize) {
        let (node, others) = (self.node(one), self.node(other));
        let larger = if node.count >= others.count { node } else { others };
        let group = self.most_frequent_group(larger);
        self.compare_all_but(group, one, other);
        if one != other {
            self.compare_all_but(group, other, one);
        }
    }

    /// Some code of the group that most codes of a bucket are in, if that is more than half.
    fn most_frequent_group(&self, node: Node) -> u32 {
        // One vote for a group outweighs one for another: what is left over has the most.
        let (mut chosen, mut root, mut votes) = (node.start, self.root(node.start), 0u32);
        for number in node.start..node.start + node.count {
            let own = self.root(number);
            if own == root {
                votes += 1;
            } else if votes == 0 {
                (chosen, root, votes) = (number, own, 1);
            } else {
                votes -= 1;
            }
        }
        chosen
    }

    /// Compares each code of a bucket that is not in a group with all of another bucket.
    fn compare_all_but(&self, group: u32, one: usize, other: usize) {
        let (node, others) = (self.node(one), self.node(other));
        let (Some(mine), Some(run)) = (self.buckets.run(node), self.buckets.run(others)) else {
            return;
        };
        let layout = self.buckets.layout;
        let mut hits = Vec::new();
        let mut code = vec![0; layout.code_words()];
        for number in 0..node.count {
            let at = node.start + number;
            if self.root(at) == self.root(group) && at != group {
                continue;
            }
            layout.get(mine.words, number as usize, &mut code);
            if self.buckets.bound(other, &code) > self.radius {
                continue;
            }
            hits.clear();
            self.kernel.scan(layout, &code, run, self.radius + 1, &mut hits);
            hits.iter().for_each(|&hit| self.unite(at, others.start + parts(hit).1));
        }
    }
}

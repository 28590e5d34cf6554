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
            let (agreed, _) = self.buckets.masks(at);
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
        let ((a, a_value), (b, b_value)) = (self.buckets.masks(left), self.buckets.masks(right));
        let apart: u32 = (0..a.len())
            .map(|word| (a[word] & b[word] & (a_value[word] ^ b_value[word])).count_ones())
            .sum();
        if apart > self.radius {
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
            (false, false) => return self.compare_buckets(left, right, groups),
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

    /// The codes that are compared one by one should be those of a bucket in several groups.
    fn compare_buckets(&self, left: usize, right: usize, groups: (Option<u32>, Option<u32>)) {
        match groups {
            (Some(_), None) => self.compare(right, left),
            _ => self.compare(left, right),
        }
    }

    /// Compares each code of a bucket with all of another, or of its own.
    fn compare(&self, one: usize, other: usize) {
        let (node, others) = (self.node(one), self.node(other));
        let (Some(mine), Some(run)) = (self.buckets.run(node), self.buckets.run(others)) else {
            return;
        };
        let layout = self.buckets.layout;
        let group = self.group(other).filter(|_| one != other);
        let both_whole = group.is_some() && self.group(one).is_some();
        let mut hits = Vec::new();
        let mut code = vec![0; layout.code_words()];
        for number in 0..node.count {
            let at = node.start + number;
            if group.is_some_and(|group| self.root(group) == self.root(at)) {
                if both_whole {
                    return;
                }
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

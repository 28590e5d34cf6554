//! Groups of near-duplicates: connected components of the pairs within a radius.

use std::sync::atomic::{AtomicBool, Ordering};

use super::tree::{Node, Tree};
use super::union::Union;
use crate::kernel::{Kernel, parts};

/// Number of pairs of codes above which a separate thread pays off.
const WORTH_A_THREAD: u64 = 1 << 20;

/// Returns the connected groups of at least two codes, each as its slots in ascending order.
pub(super) fn join(mut tree: Tree, kernel: Kernel, radius: u32) -> Vec<Vec<u32>> {
    let count = tree.slots.len();
    let joining = Joining {
        tree: &tree,
        kernel,
        radius,
        union: Union::new(count),
        whole: tree.nodes.iter().map(|_| AtomicBool::new(false)).collect(),
    };
    if count > 0 {
        joining.within(0);
    }
    let union = joining.union;
    // The codes are no longer needed.
    let slots = std::mem::take(&mut tree.slots);
    drop(tree);
    union.groups(|number| slots[number as usize])
}

struct Joining<'a> {
    tree: &'a Tree,
    kernel: Kernel,
    radius: u32,
    union: Union,
    /// For each node, true if all its codes are known to be in one group.
    whole: Vec<AtomicBool>,
}

impl Joining<'_> {
    fn root(&self, number: u32) -> u32 {
        self.union.root(number)
    }

    fn node(&self, at: usize) -> Node {
        self.tree.nodes[at]
    }

    fn halves(&self, at: usize) -> (usize, usize) {
        (at + 1, self.node(at + 1).skip as usize)
    }

    /// Returns the group of a node if all its codes are in one group.
    fn group(&self, at: usize) -> Option<u32> {
        let node = self.node(at);
        let root = || self.root(node.start);
        if self.whole[at].load(Ordering::Relaxed) {
            return Some(root());
        }
        let whole = if node.is_bucket {
            let root = root();
            (node.start..node.start + node.count).all(|number| self.root(number) == root)
        } else {
            let (left, right) = self.halves(at);
            self.whole[left].load(Ordering::Relaxed)
                && self.whole[right].load(Ordering::Relaxed)
                && self.root(self.node(left).start) == self.root(self.node(right).start)
        };
        // Groups only grow, so the codes of a node stay in one group.
        self.whole[at].store(whole, Ordering::Relaxed);
        whole.then(root)
    }

    /// Joins all pairs of near codes in a node.
    fn within(&self, at: usize) {
        let node = self.node(at);
        if node.is_bucket {
            let [agreed, ..] = self.tree.masks(at);
            let open: u32 = agreed.iter().map(|word| word.count_zeros()).sum();
            if open <= self.radius {
                // No two codes of the bucket can differ by more than the radius.
                (1..node.count).for_each(|number| self.union.join(node.start, node.start + number));
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

    /// Joins all pairs of near codes with one code in each of two nodes.
    fn between(&self, left: usize, right: usize) {
        if self.tree.bound_between(left, right) > self.radius {
            return;
        }
        let groups = (self.group(left), self.group(right));
        if groups.0.is_some() && groups.0 == groups.1 {
            return;
        }
        let (one, other) = (self.node(left), self.node(right));
        let inner = |node: Node| !node.is_bucket;
        // Halves the larger of the two nodes, if possible.
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

    /// Joins all pairs of near codes with one code in each of two buckets, which may be the same.
    ///
    /// The codes of one group are already joined, so they need not be compared with each other. It
    /// is enough to compare the other codes with every code.
    fn compare(&self, one: usize, other: usize) {
        let (node, others) = (self.node(one), self.node(other));
        let larger = if node.count >= others.count { node } else { others };
        if one == other {
            return self.compare_all_but(Some(node.start), one, one);
        }
        let group = self.most_frequent_group(larger);
        self.compare_all_but(group, one, other);
        if group.is_some() {
            self.compare_all_but(group, other, one);
        }
    }

    /// Returns a code of the most frequent group of a bucket; `None` if this group has less than
    /// half of the codes.
    fn most_frequent_group(&self, node: Node) -> Option<u32> {
        // A vote for one group cancels a vote for another, so a group with more than half of all
        // votes remains.
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
        let members = (node.start..node.start + node.count).filter(|&it| self.root(it) == root);
        (2 * members.count() >= node.count as usize && node.count > 1).then_some(chosen)
    }

    /// Compares each code of bucket `one` that is not in `group` with all codes of bucket `other`,
    /// which may be the same bucket.
    fn compare_all_but(&self, group: Option<u32>, one: usize, other: usize) {
        let (node, others) = (self.node(one), self.node(other));
        let layout = self.tree.layout;
        // The run may include codes before the bucket's first, which may also be joined if they are
        // near.
        let run = self.tree.run(others.numbers());
        let mut hits = Vec::new();
        let mut code = vec![0; layout.code_words()];
        for number in node.numbers() {
            let at = number as u32;
            if group.is_some_and(|group| at != group && self.root(at) == self.root(group)) {
                continue;
            }
            layout.get(&self.tree.words, number, &mut code);
            if self.tree.bound(other, &code) > self.radius {
                continue;
            }
            hits.clear();
            self.kernel.scan(layout, &code, run, self.radius + 1, &mut hits);
            hits.iter().for_each(|&hit| self.union.join(at, parts(hit).1));
        }
    }
}

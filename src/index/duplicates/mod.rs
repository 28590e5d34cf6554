//! Groups of near-duplicates.
//!
//! Codes are divided into clusters first and then split by bits, into a tree. Splitting by bits
//! alone would scatter each cluster over the tree, because every bit is flipped in a few of its
//! codes. Threads visit pairs of nodes and share a union-find. A dense cluster has too many pairs
//! to compare; but once most codes of a bucket are in one group, only its other codes are compared.
//! Scattered codes are handled differently (`pieces.rs`): two codes that differ in r bits agree in
//! one of r + 1 pieces, so it is enough to compare codes with an equal piece.

mod groups;
mod pieces;
mod tree;
mod union;

use self::tree::Tree;
use super::scan::Centres;
use crate::kernel::{Kernel, Layout};

/// Returns the groups of at least two codes that are connected by chains of pairs within the
/// radius. `codes` has the words of all codes, code after code. A group lists the numbers of its
/// codes, ascending.
pub(super) fn groups(
    kernel: Kernel,
    layout: Layout,
    codes: Vec<u64>,
    radius: u32,
) -> Vec<Vec<u32>> {
    if let Some(groups) = pieces::join(&codes, layout.bits(), radius) {
        return groups;
    }
    let width = layout.code_words();
    let get = |at: usize, out: &mut [u64]| out.copy_from_slice(&codes[at * width..][..width]);
    let centres = Centres::find(layout, codes.len() / width, get);
    groups::join(Tree::build(kernel, layout, codes, centres), kernel, radius)
}

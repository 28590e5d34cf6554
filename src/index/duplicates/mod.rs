//! Groups of near-duplicates.
//!
//! Groups come from a tree of clusters that are split further: splitting by bits alone would
//! scatter each cluster over the tree, as every bit is flipped in a few of its codes. The tree is
//! walked in pairs of nodes with a union-find that threads share. In a dense cluster all pairs
//! would be too many; but once most of a bucket is in one group, only the others have to be
//! compared. Scattered codes are handled differently (`pieces.rs`): two codes that differ in r
//! bits agree in one of r + 1 pieces, so it is enough to compare codes with an equal piece.

mod groups;
mod pieces;
mod tree;
mod union;

use self::tree::Tree;
use super::scan::Centres;
use crate::kernel::{Kernel, Layout};

/// Returns the groups of at least two codes that are connected by chains of steps within the
/// radius. `codes` has one code after the other, as words. Each group has the numbers of its codes,
/// ascending.
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

//! [`Goal`]: the items requested by a search.

/// Items requested by a search.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) enum Goal {
    /// The `k` nearest items.
    Nearest(usize),
    /// All items up to a distance, inclusive.
    Within(u32),
}

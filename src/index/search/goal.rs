//! What a search is for.

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) enum Goal {
    /// The `k` nearest.
    Nearest(usize),
    /// All up to a distance, which is included.
    Within(u32),
}

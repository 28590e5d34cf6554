//! [`Found`]: types of hits that a search can return.

use super::hits::Hit;

/// Hit of a search, in order of distance and id.
pub(super) trait Found: Copy + Ord + Send {
    /// Returns a hit at a distance, in a slot of a segment.
    fn new(distance: u32, id: u64, segment: usize, slot: u32) -> Self;

    fn distance(&self) -> u32;
}

impl Found for Hit {
    fn new(distance: u32, id: u64, _: usize, _: u32) -> Self {
        Hit { distance, id }
    }

    fn distance(&self) -> u32 {
        self.distance
    }
}

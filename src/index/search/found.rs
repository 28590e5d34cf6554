//! What a search makes of a code that it finds.

use super::hits::Hit;

/// An item that was found, in order of distance and id.
pub(super) trait Found: Copy + Ord + Send {
    /// At a distance, in a slot of a segment.
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

//! What a scan goes over, and what it finds.

/// Codes in a row, as many as `count`, of which the first is number `first`.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) count: usize,
    pub(crate) first: u32,
    /// A bit for each code, if not all of them are to be looked at.
    pub(crate) mask: Option<&'a [u64]>,
}

/// A code that is near: its distance above its number, so that hits sort by both.
pub(crate) fn hit(distance: u32, number: u32) -> u64 {
    u64::from(distance) << 32 | u64::from(number)
}

/// The distance and the number of a hit.
pub(crate) fn parts(hit: u64) -> (u32, u32) {
    ((hit >> 32) as u32, hit as u32)
}

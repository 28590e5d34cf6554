//! Input and hits of a scan.

/// `count` consecutive codes, of which the first has number `first`.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) count: usize,
    pub(crate) first: u32,
    /// Bitmap of the codes to scan; `None` to scan all.
    pub(crate) mask: Option<&'a [u64]>,
}

/// Returns a hit: the distance in the upper half, and the number of the code in the lower half, so
/// that hits sort by distance, then number.
pub(crate) fn hit(distance: u32, number: u32) -> u64 {
    u64::from(distance) << 32 | u64::from(number)
}

/// Returns the distance and the number of a hit.
pub(crate) fn parts(hit: u64) -> (u32, u32) {
    ((hit >> 32) as u32, hit as u32)
}

//! [`Bitmap`]: a bit for each item.

/// Bitmap with a bit for each item: item `i` has bit `i % 64` of word `i / 64`.
pub(in crate::index) type Bitmap = Vec<u64>;

/// Returns a bitmap of `count` ones.
pub(in crate::index) fn ones(count: usize) -> Bitmap {
    let mut bitmap = vec![u64::MAX; count.div_ceil(64)];
    if let Some(last) = bitmap.last_mut().filter(|_| !count.is_multiple_of(64)) {
        *last = (1 << (count % 64)) - 1;
    }
    bitmap
}

/// Returns whether the bit of an item is set.
#[inline]
pub(in crate::index) fn is_set(bitmap: &[u64], item: usize) -> bool {
    bitmap[item / 64] >> (item % 64) & 1 == 1
}

/// Returns the items whose bits are set, ascending.
#[inline]
pub(in crate::index) fn set_bits(bitmap: &[u64]) -> impl Iterator<Item = usize> + '_ {
    bitmap.iter().enumerate().flat_map(|(at, &word)| {
        let without_lowest = |&word: &u64| Some(word & (word - 1)).filter(|&left| left != 0);
        std::iter::successors(Some(word).filter(|&word| word != 0), without_lowest)
            .map(move |word| 64 * at + word.trailing_zeros() as usize)
    })
}

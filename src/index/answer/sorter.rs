//! Sorting of the slots of several codes.

/// Maximum number of slots that are sorted by comparison.
const FEW: usize = 64;

/// Sorts slots with a bitmap: a bit for each slot, and a summary bit for each word of the bitmap
/// with any bit set. This takes a few operations per slot, however many there are.
#[derive(Default)]
pub(super) struct Sorter {
    bits: Vec<u64>,
    summary: Vec<u64>,
}

impl Sorter {
    /// Calls `call` with at most `most` of the slots, in ascending order. All slots must be
    /// different, and below `count`.
    pub(super) fn sort(
        &mut self,
        slots: &mut [u32],
        is_sorted: bool,
        count: usize,
        most: usize,
        mut call: impl FnMut(u32),
    ) {
        if is_sorted || slots.len() <= FEW {
            if !is_sorted {
                slots.sort_unstable();
            }
            slots.iter().take(most).for_each(|&slot| call(slot));
            return;
        }
        let words = count.div_ceil(64);
        if self.bits.len() < words {
            self.bits.resize(words, 0);
            self.summary.resize(words.div_ceil(64), 0);
        }
        for slot in slots {
            let word = *slot as usize / 64;
            self.bits[word] |= 1 << (*slot % 64);
            self.summary[word / 64] |= 1 << (word % 64);
        }
        let mut left = most;
        for (at, summary) in self.summary.iter_mut().enumerate() {
            let mut words = std::mem::take(summary);
            while words != 0 {
                let word = 64 * at + words.trailing_zeros() as usize;
                words &= words - 1;
                let mut bits = std::mem::take(&mut self.bits[word]);
                while bits != 0 && left > 0 {
                    call((64 * word) as u32 + bits.trailing_zeros());
                    bits &= bits - 1;
                    left -= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_what_sorting_finds(
            slots in prop::collection::btree_set(0..5000u32, 0..600),
            lists in 1..9u32,
            most in prop_oneof![1..100usize, Just(usize::MAX)],
        ) {
            let mut sorter = Sorter::default();
            for _ in 0..2 {
                let of = |list| slots.iter().copied().filter(move |slot| slot % lists == list);
                let mut all: Vec<u32> = (0..lists).flat_map(of).collect();
                let mut found = Vec::new();
                sorter.sort(&mut all, lists == 1, 5000, most, |slot| found.push(slot));
                let expected: Vec<u32> = slots.iter().copied().take(most).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}

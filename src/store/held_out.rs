//! [`HeldOut`]: items that a store never learns, so that its precision can be measured on them.
//!
//! A learned item finds items of its label more easily than a new item does. Whether an item is
//! held out follows from its id alone, so that learning, unlearning, replacing, labelling,
//! rebuilding and repairing agree without any state.

use crate::{Error, Result};

/// Rule that decides which items of a store are never learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldOut {
    /// One in this number of items is held out; 0 if none is.
    one_in: u64,
}

impl HeldOut {
    /// Default share of held-out items: one in this number.
    pub(super) const ONE_IN: u32 = 50;

    pub(super) fn new(one_in: u32) -> HeldOut {
        HeldOut { one_in: one_in.into() }
    }

    /// Fails if this share of the items cannot be held out.
    pub(super) fn check(one_in: u32) -> Result<()> {
        match one_in {
            // All items would be held out, so nothing would be learned.
            1 => Err(Error::parameter("held_out", "0, or 2 or more", 1)),
            _ => Ok(()),
        }
    }

    /// Returns whether any item is held out.
    pub(super) fn any(self) -> bool {
        self.one_in > 0
    }

    /// Returns whether an item is held out. `text` is the string that its id stands for, and empty
    /// where ids are numbers. The string decides, because the numbers of strings depend on the
    /// order of insertion.
    pub(super) fn contains(self, id: u64, text: &str) -> bool {
        let hash = if text.is_empty() { mix(id) } else { hash(text) };
        self.any() && hash.is_multiple_of(self.one_in)
    }
}

/// Hashes a string: FNV-1a, mixed. Stores on disk depend on it.
fn hash(text: &str) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    mix(text.bytes().fold(0xcbf2_9ce4_8422_2325, add))
}

/// Mixes the bits of a number: the finalizer of SplitMix64. Stores on disk depend on it.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_in_fifty_is_held_out_whatever_the_ids_are() {
        let held_out = HeldOut::new(50);
        for step in [1, 2, 50, 1000, 1 << 32] {
            let found = (0..100_000).filter(|id| held_out.contains(id * step, "")).count();
            assert!((1850..2150).contains(&found), "{found} of ids that are multiples of {step}");
        }
        let found = (0..100_000).filter(|id| held_out.contains(7, &format!("{id}.jpg"))).count();
        assert!((1850..2150).contains(&found), "{found}");
        let none = HeldOut::new(0);
        assert!((0..1000).all(|id| !none.contains(id, "")) && !none.any());
    }

    /// Stores on disk depend on these hashes: with other hashes, existing stores would unlearn
    /// items that were never learned.
    #[test]
    fn hashes_stay_as_they_are() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(1), 0x910a_2dec_8902_5cc1);
        let of_empty = mix(0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(""), of_empty);
        assert_eq!(hash("a"), mix(0xaf63_dc4c_8601_ec8c));
        let held_out = HeldOut::new(50);
        let first: Vec<u64> = (0..300).filter(|&id| held_out.contains(id, "")).collect();
        assert_eq!(first, FIRST);
        let first: Vec<u64> =
            (0..300).filter(|&id| held_out.contains(0, &id.to_string())).collect();
        assert_eq!(first, FIRST_TEXTS);
    }

    const FIRST: [u64; 11] = [29, 72, 75, 102, 117, 120, 171, 186, 220, 241, 252];
    const FIRST_TEXTS: [u64; 7] = [29, 179, 189, 229, 249, 264, 297];

    #[test]
    fn a_share_that_leaves_nothing_to_learn_is_refused() {
        assert!(HeldOut::check(1).unwrap_err().to_string().contains("held_out must be 0, or 2"));
        assert!(HeldOut::check(0).is_ok() && HeldOut::check(2).is_ok());
    }
}

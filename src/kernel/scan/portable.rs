//! Groups of codes in plain Rust, which compilers translate to vector instructions.

use super::blocks::{Lanes, append};

macro_rules! portable {
    ($name:ident, $number:ty, $count:literal) => {
        pub(super) struct $name;

        impl Lanes for $name {
            type Words = [$number; $count];
            type Group = [$number; $count];
            const CODES: usize = $count;
            #[inline(always)]
            unsafe fn word(value: u64) -> Self::Words {
                [value as $number; $count]
            }
            #[inline(always)]
            unsafe fn all(value: u32) -> Self::Group {
                [<$number>::from(value); $count]
            }
            #[inline(always)]
            unsafe fn load(from: *const u64) -> Self::Group {
                // SAFETY: guaranteed by the caller; any bits are valid numbers.
                unsafe { from.cast::<Self::Group>().read() }
            }
            #[inline(always)]
            unsafe fn distance(left: Self::Group, right: Self::Group) -> Self::Group {
                std::array::from_fn(|at| <$number>::from((left[at] ^ right[at]).count_ones()))
            }
            #[inline(always)]
            unsafe fn add(left: Self::Group, right: Self::Group) -> Self::Group {
                std::array::from_fn(|at| left[at] + right[at])
            }
            #[inline(always)]
            unsafe fn min(left: Self::Group, right: Self::Group) -> Self::Group {
                std::array::from_fn(|at| left[at].min(right[at]))
            }
            #[inline(always)]
            unsafe fn below(group: Self::Group, limit: Self::Group) -> u32 {
                let bits = group.iter().zip(&limit).enumerate();
                bits.map(|(at, (value, limit))| u32::from(value < limit) << at).sum()
            }
            #[inline(always)]
            unsafe fn append(distances: Self::Group, near: u32, first: u32, to: *mut u64) {
                let mut out = [0; 16];
                out.iter_mut().zip(distances).for_each(|(out, value)| *out = value as u32);
                // SAFETY: guaranteed by the caller.
                unsafe { append(&out, near, first, to) }
            }
        }
    };
}

portable!(Wide, u64, 8);
portable!(Narrow, u32, 16);

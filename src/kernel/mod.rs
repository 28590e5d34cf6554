//! Inner loops that use special processor instructions, and all `unsafe` code of the library.
//!
//! Each loop is written once in plain Rust and compiled several times, for the instruction sets
//! that the [`dispatched!`] macro lists. Each call chooses the best instruction set of the machine.
//! The loops keep to a fixed order of summation, so every compilation gives the same bits.

/// Defines a function that is compiled for several instruction sets and chooses among them.
macro_rules! dispatched {
    (
        $(#[doc = $doc:literal])*
        [$($features:literal if $feature:ident);+]
        fn $name:ident $arguments:tt $body:block
    ) => {
        $(#[doc = $doc])*
        pub(crate) fn $name $arguments {
            #[inline(always)]
            fn portable $arguments $body

            $(dispatched!(@compiled $features $feature $arguments);)+
            dispatched!(@call portable $arguments)
        }
    };
    (@compiled $features:literal $feature:ident ($($argument:ident: $type:ty),*)) => {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = $features)]
            fn compiled($($argument: $type),*) {
                portable($($argument),*)
            }
            if $crate::kernel::instructions::Feature::$feature.is_there() {
                // SAFETY: the machine has the features that the function was compiled for, as
                // listed by `Feature`.
                return unsafe { compiled($($argument),*) };
            }
        }
    };
    (@call $function:ident ($($argument:ident: $type:ty),*)) => { $function($($argument),*) };
}

#[cfg(target_endian = "big")]
compile_error!(
    "codes stand in memory and in files as little-endian words; there is no other layout"
);

mod distance;
mod exponential;
mod gram;
mod instructions;
mod map;
mod narrow;
mod product;
mod rows;
mod scan;
mod similarity;
mod vectors;
mod weighted;
mod whole;

pub(crate) use distance::{count_bits, distances};
pub(crate) use exponential::{exp_in_place, sigmoid_in_place};
pub(crate) use gram::{Gram, LARGEST};
pub(crate) use map::{Column, Lines, Mapped, bytes_of, halves, prefetch};
pub(crate) use narrow::{add_transposed_times, times_columns};
pub(crate) use product::{LANES, Panels};
pub(crate) use rows::{add_outer, prepare, project_row, row_products, squared_norm};
pub use scan::Kernel;
pub(crate) use scan::{Layout, Run, hit, parts};
pub(crate) use similarity::{Similarities, nearest, round_row, whole_similarities};
pub(crate) use vectors::{Lengths, VectorQuery, VectorRows};
pub use vectors::{VectorFormat, VectorMetric};
pub(crate) use weighted::{Comparison, Nearly, Weights};
pub(crate) use whole::{LARGEST_BYTE, WholePanels};

//! Code that all search structures share: queries, the bound of the k-th nearest distance, and the
//! order of hits.

mod asked;
#[cfg(test)]
pub(super) mod cases;
mod in_order;
mod nearest;
mod sorter;

pub(super) use self::asked::Asked;
pub(super) use self::in_order::{Level, Memory};
pub(super) use self::nearest::Nearest;

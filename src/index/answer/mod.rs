//! What search structures have in common: what is asked of them, how near the nearest is as far as
//! they know, and the order of what is found.

mod asked;
#[cfg(test)]
pub(super) mod cases;
mod in_order;
mod nearest;
mod sorter;

pub(super) use self::asked::Asked;
pub(super) use self::in_order::{Level, Memory};
pub(super) use self::nearest::Nearest;

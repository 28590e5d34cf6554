//! Search tables of a segment: its distinct codes by several short keys, to look up those that are near.
//!
//! The bits of a code are cut into a few *keys*. A code that is near a query differs from it in few
//! bits, and so in none or one of the bits of some key: it is found by looking up that key of the query,
//! and those that differ from it in one bit. Tables have the codes themselves, those with the same key
//! side by side, so a look-up reads one place; and for each code the slot of its item, or where those
//! of several items are.
//!
//! That is multi-index hashing (Norouzi, Punjani and Fleet, 2012), with keys that are widened
//! one at a time, and bits that are chosen so that few codes have the same key.

mod build;
mod directory;
mod key;
mod parts;
mod query;
#[cfg(test)]
mod tests;
mod verify;

pub(super) use self::build::{build, build_to};
pub(super) use self::parts::Tables;
pub(super) use self::query::Scratch;

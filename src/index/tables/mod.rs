//! Search tables of a segment: its distinct codes, indexed by several short keys to look up near
//! codes.
//!
//! The bits of a code are divided into a few *keys*. A code that is near a query differs from it in
//! few bits, and so in at most one bit of some key. To find the code, a search looks up this key of
//! the query, and all keys that differ from it in one bit. Tables contain the codes themselves.
//! Codes with the same key are side by side, so a lookup reads one place. For each code, tables
//! contain the slot of its item, or the position of the slots of several items.
//!
//! This is multi-index hashing (Norouzi, Punjani and Fleet, 2012). Keys are widened one at a time,
//! and their bits are chosen so that few codes have the same key.

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

//! [`Tables`], as stored in memory and in files.
//!
//! ```text
//! groups    of each code that several items have: how many they are, less one, and their slots, ascending;
//!           the largest groups first, by class
//! tables    one after the other; of each:
//!   starts  of each key: where the codes that have it begin, and in the end where the last end
//!   codes   in order of their keys
//!   entries of each code: its group, or the slot of the one item that has it
//! ```

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::key::Key;
use crate::index::segment::checksum_matches;
use crate::kernel::{Column, Layout, bytes_of, halves};
use crate::{Error, Result};

/// Number of words that share a checksum.
pub(super) const PIECE: usize = 1 << 12;

/// Maximum number of tables.
pub(super) const MOST: usize = 8;

/// Highest bit of an entry: set if only one item has the code; the other bits are its slot.
pub(super) const SINGLE: u32 = 1 << 31;

/// Number of size classes of groups: 2 or 3 items, 4 to 7, and so on. The largest groups come
/// first, so that the position of a group indicates its approximate size.
pub(super) const CLASSES: usize = 31;

/// Returns the class of a group of `items` items, at least 2.
pub(super) fn class(items: usize) -> usize {
    (items.ilog2() as usize).clamp(1, CLASSES) - 1
}

/// Alignment of code positions in a table: a scan group begins at each multiple, for every code
/// length.
pub(super) const ALIGNED: usize = 16;

/// Distinct codes, indexed by several keys.
pub(in crate::index) struct Tables {
    pub(super) layout: Layout,
    /// Number of items that have the codes.
    pub(super) count: usize,
    pub(super) distinct: usize,
    pub(super) groups: Range<usize>,
    /// Start of the groups of each class, in halves of words.
    pub(super) classes: [u32; CLASSES],
    pub(super) tables: Vec<Table>,
    pub(super) words: Column<u64>,
    /// Checksums of pieces.
    pub(super) checksums: Vec<u32>,
    /// Path of the file, and the pieces that have passed their checks.
    pub(super) file: Option<(PathBuf, Vec<AtomicBool>)>,
}

/// A table: its key and the positions of its parts, in words.
pub(super) struct Table {
    pub(super) key: Key,
    pub(super) starts: Range<usize>,
    pub(super) codes: Range<usize>,
    pub(super) entries: Range<usize>,
}

/// Returns the positions of the groups, and of the parts of tables with these keys. All parts are
/// whole lines, one after the other. Returns `None` if they overflow.
pub(super) fn places(
    layout: Layout,
    keys: Vec<Key>,
    distinct: usize,
    grouped: usize,
) -> Option<(Range<usize>, Vec<Table>)> {
    let mut end = 0usize;
    let mut place = |words: usize| {
        let start = end;
        end = end.checked_add(words.checked_next_multiple_of(8)?)?;
        Some(start..end)
    };
    let codes = layout.words(distinct.checked_next_multiple_of(ALIGNED)?);
    let groups = place(grouped.div_ceil(2))?;
    let mut tables = Vec::with_capacity(keys.len());
    for key in keys {
        let starts = place((1usize << key.bits).div_ceil(2) + 1)?;
        let (codes, entries) = (place(codes)?, place(distinct.div_ceil(2))?);
        tables.push(Table { key, starts, codes, entries });
    }
    Some((groups, tables))
}

impl Tables {
    /// Returns the memory in bytes, except that of the parts that are stored in a file.
    pub(in crate::index) fn memory(&self) -> usize {
        self.tables.len() * 256 * 4 * 8 * self.layout.code_words() + 5 * self.checksums.len()
    }

    /// Returns the size of the parts in bytes, in memory or mapped.
    pub(in crate::index) fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    pub(super) fn damaged(&self, what: &str) -> Error {
        let path = self.file.as_ref().map(|(path, _)| path.clone()).unwrap_or_default();
        Error::damaged(&path, format!("is damaged: {what} of its search tables"))
    }

    /// Checks the pieces that contain these words, at least one word. Fails if a piece is damaged.
    #[inline]
    pub(super) fn check(&self, words: Range<usize>) -> Result<()> {
        if let Some((_, seen)) = &self.file {
            let pieces = words.start / PIECE..(words.end - 1) / PIECE + 1;
            for (piece, seen) in pieces.clone().zip(&seen[pieces]) {
                if !seen.load(Ordering::Relaxed) {
                    self.check_piece(piece, seen)?;
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn check_piece(&self, piece: usize, seen: &AtomicBool) -> Result<()> {
        let (start, end) = (piece * PIECE, self.words.len().min((piece + 1) * PIECE));
        let words = &self.words[start..end];
        let mut sound = checksum_matches(self.checksums[piece], crc32fast::hash(bytes_of(words)));
        if self.groups.start < end && start < self.groups.end {
            // Groups contain slots and slot counts minus one, all below the item count.
            let words = &self.words[start..end.min(self.groups.end)];
            sound &= halves(words).iter().fold(0, |most, &half| most.max(half)) < self.count as u32;
        }
        if !sound {
            return Err(self.damaged(&format!("piece {piece} of {}", self.checksums.len())));
        }
        seen.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the start and the end of the codes with a key in a table. Fails if they are damaged.
    #[inline]
    pub(super) fn run(&self, table: &Table, key: u32) -> Result<(usize, usize)> {
        let (at, starts) = (key as usize, table.starts.start);
        self.check(starts + at / 2..starts + at.div_ceil(2) + 1)?;
        let starts = halves(&self.words[table.starts.clone()]);
        let (start, end) = (starts[at] as usize, starts[at + 1] as usize);
        if start > end || end > self.distinct {
            return Err(self.damaged("a key"));
        }
        Ok((start, end))
    }

    /// Returns the entry of a code. Fails if the entry is damaged or out of bounds.
    #[inline]
    pub(super) fn entry(&self, table: &Table, position: usize) -> Result<u32> {
        let word = table.entries.start + position / 2;
        self.check(word..word + 1)?;
        let entry = halves(&self.words[table.entries.clone()])[position];
        let end = if entry & SINGLE != 0 { self.count } else { 2 * self.groups.len() };
        match ((entry & !SINGLE) as usize) < end {
            true => Ok(entry),
            false => Err(self.damaged("an entry")),
        }
    }

    /// Checks that the slots of an entry are within bounds. Fails if they are damaged.
    #[inline]
    pub(super) fn check_slots(&self, entry: u32) -> Result<()> {
        if entry & SINGLE != 0 {
            return Ok(());
        }
        let (start, groups) = (entry as usize, halves(&self.words[self.groups.clone()]));
        self.check(start / 2..start / 2 + 1)?;
        let end = start + 2 + groups[start] as usize;
        if end > groups.len() {
            return Err(self.damaged("a group"));
        }
        self.check(start / 2..end.div_ceil(2))
    }

    /// Returns a lower bound of the number of items of an entry, which is at least half of that
    /// number.
    #[inline]
    pub(super) fn items_at_least(&self, entry: u32) -> usize {
        match entry & SINGLE != 0 {
            true => 1,
            // Most groups are small.
            false => match self.classes.iter().position(|&start| entry >= start) {
                Some(class) => 2 << class,
                None => 1,
            },
        }
    }

    /// Calls `call` with the slots of an entry.
    #[inline]
    pub(super) fn with_slots<R>(&self, entry: u32, call: impl FnOnce(&[u32]) -> R) -> R {
        if entry & SINGLE != 0 {
            return call(&[entry & !SINGLE]);
        }
        let groups = halves(&self.words[self.groups.clone()]);
        let start = entry as usize;
        call(&groups[start + 1..start + 2 + groups[start] as usize])
    }
}

//! Directory of tables, stored in a file behind their parts.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::key::{Key, WORDS};
use super::parts::{CLASSES, MOST, PIECE, Tables, places};
use crate::index::segment::checksum_matches;
use crate::kernel::{Column, Layout, Mapped, bytes_of, halves};
use crate::{Error, Result};

/// Number of words of the trailer, which ends the section: one line.
const TRAILER: usize = 8;

/// Version of the directory, with which the trailer begins.
const VERSION: u64 = 1;

/// Maximum number of bits of a key.
const KEY_BITS: u32 = 24;

impl Tables {
    /// Returns the words that are stored behind the parts: the checksums of their pieces, the
    /// classes of groups, the keys, and a trailer.
    pub(in crate::index) fn directory(&self) -> Vec<u64> {
        let mut words: Vec<u64> = Vec::new();
        for pair in self.checksums.chunks(2) {
            words.push(u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32);
        }
        words.extend(self.classes.map(u64::from));
        self.tables.iter().for_each(|table| words.extend(table.key.mask));
        let checksum = u64::from(crc32fast::hash(bytes_of(&words)));
        let grouped = 2 * self.groups.len() as u64;
        let (tables, distinct, count) =
            (self.tables.len() as u64, self.distinct as u64, self.count as u64);
        words.extend([VERSION, tables, distinct, grouped, count, checksum, 0, 0]);
        words
    }

    /// Opens the tables of `count` items in a section of a file. Returns `None` if their version is
    /// newer. Fails if the directory is damaged.
    pub(in crate::index) fn mapped(
        layout: Layout,
        count: usize,
        bytes: &Mapped,
        (start, len): (usize, usize),
        path: &Path,
    ) -> Result<Option<Self>> {
        let damaged = || Error::damaged(path, "is damaged: the directory of its search tables");
        let section = Column::<u64>::mapped(bytes, start, len / 8).ok_or_else(damaged)?;
        let trailer = section.len().checked_sub(TRAILER).ok_or_else(damaged)?;
        let [version, tables, distinct, grouped, items, checksum] = section[trailer..][..6] else {
            return Err(damaged());
        };
        if version > VERSION {
            // Searches also work without tables.
            return Ok(None);
        }
        let number = |number: u64| usize::try_from(number).map_err(|_| damaged());
        let (tables, distinct, grouped) = (number(tables)?, number(distinct)?, number(grouped)?);
        let sound = (1..=MOST).contains(&tables) && distinct <= count && grouped <= 2 * count + 16;
        let width = layout.code_words();
        if !sound || items != count as u64 || width > WORDS || count > i32::MAX as usize {
            return Err(damaged());
        }
        let keys = trailer.checked_sub(tables * WORDS).ok_or_else(damaged)?;
        let classes_at = keys.checked_sub(CLASSES).ok_or_else(damaged)?;
        let mut of_tables = Vec::new();
        for mask in section[keys..trailer].chunks_exact(WORDS) {
            let key = Key::new([mask[0], mask[1]], width);
            // Lookups would miss codes if keys had bits in common.
            let apart = |other: &Key| (0..WORDS).all(|word| other.mask[word] & mask[word] == 0);
            if key.bits > KEY_BITS || !of_tables.iter().all(apart) {
                return Err(damaged());
            }
            of_tables.push(key);
        }
        let places = places(layout, of_tables, distinct, grouped);
        let (groups, tables) = places.ok_or_else(damaged)?;
        let end = tables.last().map_or(groups.end, |table| table.entries.end);
        let sums = end.div_ceil(PIECE);
        if end.checked_add(sums.div_ceil(2)) != Some(classes_at) {
            return Err(damaged());
        }
        let described = crc32fast::hash(bytes_of(&section[end..trailer]));
        if !checksum_matches(checksum as u32, described) {
            return Err(damaged());
        }
        let checksums = halves(&section[end..classes_at])[..sums].to_vec();
        let classes = std::array::from_fn(|class| section[classes_at + class] as u32);
        let words = Column::mapped(bytes, start, end).ok_or_else(damaged)?;
        let seen = checksums.iter().map(|_| AtomicBool::new(false)).collect();
        let file = Some((path.to_path_buf(), seen));
        Ok(Some(Tables {
            layout,
            count,
            distinct,
            groups,
            classes,
            tables,
            words,
            checksums,
            file,
        }))
    }
}

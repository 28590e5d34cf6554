//! Directory of branches, stored in a file behind their blocks.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::block::{Outline, Shape};
use super::branches::{Branch, Buckets, Checked};
use crate::index::segment::checksum_matches;
use crate::kernel::{Column, Layout, Mapped, bytes_of};
use crate::{Error, Result};

/// Number of words that describe a branch, before the codes of its outline.
const NUMBERS: usize = 4;

/// Number of words of the trailer, which ends the section: one line.
const TRAILER: usize = 8;

/// Version of the directory, with which the trailer begins.
const VERSION: u64 = 1;

impl Buckets {
    /// Returns the words that are stored behind the blocks.
    pub(in crate::index) fn directory(&self) -> Vec<u64> {
        let width = self.layout.code_words();
        let mut words = Vec::with_capacity(self.branches.len() * (NUMBERS + 3 * width) + TRAILER);
        let mut code = vec![0; width];
        for (at, branch) in self.branches.iter().enumerate() {
            words.extend([
                branch.start as u64,
                u64::from(branch.buckets) | u64::from(branch.codes) << 32,
                u64::from(branch.items) | u64::from(branch.checksum) << 32,
                u64::from(branch.nearest) | u64::from(branch.farthest) << 16,
            ]);
            for outlines in [&self.values, &self.known] {
                self.layout.get(outlines, at, &mut code);
                words.extend_from_slice(&code);
            }
            words.extend_from_slice(&self.centres[at * width..][..width]);
        }
        let checksum = crc32fast::hash(bytes_of(&words));
        words.resize(words.len().next_multiple_of(8), 0);
        let (branches, count) = (self.branches.len() as u64, self.count as u64);
        words.extend([VERSION, branches, count, u64::from(checksum), 0, 0, 0, 0]);
        words
    }

    /// Opens the search structure of `count` items in a section of a file. Returns `None` if its
    /// version is newer. Fails if the directory is damaged.
    pub(in crate::index) fn mapped(
        layout: Layout,
        count: usize,
        bytes: &Mapped,
        (start, len): (usize, usize),
        path: &Path,
    ) -> Result<Option<Self>> {
        let damaged = || Error::damaged(path, "is damaged: the directory of its search structure");
        let section = Column::<u64>::mapped(bytes, start, len / 8).ok_or_else(damaged)?;
        let trailer = section.len().checked_sub(TRAILER).ok_or_else(damaged)?;
        let [version, branches, items, checksum] = section[trailer..][..4] else {
            return Err(damaged());
        };
        if version > VERSION {
            // Searches also work without this structure.
            return Ok(None);
        }
        let width = layout.code_words();
        let size = NUMBERS + 3 * width;
        let words = usize::try_from(branches).ok().and_then(|branches| branches.checked_mul(size));
        let padded = words.and_then(|words| words.checked_next_multiple_of(8));
        let (Some(words), Some(blocks)) = (words, padded.and_then(|w| trailer.checked_sub(w)))
        else {
            return Err(damaged());
        };
        let directory = &section[blocks..blocks + words];
        let matches = checksum_matches(checksum as u32, crc32fast::hash(bytes_of(directory)));
        if !matches || items != count as u64 {
            return Err(damaged());
        }
        let mut buckets = Buckets::empty(layout, count);
        let mut first = 0u32;
        for entry in directory.chunks_exact(size) {
            let (numbers, codes) = entry.split_at(NUMBERS);
            let [buckets_in, codes_in] = [numbers[1] as u32, (numbers[1] >> 32) as u32];
            let items_in = numbers[2] as u32;
            let shape =
                Shape::new(layout, buckets_in as usize, codes_in as usize, items_in as usize);
            let start = usize::try_from(numbers[0]).map_err(|_| damaged())?;
            let ends = shape.ends().ok_or_else(damaged)?;
            if start.checked_add(ends[7]).is_none_or(|end| end > blocks) {
                return Err(damaged());
            }
            let branch = Branch {
                start,
                ends,
                first,
                buckets: buckets_in,
                codes: codes_in,
                items: items_in,
                checksum: (numbers[2] >> 32) as u32,
                nearest: numbers[3] as u16,
                farthest: (numbers[3] >> 16) as u16,
            };
            first = first.checked_add(branch.codes).ok_or_else(damaged)?;
            let of = |at: usize| codes[at * width..][..width].to_vec();
            let (nearest, farthest) = (branch.nearest, branch.farthest);
            let outline = Outline { value: of(0), known: of(1), centre: of(2), nearest, farthest };
            buckets.push(branch, &outline);
        }
        let checked = buckets.branches.iter().map(|_| AtomicBool::new(false)).collect();
        buckets.words = Column::mapped(bytes, start, blocks).ok_or_else(damaged)?;
        buckets.file = Some(Checked { path: path.to_path_buf(), branches: checked });
        Ok(Some(buckets))
    }
}

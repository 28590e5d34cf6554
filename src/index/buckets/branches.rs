//! [`Buckets`]: the branches of a search structure, and what is known of each branch.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::block::{Block, Ends, Outline, places};
use crate::index::segment::{Columns, checksum_matches};
use crate::kernel::{Column, Layout, Lines, bytes_of};
use crate::{Error, Result};

/// Number of blocks of a file that are in memory at a time while all blocks are read.
const AT_HAND: usize = 64;

/// Distinct codes in buckets, which are grouped into branches.
pub(in crate::index) struct Buckets {
    pub(super) layout: Layout,
    /// Number of items that have the codes.
    pub(super) count: usize,
    pub(super) branches: Vec<Branch>,
    /// For each branch: the values of the bits that its codes have in common, and a mask of these
    /// bits.
    pub(super) values: Lines,
    pub(super) known: Lines,
    /// Code in the centre of each branch.
    pub(super) centres: Vec<u64>,
    /// The blocks of all branches.
    pub(super) words: Column<u64>,
    pub(super) file: Option<Checked>,
}

/// A branch: the position of its block, and the block's contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) start: usize,
    pub(super) ends: Ends,
    /// Number of the branch's first code among the codes of all branches.
    pub(super) first: u32,
    pub(super) buckets: u32,
    pub(super) codes: u32,
    pub(super) items: u32,
    pub(super) checksum: u32,
    /// Distances of the nearest and the farthest code from the centre.
    pub(super) nearest: u16,
    pub(super) farthest: u16,
}

/// Branches of a file that have passed their checks.
pub(super) struct Checked {
    pub(super) path: PathBuf,
    pub(super) branches: Vec<AtomicBool>,
}

impl Branch {
    /// Returns the codes of a bucket for prefetching, without checks of the block; `None` if they
    /// are out of bounds.
    #[inline]
    pub(super) fn codes_at<'a>(
        &self,
        layout: Layout,
        bucket: usize,
        words: &'a [u64],
    ) -> Option<&'a [u64]> {
        let run = *words.get(self.start + self.ends[3] + bucket)?;
        let (first, many) = places(run);
        let codes = self.start + self.ends[4];
        words.get(codes + layout.words(first)..codes + layout.words(first + many))
    }
}

impl Buckets {
    /// Returns buckets without branches, for the codes of `count` items.
    pub(super) fn empty(layout: Layout, count: usize) -> Self {
        Buckets {
            layout,
            count,
            branches: Vec::new(),
            values: Lines::default(),
            known: Lines::default(),
            centres: Vec::new(),
            words: Column::Lines(Lines::default()),
            file: None,
        }
    }

    /// Adds a branch.
    pub(super) fn push(&mut self, branch: Branch, outline: &Outline) {
        let at = self.branches.len();
        for (words, code) in [(&mut self.values, &outline.value), (&mut self.known, &outline.known)]
        {
            words.resize(self.layout.words(at + 1));
            self.layout.put(words, at, code);
        }
        self.centres.extend_from_slice(&outline.centre);
        self.branches.push(branch);
    }

    /// Returns the memory in bytes, except that of the blocks.
    pub(in crate::index) fn memory(&self) -> usize {
        let outlines = self.values.capacity() + self.known.capacity() + self.centres.capacity();
        8 * outlines + size_of::<Branch>() * self.branches.capacity()
    }

    /// Returns the size of the blocks in bytes, in memory or mapped.
    pub(in crate::index) fn block_bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// Calls `call` with each distinct code and the slots of its items, in the same order every
    /// time. Blocks of a file are released from memory afterwards. Fails if a block is damaged.
    pub(in crate::index) fn each_code(&self, mut call: impl FnMut(&[u64], &[u32])) -> Result<()> {
        let mut code = vec![0; self.layout.code_words()];
        for (number, branch) in self.branches.iter().enumerate() {
            let block = self.block(number)?;
            for bucket in 0..branch.buckets as usize {
                let (start, many) = block.run(bucket);
                for place in start..start + many {
                    self.layout.get(block.codes, place, &mut code);
                    call(&code, block.slots(place));
                }
            }
            if number % AT_HAND == AT_HAND - 1 || number + 1 == self.branches.len() {
                self.words.release(branch.start + branch.ends[7]);
            }
        }
        Ok(())
    }

    pub(in crate::index) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the number of items that have the codes.
    pub(in crate::index) fn len(&self) -> usize {
        self.count
    }

    /// Returns the block of a branch. Fails if the block is damaged, which is checked at its first
    /// use.
    pub(super) fn block(&self, branch: usize) -> Result<Block<'_>> {
        let of = &self.branches[branch];
        // The bounds were checked when the branch was added.
        let words = &self.words[of.start..of.start + of.ends[7]];
        let block = Block::new(words, &of.ends, of.codes as usize);
        if let Some(file) = &self.file
            && !file.branches[branch].load(Ordering::Relaxed)
        {
            let matches = checksum_matches(of.checksum, crc32fast::hash(bytes_of(words)));
            if !matches || !block.is_sound(of.buckets as usize, self.count) {
                return Err(self.damaged(branch));
            }
            file.branches[branch].store(true, Ordering::Relaxed);
        }
        Ok(block)
    }

    fn damaged(&self, branch: usize) -> Error {
        self.wrong(format!("branch {branch} of {}", self.branches.len()))
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        let path = self.file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
        Error::damaged(&path, format!("is damaged: {what} of its search structure"))
    }

    /// Reads all blocks and compares them with the codes of the items. Fails if they are damaged or
    /// do not match.
    pub(in crate::index) fn verify(&self, columns: &Columns) -> Result<()> {
        let width = self.layout.code_words();
        let mut seen = vec![false; self.count];
        let (mut code, mut own) = (vec![0; width], vec![0; width]);
        let [mut value, mut known] = [vec![0; width], vec![0; width]];
        if let Some(file) = &self.file {
            file.branches.iter().for_each(|checked| checked.store(false, Ordering::Relaxed));
        }
        for number in 0..self.branches.len() {
            let (block, branch) = (self.block(number)?, self.branches[number]);
            let centre = &self.centres[number * width..][..width];
            for bucket in 0..branch.buckets as usize {
                let (start, many) = block.run(bucket);
                for place in start..start + many {
                    self.layout.get(block.codes, place, &mut code);
                    let mut agrees = |values: &[u64], of_known: &[u64], at: usize| {
                        self.layout.get(values, at, &mut value);
                        self.layout.get(of_known, at, &mut known);
                        (0..width).all(|word| (code[word] ^ value[word]) & known[word] == 0)
                    };
                    let ruled_in = agrees(block.values, block.known, bucket)
                        && agrees(&self.values, &self.known, number);
                    let distance = crate::hamming(&code, centre);
                    let near =
                        distance >= branch.nearest.into() && distance <= branch.farthest.into();
                    if !ruled_in || !near || !block.slots(place).is_sorted() {
                        return Err(self.damaged(number));
                    }
                    for &slot in block.slots(place) {
                        columns.code(slot as usize, &mut own)?;
                        if own != code || std::mem::replace(&mut seen[slot as usize], true) {
                            return Err(self.damaged(number));
                        }
                    }
                }
            }
        }
        match seen.iter().position(|&seen| !seen) {
            None => Ok(()),
            Some(slot) => Err(self.wrong(format!("item {slot} is in no branch"))),
        }
    }
}

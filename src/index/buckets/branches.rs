//! [`Buckets`]: the branches of a search structure, and what is known of each.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::block::{Block, Ends, Outline, places};
use crate::index::segment::{Columns, checksum_matches};
use crate::kernel::{Column, Layout, Lines, bytes_of};
use crate::{Error, Result};

/// Blocks of a file that are in memory at a time while all are gone through.
const AT_HAND: usize = 64;

/// Distinct codes in buckets, below branches.
pub(in crate::index) struct Buckets {
    pub(super) layout: Layout,
    /// How many items they are of.
    pub(super) count: usize,
    pub(super) branches: Vec<Branch>,
    /// Of each branch: what its codes are in the bits that they have in common, and these bits.
    pub(super) values: Lines,
    pub(super) known: Lines,
    /// And a code in the centre.
    pub(super) centres: Vec<u64>,
    /// The blocks of all branches.
    pub(super) words: Column<u64>,
    pub(super) file: Option<Checked>,
}

/// A branch: where its block is, and what is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) start: usize,
    pub(super) ends: Ends,
    /// The number of its first code among those of all branches.
    pub(super) first: u32,
    pub(super) buckets: u32,
    pub(super) codes: u32,
    pub(super) items: u32,
    pub(super) checksum: u32,
    /// How near to the centre the nearest code is, and how far the farthest.
    pub(super) nearest: u16,
    pub(super) farthest: u16,
}

/// Which branches of a file were seen to be sound.
pub(super) struct Checked {
    pub(super) path: PathBuf,
    pub(super) branches: Vec<AtomicBool>,
}

impl Branch {
    /// The codes of a bucket, wherever they may be; for whoever will look at them soon.
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
    /// Without branches, for the codes of so many items.
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

    /// Takes note of a branch.
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

    /// Bytes that it takes beyond those of its blocks.
    pub(in crate::index) fn memory(&self) -> usize {
        let outlines = self.values.capacity() + self.known.capacity() + self.centres.capacity();
        8 * outlines + size_of::<Branch>() * self.branches.capacity()
    }

    /// Bytes of its blocks, in memory or mapped.
    pub(in crate::index) fn block_bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// Calls with all distinct codes, and for each with the slots of its items, in an order that stays. Blocks
    /// of a file leave the memory behind it.
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

    /// How many items they are of.
    pub(in crate::index) fn len(&self) -> usize {
        self.count
    }

    /// The block of a branch, which was seen to be sound.
    pub(super) fn block(&self, branch: usize) -> Result<Block<'_>> {
        let of = &self.branches[branch];
        // That it is within them was seen when the branch was put in.
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

    /// Reads all of it and compares it with the codes that it is of.
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

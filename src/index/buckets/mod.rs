//! The search structure of a segment: its distinct codes in buckets, each of which rules itself out.
//!
//! Items of equal codes are kept together, so a query looks at distinct codes. These are split by bits,
//! again and again, down to *buckets* of about a hundred codes that agree in many bits. A query that
//! differs from a bucket in more of those bits than the limit finds nothing in it, and whether it does
//! is one comparison that takes eight buckets at a time. Buckets whose codes agree in more bits still
//! stand together in *branches*, which are compared first; a branch also knows a code in its
//! centre and how far from it the farthest is, which tells more where codes are scattered around
//! centres.
//!
//! All of it is words in one piece, the same in memory and in a file, where every branch has its own
//! checksum, compared when a query first looks into it.

mod block;
mod build;
mod directory;
mod nearest;
mod query;
mod slots;
mod split;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use self::block::{Block, Ends, Outline};
pub(super) use self::build::build;
pub(super) use self::query::{Asked, Scratch};
use super::segment::{Columns, checksum_matches};
use crate::kernel::{Column, Layout, Lines, bytes_of};
use crate::{Error, Result};

/// Distinct codes in buckets, below branches.
pub(super) struct Buckets {
    layout: Layout,
    /// How many items they are of.
    count: usize,
    branches: Vec<Branch>,
    /// Of each branch: what its codes are in the bits that they have in common, and these bits.
    values: Lines,
    known: Lines,
    /// And a code in the centre.
    centres: Vec<u64>,
    /// The blocks of all branches.
    words: Column<u64>,
    file: Option<Checked>,
}

/// A branch: where its block is, and what is in it.
#[derive(Clone, Copy, Debug)]
struct Branch {
    start: usize,
    ends: Ends,
    /// The number of its first code among those of all branches.
    first: u32,
    buckets: u32,
    codes: u32,
    items: u32,
    checksum: u32,
    /// How near to the centre the nearest code is, and how far the farthest.
    nearest: u16,
    farthest: u16,
}

/// Which branches of a file were seen to be sound.
struct Checked {
    path: PathBuf,
    branches: Vec<AtomicBool>,
}

impl Branch {
    /// The codes of a bucket, wherever they may be; for whoever will look at them soon.
    #[inline]
    fn codes_at<'a>(&self, layout: Layout, bucket: usize, words: &'a [u64]) -> Option<&'a [u64]> {
        let run = *words.get(self.start + self.ends[2] + bucket)?;
        let (first, many) = (run as u32 as usize, (run >> 32) as usize);
        let codes = self.start + self.ends[3];
        words.get(codes + layout.words(first)..codes + layout.words(first + many))
    }
}

impl Buckets {
    /// Without branches, for the codes of so many items.
    fn empty(layout: Layout, count: usize) -> Self {
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
    fn push(&mut self, branch: Branch, outline: &Outline) {
        let at = self.branches.len();
        for (words, code) in [(&mut self.values, &outline.value), (&mut self.known, &outline.known)]
        {
            words.resize(self.layout.words(at + 1));
            self.layout.put(words, at, code);
        }
        self.centres.extend_from_slice(&outline.centre);
        self.branches.push(branch);
    }

    /// Bytes that it takes in memory, beyond what is mapped.
    pub(super) fn memory(&self) -> usize {
        let blocks = if self.file.is_some() { 0 } else { self.words.len() };
        let outlines = self.values.capacity() + self.known.capacity() + self.centres.capacity();
        8 * (blocks + outlines) + size_of::<Branch>() * self.branches.capacity()
    }

    /// How many distinct codes there are, with the free places behind buckets.
    pub(super) fn codes(&self) -> usize {
        self.branches.iter().map(|branch| branch.codes as usize).sum()
    }

    /// The block of a branch, which was seen to be sound.
    fn block(&self, branch: usize) -> Result<Block<'_>> {
        let of = &self.branches[branch];
        // That it is within them was seen when the branch was put in.
        let words = &self.words[of.start..of.start + of.ends[6]];
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
        let path = self.file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
        let of = self.branches.len();
        Error::damaged(
            &path,
            format!("is damaged: branch {branch} of {of} of its search structure"),
        )
    }

    /// Reads all of it and compares it with the codes that it is of.
    pub(super) fn verify(&self, columns: &Columns) -> Result<()> {
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
        let all = seen.iter().all(|&seen| seen);
        if all { Ok(()) } else { Err(self.damaged(self.branches.len())) }
    }
}

//! A branch of codes in buckets, as stored in memory and in files. It is one block of words, so
//! that all data that a query reads is in one place.
//!
//! ```text
//! values    of each bucket: what its codes are in the bits that they have in common
//! known     of each bucket: these bits
//! centres   of each bucket: a code in the centre
//! nearly    of each bucket: the bits in which no code differs from that more than three times
//! runs      of each bucket: the number of its first code in the block, above it how many there are, and in
//!           the highest bit whether each of them is the code of one item alone
//! codes     bucket after bucket, each from a multiple of 16 on
//! offsets   of each code: where its slots begin, and in the end where the last end
//! slots     of the items that have the code, ascending
//! ```

use super::split::Bits;
use crate::hamming;
use crate::index::scan::Sample;
use crate::kernel::{Layout, Lines, halves};

/// Alignment of the number of each bucket's first code, so that a bucket consists of whole scan
/// groups.
pub(super) const ALIGNED: usize = 16;

/// Highest bit of a run: set if each code belongs to only one item.
const SINGLE: u64 = 1 << 63;

/// Returns the number of the first code of a run, and the number of codes.
#[inline]
pub(super) fn places(run: u64) -> (usize, usize) {
    (run as u32 as usize, ((run & !SINGLE) >> 32) as usize)
}

/// Ends of the parts of a block, in words; all parts consist of whole lines.
pub(super) type Ends = [usize; 8];

/// Sizes of a block's contents.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    layout: Layout,
    pub(super) buckets: usize,
    /// Number of codes, including unused positions behind buckets.
    pub(super) codes: usize,
    pub(super) items: usize,
}

impl Shape {
    pub(super) fn new(layout: Layout, buckets: usize, codes: usize, items: usize) -> Self {
        Shape { layout, buckets, codes, items }
    }

    /// Returns the ends of the parts; `None` if they overflow.
    pub(super) fn ends(self) -> Option<Ends> {
        let descriptions = self.layout.words(self.buckets);
        let lines = |words: usize| words.checked_next_multiple_of(8);
        let sizes = [
            descriptions,
            descriptions,
            descriptions,
            descriptions,
            lines(self.buckets)?,
            self.layout.words(self.codes),
            lines((self.codes + 1).div_ceil(2))?,
            lines(self.items.div_ceil(2))?,
        ];
        let mut end = 0usize;
        let mut ends = [0; 8];
        for (size, place) in sizes.into_iter().zip(&mut ends) {
            end = end.checked_add(size)?;
            *place = end;
        }
        Some(ends)
    }
}

/// View of a block's parts.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) values: &'a [u64],
    pub(super) known: &'a [u64],
    pub(super) centres: &'a [u64],
    pub(super) nearly: &'a [u64],
    runs: &'a [u64],
    pub(super) codes: &'a [u64],
    offsets: &'a [u32],
    slots: &'a [u32],
}

impl<'a> Block<'a> {
    /// Returns the view of a block. `ends` must be those of a shape with `codes` codes, and `words`
    /// must have the length of that shape.
    #[inline]
    pub(super) fn new(words: &'a [u64], ends: &Ends, codes: usize) -> Self {
        let part = |at: usize| &words[ends[at - 1]..ends[at]];
        Block {
            values: &words[..ends[0]],
            known: part(1),
            centres: part(2),
            nearly: part(3),
            runs: part(4),
            codes: part(5),
            offsets: &halves(part(6))[..codes + 1],
            slots: halves(part(7)),
        }
    }

    /// Returns the number of a bucket's first code in the block, and the number of its codes.
    pub(super) fn run(&self, bucket: usize) -> (usize, usize) {
        places(self.runs[bucket])
    }

    /// Returns true if each code of a bucket belongs to only one item.
    pub(super) fn is_single(&self, bucket: usize) -> bool {
        self.runs[bucket] & SINGLE != 0
    }

    /// Returns the number of codes, including unused positions behind buckets.
    pub(super) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the slots of the items that have a code.
    pub(super) fn slots(&self, code: usize) -> &'a [u32] {
        &self.slots[self.offsets[code] as usize..self.offsets[code + 1] as usize]
    }

    /// Returns true if all numbers in the block are within bounds, with slots below `count`.
    pub(super) fn is_sound(&self, buckets: usize, count: usize) -> bool {
        let codes = self.offsets.len() - 1;
        let fits = |&run: &u64| {
            let (first, many) = places(run);
            let single =
                |code: usize| self.offsets[code + 1].checked_sub(self.offsets[code]) == Some(1);
            first.is_multiple_of(ALIGNED)
                && first + many <= codes
                && (run & SINGLE == 0 || (first..first + many).all(single))
        };
        self.runs[..buckets].iter().all(fits)
            && self.offsets.is_sorted()
            && self.offsets.last().is_some_and(|&end| end as usize <= self.slots.len())
            && self.slots.iter().fold(0, |last, &slot| last.max(slot)) < count as u32
    }
}

/// Properties that all codes of a branch share.
pub(super) struct Outline {
    pub(super) value: Vec<u64>,
    pub(super) known: Vec<u64>,
    /// A code in the centre of all codes, and the distances of the nearest and the farthest code
    /// from it.
    pub(super) centre: Vec<u64>,
    pub(super) nearest: u16,
    pub(super) farthest: u16,
}

impl Outline {
    /// Returns the outline of codes, of which there must be at least one.
    pub(super) fn of(layout: Layout, codes: &[u64]) -> Self {
        let width = layout.code_words();
        let (value, known) = common(layout, codes);
        let centre = Sample::new(codes, width).centre();
        let distances = codes.chunks_exact(width).map(|code| hamming(code, &centre) as u16);
        let (nearest, farthest) = distances
            .fold((u16::MAX, 0), |(near, far), distance| (near.min(distance), far.max(distance)));
        Outline { value, known, centre, nearest, farthest }
    }
}

/// Returns the values of the bits that all codes have in common, and a mask of these bits.
fn common(layout: Layout, codes: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let width = layout.code_words();
    let (mut all, mut any) = (vec![u64::MAX; width], vec![0; width]);
    for code in codes.chunks_exact(width) {
        for (word, code) in code.iter().enumerate() {
            all[word] &= code;
            any[word] |= code;
        }
    }
    let mut known: Vec<u64> = all.iter().zip(&any).map(|(all, any)| !(all ^ any)).collect();
    cut(layout, &mut known);
    (all, known)
}

/// Clears the bits beyond the length of a code.
fn cut(layout: Layout, code: &mut [u64]) {
    if let Some(last) = code.last_mut().filter(|_| !layout.bits().is_multiple_of(64)) {
        *last &= (1 << (layout.bits() % 64)) - 1;
    }
}

/// Distinct codes of a branch, and the slots of each code's items.
pub(super) struct Contents<'a> {
    pub(super) layout: Layout,
    /// Codes, bucket after bucket.
    pub(super) codes: &'a [u64],
    /// End of each bucket, in codes.
    pub(super) ends: &'a [usize],
    /// Function that returns the slots of a code, given its position among the codes.
    pub(super) slots: &'a dyn Fn(usize) -> &'a [u32],
}

impl Contents<'_> {
    /// Builds the block. Returns its shape, the ends of its parts, and its words.
    pub(super) fn to_block(&self) -> (Shape, Ends, Lines) {
        let Contents { layout, codes, ends, slots } = *self;
        let width = layout.code_words();
        let starts = || std::iter::once(0).chain(ends.iter().copied());
        let padded: usize =
            starts().zip(ends).map(|(start, end)| (end - start).next_multiple_of(ALIGNED)).sum();
        let items = (0..codes.len() / width).map(|code| slots(code).len()).sum();
        let shape = Shape::new(layout, ends.len(), padded, items);
        let parts = shape.ends().unwrap_or_default();
        let mut words = Lines::zeros(parts[7]);
        let mut first = 0;
        let mut offsets: Vec<u32> = Vec::with_capacity(padded + 1);
        let mut listed: Vec<u32> = Vec::with_capacity(items);
        for (bucket, (start, &end)) in starts().zip(ends).enumerate() {
            let (value, known) = common(layout, &codes[start * width..end * width]);
            layout.put(&mut words, bucket, &value);
            layout.put(&mut words[parts[0]..], bucket, &known);
            let (centre, mut nearly) =
                Bits::of(&codes[start * width..end * width], width).nearly_common();
            cut(layout, &mut nearly);
            layout.put(&mut words[parts[1]..], bucket, &centre);
            layout.put(&mut words[parts[2]..], bucket, &nearly);
            let single = (start..end).all(|code| slots(code).len() == 1);
            let run = first as u64 | ((end - start) as u64) << 32;
            words[parts[3] + bucket] = run | if single { SINGLE } else { 0 };
            for code in start..end {
                let place = first + code - start;
                layout.put(&mut words[parts[4]..], place, &codes[code * width..][..width]);
                offsets.push(listed.len() as u32);
                listed.extend_from_slice(slots(code));
            }
            first += (end - start).next_multiple_of(ALIGNED);
            offsets.resize(first, listed.len() as u32);
        }
        offsets.push(listed.len() as u32);
        pack(&offsets, &mut words[parts[5]..parts[6]]);
        pack(&listed, &mut words[parts[6]..]);
        (shape, parts, words)
    }
}

/// Packs numbers into words, two to each.
fn pack(numbers: &[u32], words: &mut [u64]) {
    for (pair, word) in numbers.chunks(2).zip(words) {
        *word = u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32;
    }
}

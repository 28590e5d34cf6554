//! Builds buckets from the codes of a segment, a part of the codes at a time.

use rayon::prelude::*;

use super::block::{Contents, Ends, Outline, Shape};
use super::branches::{Branch, Buckets};
use super::split::{bit_to_split, has_bit, part};
use crate::Result;
use crate::index::scan::Centres;
use crate::index::segment::{BLOCK, Columns, Kind};
use crate::kernel::{Column, Kernel, Layout, Lines, bytes_of};

/// Maximum number of distinct codes in a bucket. Tests use small sizes, so that few codes fill many
/// buckets and branches.
const BUCKET: usize = if cfg!(test) { 8 } else { 128 };

/// Maximum number of distinct codes in a branch.
const BRANCH: usize = if cfg!(test) { 64 } else { 1 << 13 };

/// Number of codes in the sample that determines how all codes are cut into parts.
const SAMPLE: usize = 1 << 14;

/// Approximate number of items in a batch that is put into buckets together, or one in
/// `TOGETHER_PART` of all items if that is more. With codes of 64 bits each item takes about forty
/// bytes of memory. Each batch reads all codes once.
const TOGETHER: usize = if cfg!(test) { 512 } else { 1 << 20 };
const TOGETHER_PART: usize = 16;

/// Approximate number of items in a part; several parts are processed in parallel.
const PART: usize = if cfg!(test) { 256 } else { 1 << 18 };

/// Minimum number of words of codes for which buckets pay off. Scanning fewer words takes hardly
/// any time.
pub(in crate::index) const LEAST_WORDS: usize = if cfg!(fuzzing) { 8 } else { 1 << 14 };

/// Returns true if there are enough codes for buckets to pay off, and at most `i32::MAX` codes.
pub(in crate::index) fn are_worth_it(columns: &Columns) -> bool {
    columns.code_words().len() >= LEAST_WORDS && columns.len() <= i32::MAX as usize
}

/// Builds buckets from the codes of a segment, in memory.
///
/// # Errors
/// Fails if the codes are damaged.
pub(in crate::index) fn build(columns: &Columns) -> Result<Buckets> {
    let mut words = Lines::default();
    let mut buckets = build_to(columns, |block| {
        let start = words.len();
        words.resize(start + block.len());
        words[start..].copy_from_slice(block);
        Ok(())
    })?;
    words.shrink();
    buckets.words = Column::Lines(words);
    Ok(buckets)
}

/// Builds buckets from the codes of a segment. `write` takes the words of each block in turn. Only
/// the blocks of one batch are in memory at a time.
///
/// # Errors
/// Fails if the codes are damaged, or if `write` fails.
pub(in crate::index) fn build_to(
    columns: &Columns,
    mut write: impl FnMut(&[u64]) -> Result<()>,
) -> Result<Buckets> {
    let (layout, count) = (columns.layout(), columns.len());
    let parts = Parts::of(columns);
    let mut buckets = Buckets::empty(layout, count);
    let (mut start, mut first) = (0, 0u32);
    for together in parts.together(count) {
        let collected = parts.collect(columns, &together)?;
        // In the order of parts, for any number of threads.
        let done: Vec<Vec<Made>> = collected.into_par_iter().map(|part| part.branches()).collect();
        for made in done.into_iter().flatten() {
            let Made { outline, shape, ends, words } = made;
            write(&words)?;
            let branch = Branch {
                start,
                ends,
                first,
                buckets: shape.buckets as u32,
                codes: shape.codes as u32,
                items: shape.items as u32,
                checksum: crc32fast::hash(bytes_of::<u64>(&words)),
                nearest: outline.nearest,
                farthest: outline.farthest,
            };
            buckets.push(branch, &outline);
            start += words.len();
            first += branch.codes;
        }
    }
    Ok(buckets)
}

/// A built branch.
struct Made {
    outline: Outline,
    shape: Shape,
    ends: Ends,
    words: Lines,
}

/// Rule that cuts codes into parts: first by cluster, if the codes lie in clusters, then by bits
/// that are chosen from a sample.
///
/// Codes of supervised hashing lie in clusters, one for each class. Cuts by bits alone would
/// scatter each cluster over all branches, because every bit is flipped in a few of its codes.
struct Parts {
    centres: Option<Centres>,
    /// One cut for each cluster.
    roots: Vec<Cut>,
    /// Approximate number of codes of each part.
    sizes: Vec<usize>,
}

enum Cut {
    Part(usize),
    Bit { bit: usize, halves: Box<[Cut; 2]> },
}

impl Parts {
    fn of(columns: &Columns) -> Self {
        let (layout, count, codes) = (columns.layout(), columns.len(), columns.code_words());
        let (width, kernel) = (layout.code_words(), Kernel::available()[0]);
        let step = count.div_ceil(SAMPLE).max(1);
        let mut sample = vec![0; count.div_ceil(step) * width];
        let places = sample.chunks_exact_mut(width);
        for (at, code) in (0..count).step_by(step).zip(places) {
            layout.get(codes, at, code);
            columns.have_read(at / BLOCK * BLOCK);
        }
        columns.have_read(count);
        let get = |at: usize, out: &mut [u64]| out.copy_from_slice(&sample[at * width..][..width]);
        let centres = Centres::find(layout, sample.len() / width, get)
            .filter(|centres| centres.len() * BRANCH / 8 <= count);
        let mut clusters = vec![Vec::new(); centres.as_ref().map_or(1, Centres::len)];
        let mut hits = Vec::new();
        for code in sample.chunks_exact(width) {
            let cluster = centres.as_ref().map_or(0, |of| of.nearest(kernel, code, &mut hits));
            clusters[cluster].extend_from_slice(code);
        }
        let mut sizes = Vec::new();
        let most = PART.div_ceil(step);
        let cut = |mut sample: Vec<u64>| Cut::of(&mut sample, width, most, step, &mut sizes);
        let roots = clusters.into_iter().map(cut).collect();
        Parts { centres, roots, sizes }
    }

    /// Returns the ranges of parts that are processed together.
    fn together(&self, count: usize) -> Vec<std::ops::Range<usize>> {
        let most = TOGETHER.max(count / TOGETHER_PART);
        let mut ranges = Vec::new();
        let (mut start, mut items) = (0, 0);
        for (part, size) in self.sizes.iter().enumerate() {
            if items + size > most && part > start {
                ranges.push(start..part);
                (start, items) = (part, 0);
            }
            items += size;
        }
        ranges.push(start..self.sizes.len());
        ranges
    }

    /// Returns the part of a code; `hits` is a buffer.
    fn part_of(&self, kernel: Kernel, code: &[u64], hits: &mut Vec<u64>) -> usize {
        let cluster = self.centres.as_ref().map_or(0, |of| of.nearest(kernel, code, hits));
        let mut cut = &self.roots[cluster];
        loop {
            match cut {
                Cut::Part(part) => return *part,
                Cut::Bit { bit, halves } => cut = &halves[usize::from(has_bit(code, *bit))],
            }
        }
    }

    /// Collects the codes and slots of a range of parts. Fails if the codes are damaged.
    fn collect(&self, columns: &Columns, parts: &std::ops::Range<usize>) -> Result<Vec<Part>> {
        let layout = columns.layout();
        let empty = |part: usize| Part::with_capacity(layout, self.sizes[part]);
        let mut collected: Vec<Part> = parts.clone().map(empty).collect();
        let (mut code, mut hits) = (vec![0; layout.code_words()], Vec::new());
        let kernel = Kernel::available()[0];
        for slot in 0..columns.len() {
            if slot.is_multiple_of(BLOCK) {
                columns.have_read(slot);
                columns.check(Kind::Codes, slot)?;
            }
            layout.get(columns.code_words(), slot, &mut code);
            let part = self.part_of(kernel, &code, &mut hits);
            if parts.contains(&part) {
                let part = &mut collected[part - parts.start];
                part.codes.extend_from_slice(&code);
                part.slots.push(slot as u32);
            }
        }
        columns.have_read(columns.len());
        Ok(collected)
    }
}

impl Cut {
    /// Cuts a sample into parts of at most `most` codes. A sampled code stands for `step` codes.
    fn of(
        sample: &mut [u64],
        width: usize,
        most: usize,
        step: usize,
        sizes: &mut Vec<usize>,
    ) -> Self {
        let count = sample.len() / width;
        let bit = if count > most { bit_to_split(sample, width) } else { None };
        let Some(bit) = bit else {
            sizes.push(count * step);
            return Cut::Part(sizes.len() - 1);
        };
        let mut numbers = vec![0; count];
        let without = part(sample, &mut numbers, width, bit);
        let (without, with) = sample.split_at_mut(without * width);
        let halves = [without, with].map(|half| Cut::of(half, width, most, step, sizes));
        Cut::Bit { bit, halves: Box::new(halves) }
    }
}

/// Codes with their slots, which ascend.
struct Part {
    layout: Layout,
    codes: Vec<u64>,
    slots: Vec<u32>,
}

impl Part {
    fn with_capacity(layout: Layout, items: usize) -> Self {
        let codes = Vec::with_capacity(items * layout.code_words());
        Part { layout, codes, slots: Vec::with_capacity(items) }
    }

    /// Returns the distinct codes, the offsets of each code's slots, and the slots.
    fn distinct(self) -> (Vec<u64>, Vec<u32>, Vec<u32>) {
        let width = self.layout.code_words();
        let mut order: Vec<(u64, u32)> =
            self.codes.chunks_exact(width).map(|code| code[0]).zip(0..).collect();
        order.sort_unstable();
        let code = |at: u32| &self.codes[at as usize * width..][..width];
        if width > 1 {
            for same in order.chunk_by_mut(|one, other| one.0 == other.0) {
                same.sort_unstable_by(|one, other| {
                    code(one.1).cmp(code(other.1)).then(one.1.cmp(&other.1))
                });
            }
        }
        let (mut codes, mut offsets) = (Vec::new(), Vec::new());
        let mut slots = Vec::with_capacity(order.len());
        for &(_, at) in &order {
            let is_new = codes.len() < width || &codes[codes.len() - width..] != code(at);
            if is_new {
                codes.extend_from_slice(code(at));
                offsets.push(slots.len() as u32);
            }
            slots.push(self.slots[at as usize]);
        }
        offsets.push(slots.len() as u32);
        (codes, offsets, slots)
    }

    fn branches(self) -> Vec<Made> {
        let layout = self.layout;
        let (mut codes, offsets, slots) = self.distinct();
        let mut numbers: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
        let mut made = Vec::new();
        let of_number = |number: u32| {
            &slots[offsets[number as usize] as usize..offsets[number as usize + 1] as usize]
        };
        let mut ranges = Vec::new();
        split(&mut codes, &mut numbers, layout.code_words(), BRANCH, 0, &mut ranges);
        for range in ranges {
            let width = layout.code_words();
            let codes = &mut codes[range.start * width..range.end * width];
            let numbers = &mut numbers[range];
            let outline = Outline::of(layout, codes);
            let mut buckets = Vec::new();
            split(codes, numbers, width, BUCKET, 0, &mut buckets);
            let bucket_ends: Vec<usize> = buckets.iter().map(|bucket| bucket.end).collect();
            let slots = &|at: usize| of_number(numbers[at]);
            let contents = Contents { layout, codes, ends: &bucket_ends, slots };
            let (shape, ends, words) = contents.to_block();
            made.push(Made { outline, shape, ends, words });
        }
        made
    }
}

/// Splits distinct codes, together with their numbers, into ranges of at most `most` codes.
fn split(
    codes: &mut [u64],
    numbers: &mut [u32],
    width: usize,
    most: usize,
    first: usize,
    ranges: &mut Vec<std::ops::Range<usize>>,
) {
    if numbers.is_empty() {
        return;
    }
    let bit = if numbers.len() > most { bit_to_split(codes, width) } else { None };
    let Some(bit) = bit else {
        ranges.push(first..first + numbers.len());
        return;
    };
    let without = part(codes, numbers, width, bit);
    let (codes, more_codes) = codes.split_at_mut(without * width);
    let (numbers, more_numbers) = numbers.split_at_mut(without);
    split(codes, numbers, width, most, first, ranges);
    split(more_codes, more_numbers, width, most, first + without, ranges);
}

//! Builds tables from the distinct codes of a segment.

use super::key::{WORDS, choose};
use super::parts::{ALIGNED, CLASSES, PIECE, SINGLE, Tables, class, places};
use crate::Result;
use crate::index::buckets::Buckets;
use crate::kernel::{Column, Lines, bytes_of};

/// Number of codes in the sample that determines the bits of keys.
const SAMPLE: usize = if cfg!(test) { 256 } else { 1 << 13 };

/// Number of words in a part. All codes are read once to fill in each part.
const TOGETHER: usize = if cfg!(test) { 1 << 7 } else { 1 << 22 };

/// Returns the number of keys for codes of `bits` bits, and the number of bits of each key. The
/// number of bits is chosen such that a few codes share each key value in use. With more keys,
/// codes differ in fewer bits of each key, but tables take more space.
fn shape(bits: usize, distinct: usize) -> (usize, usize) {
    let keys = match bits {
        0..=16 => 1,
        17..=32 => 2,
        33..=48 => 3,
        49..=64 => 4,
        _ => 6,
    };
    let size = (distinct.max(1).ilog2() as usize).saturating_sub(2).clamp(4, 18);
    (keys, size.min(bits / keys).max(1))
}

/// Builds tables in memory; returns `None` if the codes are too long for tables.
///
/// # Errors
/// Fails if the codes are damaged.
pub(in crate::index) fn build(buckets: &Buckets) -> Result<Option<Tables>> {
    let mut words = Lines::default();
    let tables = build_to(buckets, |part| {
        let start = words.len();
        words.resize(start + part.len());
        words[start..].copy_from_slice(part);
        Ok(())
    })?;
    words.shrink();
    Ok(tables.map(|tables| Tables { words: Column::Lines(words), ..tables }))
}

/// Builds tables. `write` takes their words, whole lines at a time. Only one part of the words is
/// in memory at a time.
///
/// # Errors
/// Fails if the codes are damaged, or if `write` fails.
pub(in crate::index) fn build_to(
    buckets: &Buckets,
    write: impl FnMut(&[u64]) -> Result<()>,
) -> Result<Option<Tables>> {
    let (layout, count) = (buckets.layout(), buckets.len());
    if layout.code_words() > WORDS {
        return Ok(None);
    }
    let (mut distinct, mut sizes) = (0, [0usize; CLASSES]);
    let mut sampled = Vec::new();
    let step = count.div_ceil(SAMPLE).max(1);
    buckets.each_code(|code, slots| {
        if distinct % step == 0 {
            sampled.extend_from_slice(code);
        }
        distinct += 1;
        if slots.len() > 1 {
            sizes[class(slots.len())] += 1 + slots.len();
        }
    })?;
    // The largest groups come first.
    let mut classes = [0u32; CLASSES];
    let mut grouped = 0;
    for class in (0..CLASSES).rev() {
        classes[class] = grouped as u32;
        grouped += sizes[class];
    }
    if grouped >= SINGLE as usize {
        // Entries could not represent the positions of groups.
        return Ok(None);
    }
    let (keys, size) = shape(layout.bits(), distinct);
    let keys = choose(&sampled, layout.code_words(), layout.bits(), keys, size);
    // The positions do not overflow in practice: the buckets already hold this many codes.
    let Some((groups, tables)) = places(layout, keys, distinct, grouped) else { return Ok(None) };
    let mut pieces = Pieces { write, sums: Vec::new(), sum: crc32fast::Hasher::new(), words: 0 };

    in_parts(groups.len(), &mut pieces, |from, words| {
        let mut next = classes;
        buckets.each_code(|_, slots| {
            if let Some(group) = next_group(&mut next, slots) {
                let numbers = std::iter::once(slots.len() as u32 - 1).chain(slots.iter().copied());
                let places = group as usize..;
                places.zip(numbers).for_each(|(at, number)| put_half(words, from, at, number));
            }
        })
    })?;
    for table in &tables {
        let mut starts = vec![0u32; (1 << table.key.bits) + 1];
        buckets.each_code(|code, _| starts[table.key.of(code) as usize + 1] += 1)?;
        for key in 1..starts.len() {
            starts[key] += starts[key - 1];
        }
        in_parts(table.starts.len(), &mut pieces, |from, words| {
            (0..).zip(&starts).for_each(|(at, &start)| put_half(words, from, at, start));
            Ok(())
        })?;
        let mut next = Vec::new();
        in_parts(table.codes.len(), &mut pieces, |from, words| {
            next.clone_from(&starts);
            let codes = words.len() / layout.words(ALIGNED) * ALIGNED;
            let first = from / layout.words(ALIGNED) * ALIGNED;
            buckets.each_code(|code, _| {
                let position = &mut next[table.key.of(code) as usize];
                let at = (*position as usize).wrapping_sub(first);
                *position += 1;
                if at < codes {
                    layout.put(words, at, code);
                }
            })
        })?;
        in_parts(table.entries.len(), &mut pieces, |from, words| {
            next.clone_from(&starts);
            let mut groups = classes;
            buckets.each_code(|code, slots| {
                let position = &mut next[table.key.of(code) as usize];
                let group = next_group(&mut groups, slots);
                let entry = group.unwrap_or_else(|| SINGLE | slots.first().copied().unwrap_or(0));
                put_half(words, from, *position as usize, entry);
                *position += 1;
            })
        })?;
    }
    let checksums = pieces.finish();
    let words = Column::Lines(Lines::default());
    Ok(Some(Tables {
        layout,
        count,
        distinct,
        groups,
        classes,
        tables,
        words,
        checksums,
        file: None,
    }))
}

/// Reserves and returns the position of a group for these items; `None` if there is only one.
fn next_group(next: &mut [u32; CLASSES], slots: &[u32]) -> Option<u32> {
    (slots.len() > 1).then(|| {
        let place = &mut next[class(slots.len())];
        std::mem::replace(place, *place + 1 + slots.len() as u32)
    })
}

/// Writes `number` as half word `at` of a list of words, if that half word is in `words`, which
/// begin at word `from` of the list. The half word must be zero before.
fn put_half(words: &mut [u64], from: usize, at: usize, number: u32) {
    if let Some(word) = words.get_mut((at / 2).wrapping_sub(from)) {
        *word |= u64::from(number) << (32 * (at % 2));
    }
}

/// Writes `count` words, a part at a time. `fill` takes the position of a part's first word, and
/// the words to fill, which are zero.
fn in_parts(
    count: usize,
    pieces: &mut Pieces<impl FnMut(&[u64]) -> Result<()>>,
    mut fill: impl FnMut(usize, &mut [u64]) -> Result<()>,
) -> Result<()> {
    let mut words = Lines::default();
    for from in (0..count).step_by(TOGETHER) {
        words.clear();
        words.resize(TOGETHER.min(count - from));
        fill(from, &mut words)?;
        pieces.push(&words)?;
    }
    Ok(())
}

/// Writer of words, which computes the checksums of pieces.
struct Pieces<W> {
    write: W,
    sums: Vec<u32>,
    sum: crc32fast::Hasher,
    words: usize,
}

impl<W: FnMut(&[u64]) -> Result<()>> Pieces<W> {
    fn push(&mut self, words: &[u64]) -> Result<()> {
        (self.write)(words)?;
        let mut rest = words;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PIECE - self.words % PIECE));
            self.sum.update(bytes_of(now));
            self.words += now.len();
            if self.words.is_multiple_of(PIECE) {
                self.sums.push(std::mem::take(&mut self.sum).finalize());
            }
            rest = later;
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<u32> {
        if !self.words.is_multiple_of(PIECE) {
            self.sums.push(self.sum.finalize());
        }
        self.sums
    }
}

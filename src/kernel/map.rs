//! Files seen as memory.

use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::disk::File;

/// A number that any bits are, so that bytes of a file can be seen as such.
///
/// # Safety
/// Every pattern of its bits is a value, and it has no bytes that are not its own.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: whole numbers without padding; all bits are values.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: no padding either, and all bits are values, if not all are numbers.
unsafe impl Plain for f32 {}

/// Bytes of a file that never change: mapped, or copied.
#[derive(Clone)]
pub(crate) struct Mapped {
    map: Arc<Mmap>,
    /// Where in the file they are.
    bytes: Range<u64>,
    is_copy: bool,
}

impl Mapped {
    /// Maps some bytes of a file, which no writer of ours changes or cuts off for as long as the file
    /// is there.
    pub(crate) fn map(file: &File, bytes: Range<u64>) -> io::Result<Self> {
        let Some(file) = file.real() else { return Mapped::copy(file, bytes) };
        let len = length(&bytes)?;
        let mut options = MmapOptions::new();
        // SAFETY: what is mapped must not change. No program of ours does that: the caller names
        // bytes that are written once, before the file has its name, and files are replaced and
        // not shortened. Of other programs it cannot be helped, as with every mapped file. An
        // index looks at its file before and after it reads what is mapped, to tell.
        let map = unsafe { options.offset(bytes.start).len(len).map(file) }?;
        Ok(Mapped { map: Arc::new(map), bytes, is_copy: false })
    }

    /// The same bytes of the same file, in a mapping of their own.
    pub(crate) fn again(&self, file: &File) -> io::Result<Self> {
        Mapped::map(file, self.bytes.clone())
    }

    /// Takes some bytes out of memory, unless they are a copy; they are read from the file again when they are next looked at.
    /// So what goes through a whole file once does not fill the memory with it.
    fn release(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        if !bytes.is_empty() && !self.is_copy {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the mapping is one of a file, and read-only: its bytes come back as they were.
            let advised =
                unsafe { self.map.unchecked_advise_range(advice, bytes.start, bytes.len()) };
            // Without it the memory is released later.
            advised.ok();
        }
        #[cfg(not(unix))]
        drop(bytes);
    }

    /// A copy of some bytes of a file, which nobody can change any more.
    pub(crate) fn copy(file: &File, bytes: Range<u64>) -> io::Result<Self> {
        let mut copy = MmapMut::map_anon(length(&bytes)?)?;
        file.read_exact_at(&mut copy, bytes.start)?;
        Ok(Mapped { map: Arc::new(copy.make_read_only()?), bytes, is_copy: true })
    }
}

fn length(bytes: &Range<u64>) -> io::Result<usize> {
    usize::try_from(bytes.end.saturating_sub(bytes.start)).map_err(io::Error::other)
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

/// Eight words where vector instructions like them best: none of their loads crosses two lines of a
/// cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Words in such lines.
#[derive(Default)]
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    pub(crate) fn with_capacity(words: usize) -> Self {
        Lines(Vec::with_capacity(words.div_ceil(8)))
    }

    /// So many words, which are whole lines, all zero.
    pub(crate) fn zeros(words: usize) -> Self {
        let mut lines = Lines::with_capacity(words);
        lines.resize(words);
        lines
    }

    /// Appends zeros, or drops words, up to so many, which are whole lines.
    pub(crate) fn resize(&mut self, words: usize) {
        self.0.resize(words.div_ceil(8), Line([0; 8]));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Gives back the memory that it does not need.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// The words as bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let words: &mut [u64] = self;
        // SAFETY: words have no bytes that are not their own, and any bytes are words.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
    }

    /// How many words there is room for.
    pub(crate) fn capacity(&self) -> usize {
        8 * self.0.capacity()
    }
}

impl Deref for Lines {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: a line is eight words and nothing else.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 8 * self.0.len()) }
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 8 * self.0.len()) }
    }
}

/// Numbers as the bytes that files have of them.
pub(crate) fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: `Plain` numbers have no bytes that are not their own.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Lines of words that are asked for ahead of time, at most: once some of them are looked at, the processor
/// asks for those that follow by itself.
const AHEAD: usize = 4;

/// Asks for words that will soon be looked at, the first of them at least.
#[inline(always)]
pub(crate) fn prefetch(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(8).take(AHEAD) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it only hints at an address, which is within the words.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _unused = (words, AHEAD);
}

/// Words as numbers of half their length, the lower half first.
pub(crate) fn halves(words: &[u64]) -> &[u32] {
    // SAFETY: words are aligned as their halves, and any bits are a number.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 2 * words.len()) }
}

/// Numbers in memory: one's own, or those of a file, mapped or copied as a whole.
pub(crate) enum Column<T> {
    Owned(Vec<T>),
    Lines(Lines),
    Mapped { bytes: Mapped, start: usize, count: usize },
}

impl<T: Plain> Column<T> {
    /// `count` numbers from byte `start` on; `None` if they are not within the bytes, or not where
    /// such a number can stand.
    pub(crate) fn mapped(bytes: &Mapped, start: usize, count: usize) -> Option<Self> {
        let end = count.checked_mul(size_of::<T>())?.checked_add(start)?;
        let aligned = (bytes.as_ptr() as usize).checked_add(start)?.is_multiple_of(align_of::<T>());
        (end <= bytes.len() && aligned).then(|| Column::Mapped {
            bytes: bytes.clone(),
            start,
            count,
        })
    }

    /// The bytes that they are in, unless they are one's own.
    pub(crate) fn mapped_bytes(&self) -> Option<&Mapped> {
        match self {
            Column::Mapped { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// The same numbers in other bytes; `None` if they are one's own.
    pub(crate) fn within(&self, bytes: &Mapped) -> Option<Self> {
        match *self {
            Column::Mapped { start, count, .. } => Column::mapped(bytes, start, count),
            _ => None,
        }
    }

    /// Takes the first numbers out of memory, up to this one, if they are a file's.
    pub(crate) fn release(&self, end: usize) {
        if let Column::Mapped { bytes, start, .. } = self {
            bytes.release(*start..start + end * size_of::<T>());
        }
    }

    /// The numbers as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        bytes_of(self)
    }

    /// Bytes that were allocated and are not used.
    pub(crate) fn spare(&self) -> usize {
        match self {
            Column::Owned(numbers) => size_of::<T>() * (numbers.capacity() - numbers.len()),
            Column::Lines(words) => 8 * (words.capacity() - words.len()),
            Column::Mapped { .. } => 0,
        }
    }
}

impl<T: Plain> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Column::Owned(numbers) => numbers,
            Column::Lines(lines) => {
                let words: &[u64] = lines;
                let count = size_of_val(words) / size_of::<T>();
                // SAFETY: words are aligned as any such number, and any bits are one.
                unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), count) }
            }
            Column::Mapped { bytes, start, count } => {
                // SAFETY: `mapped` saw to bounds and alignment, and any bits are such a number.
                unsafe { std::slice::from_raw_parts(bytes.as_ptr().add(*start).cast(), *count) }
            }
        }
    }
}

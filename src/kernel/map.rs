//! Bytes of files as memory, mapped or copied, and typed views of them.

use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::disk::File;

/// A number type for which every bit pattern is valid, so that bytes of a file can be read as such
/// numbers.
///
/// # Safety
/// Every bit pattern must be a valid value, and the type must have no padding bytes.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: an integer without padding; every bit pattern is a value.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: no padding either; every bit pattern is a value, although some are NaN.
unsafe impl Plain for f32 {}

/// Immutable bytes of a file, mapped or copied.
#[derive(Clone)]
pub(crate) struct Mapped {
    map: Arc<Mmap>,
    /// Range of the bytes in the file.
    bytes: Range<u64>,
    is_copy: bool,
}

impl Mapped {
    /// Maps bytes of a file. No writer of this crate may change or truncate these bytes while the
    /// file exists.
    pub(crate) fn map(file: &File, bytes: Range<u64>) -> io::Result<Self> {
        let Some(file) = file.real() else { return Mapped::copy(file, bytes) };
        let len = length(&bytes)?;
        let mut options = MmapOptions::new();
        // SAFETY: mapped bytes must not change. No code of this crate changes them: callers map
        // only bytes that are written once, before the file gets its name, and files are replaced,
        // not truncated. Other programs could change the file, as with every mapped file. To detect
        // such changes, an index checks its file before and after it reads mapped bytes.
        let map = unsafe { options.offset(bytes.start).len(len).map(file) }?;
        Ok(Mapped { map: Arc::new(map), bytes, is_copy: false })
    }

    /// Maps the same bytes of the same file again, in a separate mapping.
    pub(crate) fn again(&self, file: &File) -> io::Result<Self> {
        Mapped::map(file, self.bytes.clone())
    }

    /// Releases mapped bytes from memory, so that a pass over a whole file does not fill the
    /// memory. The next access reads them from the file again. Does nothing for copied bytes.
    fn release(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        if !bytes.is_empty() && !self.is_copy {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the mapping is read-only and backed by a file, so the next access reads the
            // same bytes.
            let advised =
                unsafe { self.map.unchecked_advise_range(advice, bytes.start, bytes.len()) };
            // If the advice fails, the system releases the memory later.
            advised.ok();
        }
        #[cfg(not(unix))]
        drop(bytes);
    }

    /// Copies bytes of a file into memory, so that later changes to the file do not affect them.
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

/// Eight words in one cache line, so that no load of vector instructions crosses two cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Words, aligned to cache lines.
#[derive(Default)]
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    pub(crate) fn with_capacity(words: usize) -> Self {
        Lines(Vec::with_capacity(words.div_ceil(8)))
    }

    /// Returns `words` zero words, rounded up to whole lines.
    pub(crate) fn zeros(words: usize) -> Self {
        let mut lines = Lines::with_capacity(words);
        lines.resize(words);
        lines
    }

    /// Appends zeros or drops words to make the length `words`, rounded up to whole lines.
    pub(crate) fn resize(&mut self, words: usize) {
        self.0.resize(words.div_ceil(8), Line([0; 8]));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Frees the unused capacity.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Returns the words as bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let words: &mut [u64] = self;
        // SAFETY: words have no padding, and any bytes are valid words.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
    }

    /// Returns the capacity in words.
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

/// Returns numbers as bytes, as they are stored in files.
pub(crate) fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: `Plain` numbers have no padding bytes.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Maximum number of cache lines to prefetch. Once the first lines are read, the processor
/// prefetches the following lines automatically.
const AHEAD: usize = 4;

/// Prefetches the first cache lines of words that will soon be read.
#[inline(always)]
pub(crate) fn prefetch(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(8).take(AHEAD) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is only a hint, and its address is within the words.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _unused = (words, AHEAD);
}

/// Returns words as 32-bit halves, the lower half of each word first.
pub(crate) fn halves(words: &[u64]) -> &[u32] {
    // SAFETY: words are aligned for their halves, and any bits are a valid number.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 2 * words.len()) }
}

/// Numbers in memory: owned, or those of a file, which is mapped or copied as a whole.
pub(crate) enum Column<T> {
    Owned(Vec<T>),
    Lines(Lines),
    Mapped { bytes: Mapped, start: usize, count: usize },
}

impl<T: Plain> Column<T> {
    /// Returns the `count` numbers from byte `start` on; `None` if they are out of bounds or not
    /// aligned.
    pub(crate) fn mapped(bytes: &Mapped, start: usize, count: usize) -> Option<Self> {
        let end = count.checked_mul(size_of::<T>())?.checked_add(start)?;
        let aligned = (bytes.as_ptr() as usize).checked_add(start)?.is_multiple_of(align_of::<T>());
        (end <= bytes.len() && aligned).then(|| Column::Mapped {
            bytes: bytes.clone(),
            start,
            count,
        })
    }

    /// Returns the mapped bytes that contain the numbers; `None` if the numbers are owned.
    pub(crate) fn mapped_bytes(&self) -> Option<&Mapped> {
        match self {
            Column::Mapped { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Returns the numbers at the same offset of other bytes; `None` if the numbers are owned.
    pub(crate) fn within(&self, bytes: &Mapped) -> Option<Self> {
        match *self {
            Column::Mapped { start, count, .. } => Column::mapped(bytes, start, count),
            _ => None,
        }
    }

    /// Releases the first `end` numbers from memory if they belong to a file.
    pub(crate) fn release(&self, end: usize) {
        if let Column::Mapped { bytes, start, .. } = self {
            bytes.release(*start..start + end * size_of::<T>());
        }
    }

    /// Returns the numbers as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        bytes_of(self)
    }

    /// Returns the number of bytes that are allocated but unused.
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
                // SAFETY: words are aligned for every `Plain` number, and any bits are a valid
                // number.
                unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), count) }
            }
            Column::Mapped { bytes, start, count } => {
                // SAFETY: `mapped` checked bounds and alignment, and any bits are a valid number.
                unsafe { std::slice::from_raw_parts(bytes.as_ptr().add(*start).cast(), *count) }
            }
        }
    }
}

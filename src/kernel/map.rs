//! Files seen as memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

/// A number that any bits are, so that bytes of a file can be seen as such.
pub(crate) trait Plain: Copy {}
impl Plain for u32 {}
impl Plain for u64 {}

/// Maps a file. Files of indexes are appended to or replaced as a whole, never changed where a
/// reader looks, and never shortened.
pub(crate) fn map(file: &File) -> io::Result<Arc<Mmap>> {
    // SAFETY: what is mapped must not change. No program of ours does that (see above); of others
    // it cannot be helped, as with every mapped file. An index looks at its file before and after
    // it reads what is mapped, to tell.
    unsafe { Mmap::map(file) }.map(Arc::new)
}

/// A copy of a file in memory, which nobody can change any more.
pub(crate) fn read(file: &mut File) -> io::Result<Arc<Mmap>> {
    let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut copy = MmapMut::map_anon(len)?;
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut copy)?;
    copy.make_read_only().map(Arc::new)
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

/// Numbers in memory: one's own, or those of a file, mapped or copied as a whole.
pub(crate) enum Column<T> {
    Owned(Vec<T>),
    Lines(Lines),
    Mapped { map: Arc<Mmap>, start: usize, count: usize },
}

impl<T: Plain> Column<T> {
    /// `count` numbers from byte `start` on; `None` if they are not within the file, or not where
    /// such a number can stand.
    pub(crate) fn mapped(map: &Arc<Mmap>, start: usize, count: usize) -> Option<Self> {
        let end = count.checked_mul(size_of::<T>())?.checked_add(start)?;
        let aligned = start.is_multiple_of(align_of::<T>());
        // The numbers of files are little-endian.
        let readable = end <= map.len() && aligned && cfg!(target_endian = "little");
        readable.then(|| Column::Mapped { map: map.clone(), start, count })
    }

    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self, Column::Mapped { .. })
    }

    /// The numbers as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let numbers: &[T] = self;
        // SAFETY: `Plain` numbers have no bytes that are not their own.
        unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
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
            Column::Mapped { map, start, count } => {
                // SAFETY: `mapped` saw to bounds and alignment (a map starts on a page), and any
                // bits are such a number.
                unsafe { std::slice::from_raw_parts(map.as_ptr().add(*start).cast(), *count) }
            }
        }
    }
}

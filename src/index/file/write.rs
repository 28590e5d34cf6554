//! Writing index files, a block of items at a time.

use std::path::Path;

use super::header::{HEAD, Header, structure_number, vector_numbers};
use super::lock::{self, Locking};
use super::log::{MARKS, Position, mark_bytes};
use super::read::written;
use super::text::Text;
use crate::disk::{self, File};
use crate::file::{AtomicFile, destination, is_at};
use crate::index::buckets::{are_worth_it, build_to};
use crate::index::segment::{BLOCK, Builder, Item, Kind, Segment, Shape};
use crate::index::state::State;
use crate::index::structure::SearchStructure;
use crate::index::tables;
use crate::kernel::bytes_of;
use crate::{Error, HashFunction, Result};

/// Alignment of sections in bytes.
const ALIGNED: u64 = 64;

/// Contents of a file to be written.
pub(in crate::index) struct Contents<'a> {
    /// Source of the label names and sets, the metric and the choice of search structure.
    pub(in crate::index) state: &'a State,
    pub(in crate::index) function: Option<&'a HashFunction>,
    pub(in crate::index) shape: Shape,
    pub(in crate::index) count: usize,
    /// Function that calls its argument with all items, in ascending order of ids.
    pub(in crate::index) each: &'a EachItem<'a>,
}

/// Function that calls its argument with items.
pub(in crate::index) type EachItem<'a> =
    dyn Fn(&mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> + 'a;

impl<'a> Contents<'a> {
    /// Returns the contents of a state, whose items `each` iterates over.
    pub(in crate::index) fn of(state: &'a State, each: &'a EachItem<'a>) -> Result<Self> {
        let (function, count, shape) = (state.function.as_ref(), state.len(), state.shape()?);
        Ok(Contents { state, function, shape, count, each })
    }
}

/// Writes a file with an empty log, unless another process has the existing file open for changes.
pub(in crate::index) fn write(state: &State, path: &Path, locking: Locking) -> Result<()> {
    let path = &destination(path)?;
    let stands = || matches!(disk::exists(path), Ok(true)) && !disk::is_dir(path);
    let guard = if stands() { Some(lock::locked(path, false, locking)?) } else { None };
    let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| state.each_in_order(call);
    let (target, _) = prepare(&Contents::of(state, &each)?, 0, path)?;
    let as_before = || guard.as_ref().map_or(!stands(), |guard| is_at(guard, path));
    let last_look = || if as_before() { Ok(()) } else { Err(Error::InUse(path.clone())) };
    target.commit_if(last_look).map(drop)
}

/// Writes a temporary file with an empty log, whose first record will have the number after `last`.
/// The caller renames the file into place.
pub(super) fn prepare(
    contents: &Contents<'_>,
    last: u64,
    path: &Path,
) -> Result<(AtomicFile, Header)> {
    let mut target = AtomicFile::create(path)?;
    let text = Text::of(contents.state).to_bytes().map_err(Error::io(path))?;
    let function = contents.function.map_or(Ok(Vec::new()), HashFunction::try_to_bytes)?;
    let mut writer = Writer { file: target.file(), path };
    let header = writer.write(contents, &text, &function, last)?;
    Ok((target, header))
}

/// Temporary file with some of the items of an index that is being built.
pub(in crate::index) struct Run {
    /// Keeps the file in existence for as long as its items are needed.
    _file: AtomicFile,
}

impl Run {
    /// Writes the items of a state to a temporary file beside `path`. Returns the run, and a
    /// segment for reading the run once.
    pub(in crate::index) fn write(state: &State, path: &Path) -> Result<(Run, Segment)> {
        let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| state.each_in_order(call);
        let (mut file, header) = prepare(&Contents::of(state, &each)?, 0, path)?;
        let segment = written(file.file(), header, path)?.segment;
        let segment = segment.to_read_once(file.file()).map_err(Error::io(path))?;
        Ok((Run { _file: file }, segment))
    }
}

struct Writer<'a> {
    file: &'a mut File,
    path: &'a Path,
}

impl Writer<'_> {
    fn write(
        &mut self,
        contents: &Contents<'_>,
        text: &[u8],
        function: &[u8],
        last: u64,
    ) -> Result<Header> {
        let Contents { shape, count, .. } = *contents;
        // All lengths are known, so all offsets are known before anything is written.
        let mut end = HEAD as u64;
        let mut section = |len: usize| {
            let start = end.next_multiple_of(ALIGNED);
            end = start + len as u64;
            [start, len as u64]
        };
        let (text_at, function_at) = (section(text.len()), section(function.len()));
        let columns = Kind::ALL.map(|kind| section(kind.size(shape, count)));
        let blocks: usize = Kind::of(shape).map(|kind| count.div_ceil(kind.block())).sum();
        let sums_at = section(4 * blocks);
        let log = section(0)[0];
        self.at(text_at[0], text)?;
        self.at(function_at[0], function)?;
        let sums = self.columns(contents, columns)?;
        self.at(sums_at[0], &sums)?;
        let mut checksum = crc32fast::Hasher::new();
        [text, function, &sums].iter().for_each(|section| checksum.update(section));
        let mut header = Header {
            bits: shape.layout.bits() as u64,
            count: count as u64,
            labelled: u64::from(shape.labelled),
            text: text_at,
            function: function_at,
            columns,
            sums: sums_at,
            checksum: u64::from(checksum.finalize()),
            log,
            first: last,
            structure: [0, 0],
            tables: [0, 0],
            structures: structure_number(contents.state.structures),
            vectors: shape
                .vectors
                .map_or([0; 3], |beside| vector_numbers(beside, contents.state.metric)),
        };
        self.file.set_len(log).map_err(Error::io(self.path))?;
        if contents.state.structures != SearchStructure::None {
            self.structure(&mut header, contents.state.structures)?;
        }
        for mark in MARKS {
            self.at(mark as u64, &mark_bytes(Position { last, end: header.log }))?;
        }
        self.at(0, &header.to_bytes())?;
        Ok(header)
    }

    /// Appends the search structure of the codes that were just written, unless there are too few
    /// codes.
    fn structure(&mut self, header: &mut Header, wanted: SearchStructure) -> Result<()> {
        let segment = written(self.file, *header, self.path)?.segment;
        let segment = segment.to_read_once(self.file).map_err(Error::io(self.path))?;
        if !are_worth_it(segment.columns()) {
            return Ok(());
        }
        header.structure = self.append(header, |append| {
            let buckets = build_to(segment.columns(), &mut *append)?;
            append(&buckets.directory())
        })?;
        if wanted != SearchStructure::Full {
            return Ok(());
        }
        // The tables are built from the buckets that were just written.
        let segment = written(self.file, *header, self.path)?;
        let Some(structure) = segment.built() else { return Ok(()) };
        let section = self.append(header, |append| {
            match tables::build_to(&structure.buckets, &mut *append)? {
                Some(tables) => append(&tables.directory()),
                None => Ok(()),
            }
        })?;
        if section[1] > 0 {
            header.tables = section;
        }
        Ok(())
    }

    /// Writes a section at the start of the empty log, and moves the start of the log behind the
    /// section.
    fn append(
        &mut self,
        header: &mut Header,
        write: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<[u64; 2]> {
        let start = header.log;
        let mut end = start;
        write(&mut |words: &[u64]| {
            let place = end;
            end += size_of_val(words) as u64;
            self.at(place, bytes_of(words))
        })?;
        header.log = end.next_multiple_of(ALIGNED);
        self.file.set_len(header.log).map_err(Error::io(self.path))?;
        Ok([start, end - start])
    }

    /// Writes all items into the columns at the given offsets. Returns the checksums of the blocks,
    /// column after column.
    fn columns(&mut self, contents: &Contents<'_>, columns: [[u64; 2]; 4]) -> Result<Vec<u8>> {
        let Contents { shape, count, each, .. } = *contents;
        let kinds: Vec<Kind> = Kind::of(shape).collect();
        let mut sums: Vec<Vec<u8>> = vec![Vec::new(); kinds.len()];
        let mut places = columns.map(|[start, _]| start);
        let mut block = Builder::new(shape.layout, shape.vectors, BLOCK.min(count));
        let mut flush = |block: &mut Builder| -> Result<()> {
            for (&kind, sums) in kinds.iter().zip(&mut sums) {
                let bytes = block.bytes(kind);
                for bytes in bytes.chunks(kind.size(shape, kind.block()).max(1)) {
                    sums.extend(crc32fast::hash(bytes).to_le_bytes());
                }
                self.at(places[kind as usize], bytes)?;
                places[kind as usize] += bytes.len() as u64;
            }
            block.clear();
            Ok(())
        };
        let mut last = None;
        each(&mut |item| {
            if last.replace(item.id).is_some_and(|last| last >= item.id) {
                return Err(Error::IdTwice(item.id));
            }
            block.push(item);
            if block.len() == BLOCK { flush(&mut block) } else { Ok(()) }
        })?;
        if block.len() > 0 {
            flush(&mut block)?;
        }
        Ok(sums.concat())
    }

    fn at(&mut self, place: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, place).map_err(Error::io(self.path))
    }
}

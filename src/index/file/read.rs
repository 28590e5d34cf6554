//! Opening index files.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::function::read_function;
use super::header::{HEAD, Header, number, structure_wanted, vector_metric, vector_rows};
use super::lock::{self, Locking};
use super::log::{Log, MARKS, Position, mark_bytes, read_mark, replay};
use super::opened::Opened;
use super::text::Text;
use crate::codes::check_bits;
use crate::disk::{self, File, Mode};
use crate::file::remove_leftovers;
use crate::index::buckets::Buckets;
use crate::index::search::SearchSegment;
use crate::index::segment::{
    Beside, Builder, Checksums, Columns, Kind, Segment, Shape, checksum_matches,
};
use crate::index::state::State;
use crate::index::structure::Structure;
use crate::index::tables::Tables;
use crate::kernel::{Layout, Mapped};
use crate::{Error, Result};

/// Purpose for which a file is opened.
#[derive(Clone, Copy)]
pub(in crate::index) enum Access {
    /// Search in the mapped file.
    Map,
    /// Search in a copy in memory; the file is closed.
    Load,
    Edit(Locking),
    /// Search in the mapped file, combined with changes that stay in memory. No other process uses
    /// the file.
    Base,
}

/// File that is open for reading, and the position up to which its log was read.
pub(in crate::index) struct Reader {
    pub(in crate::index) file: Arc<Opened>,
    pub(super) start: u64,
    pub(super) position: Position,
}

/// Open file of an index, if it has one, by its use.
pub(in crate::index) enum OpenFor {
    Nothing,
    Reading(Reader),
    Changes(Log),
}

/// Opens a file and returns its state.
pub(in crate::index) fn open(path: &Path, access: Access) -> Result<(State, OpenFor)> {
    let file = match access {
        Access::Map | Access::Load | Access::Base => {
            disk::open(path, Mode::Read).map_err(Error::io(path))?
        }
        Access::Edit(locking) => lock::locked(path, true, locking)?,
    };
    let head = read_head(&file, path)?;
    let header = Header::from_bytes(&head, path)?;
    let length = file.len().map_err(Error::io(path))?;
    if length < header.log {
        return Err(Error::damaged(
            path,
            format!("is cut short: it should have {} bytes or more, it has {length}", header.log),
        ));
    }
    // The sections before the log never change, so they can be mapped; the log is read.
    let sections = HEAD as u64..header.log;
    let bytes = match access {
        Access::Map | Access::Edit(_) | Access::Base => Mapped::map(&file, sections),
        Access::Load => Mapped::copy(&file, sections),
    };
    let mut state = read_sections(&bytes.map_err(Error::io(path))?, header, path)?;
    let marks = MARKS.map(|at| read_mark(&head, at));
    let from = Position { last: header.first, end: header.log };
    let position = replay(&mut state, &file, from, marks, path)?;
    let opened = |path: &Path| {
        Arc::new(Opened::new(path.to_path_buf(), file, position.end.max(header.log), &head))
    };
    let start = header.log;
    state.log_bytes = position.end - start;
    let open_for = match access {
        Access::Load | Access::Base => {
            state.log_bytes = 0;
            OpenFor::Nothing
        }
        Access::Map => {
            // A reader follows the given path, even if its symbolic links or the working directory
            // change later.
            let path = std::path::absolute(path).map_err(Error::io(path))?;
            OpenFor::Reading(Reader { file: opened(&path), start, position })
        }
        Access::Edit(locking) => {
            // The path is resolved, so that compaction does not replace a symbolic link with a
            // file.
            let path = disk::canonicalize(path).map_err(Error::io(path))?;
            // A process that was killed during compaction may not have synced the new file's name
            // in the directory. The name is synced before the file is changed.
            if let Some(directory) = path.parent() {
                disk::sync_dir(directory).map_err(Error::io(&path))?;
            }
            let log = Log { file: opened(&path), locking, start, position, in_doubt: false };
            // The newest mark is written and synced again: a killed process may not have synced the
            // mark, and a change that readers have seen must persist. If a mark is damaged, both
            // are written, the damaged mark first, because the other is the only valid one.
            let newest = (position.last % 2) as usize;
            let order = match marks {
                [None, _] => vec![0, 1],
                [_, None] => vec![1, 0],
                _ => vec![newest],
            };
            for mark in order {
                log.write(MARKS[mark] as u64, &mark_bytes(position))?;
            }
            remove_leftovers(&path);
            OpenFor::Changes(log)
        }
    };
    Ok((state, open_for))
}

/// Returns the first pages, which are read and not mapped, since commit marks change. A record is
/// in the file before the mark that commits it.
fn read_head(mut file: &File, path: &Path) -> Result<Vec<u8>> {
    use std::io::Seek;
    let mut head = Vec::new();
    file.rewind().map_err(Error::io(path))?;
    file.take(HEAD as u64).read_to_end(&mut head).map_err(Error::io(path))?;
    if head.is_empty() {
        return Err(Error::malformed(path, "is empty, and not an index file"));
    }
    Ok(head)
}

/// Returns the state stored in the sections. `bytes` starts with the first section.
fn read_sections(bytes: &Mapped, header: Header, path: &Path) -> Result<State> {
    let wrong = |problem: String| Error::damaged(path, problem);
    let section = |place: [u64; 2]| {
        within(place)
            .and_then(|(start, len)| bytes.get(start..start + len))
            .ok_or_else(|| wrong("is cut short: its sections are not all there".to_owned()))
    };
    let (text, function, sums) =
        (section(header.text)?, section(header.function)?, section(header.sums)?);
    let mut sum = crc32fast::Hasher::new();
    [text, function, sums].iter().for_each(|section| sum.update(section));
    if !checksum_matches(header.checksum as u32, sum.finalize()) {
        return Err(wrong("is damaged: the checksum of its description is wrong".to_owned()));
    }
    let bits = usize::try_from(header.bits).unwrap_or(0);
    check_bits(bits).map_err(|problem| wrong(problem.to_string()))?;
    let layout = Layout::new(bits);
    let function = match function {
        [] => None,
        bytes => Some(read_function(bytes).map_err(&wrong)?),
    };
    if function.as_ref().is_some_and(|function| function.bits() != bits) {
        return Err(wrong(format!("its function does not make codes of {bits} bits")));
    }
    let wanted = vector_rows(header.vectors).filter(|rows| match (rows, &function) {
        (None, _) => true,
        (Some(Beside::Places), _) => true,
        (Some(Beside::Vectors(rows)), Some(function)) => *rows == function.vector_rows(rows.format),
        (Some(_), None) => false,
    });
    let Some(vectors) = wanted else {
        return Err(wrong(
            "is damaged: its vectors are not those that its function takes".to_owned(),
        ));
    };
    let mut state = State::empty(layout, function, vectors);
    state.metric = vector_metric(header.vectors).unwrap_or_default();
    state.structures = structure_wanted(header.structures)
        .ok_or_else(|| wrong("is damaged: its header makes no sense".to_owned()))?;
    Text::from_bytes(text).and_then(|text| text.apply(&mut state)).map_err(&wrong)?;
    if header.count > 0 {
        let columns = columns(bytes, header, sums, path).filter(|_| state.sets.len() > 0);
        let columns = columns.ok_or_else(|| {
            wrong("is damaged: its columns are not as long as they should be".to_owned())
        })?;
        state.segments.push(with_structure(bytes, header, Segment::new(columns), path)?);
    }
    Ok(state)
}

/// Returns the segment with its search structure from the file, if the file has one.
fn with_structure(
    bytes: &Mapped,
    header: Header,
    segment: Segment,
    path: &Path,
) -> Result<SearchSegment> {
    if header.structure == [0, 0] {
        return Ok(SearchSegment::new(segment));
    }
    let wrong = || Error::damaged(path, "is cut short: its search structure is not all there");
    let section = within(header.structure).ok_or_else(wrong)?;
    let columns = segment.columns();
    let buckets = Buckets::mapped(columns.layout(), columns.len(), bytes, section, path)?;
    let Some(buckets) = buckets else { return Ok(SearchSegment::new(segment)) };
    let tables = match header.tables {
        [0, 0] => None,
        place => {
            let section = within(place).ok_or_else(wrong)?;
            Tables::mapped(columns.layout(), columns.len(), bytes, section, path)?
        }
    };
    Ok(SearchSegment::with_structure(segment, Structure { buckets, tables }))
}

/// Returns the start of a section in the mapped bytes, and its length.
fn within([start, len]: [u64; 2]) -> Option<(usize, usize)> {
    let start = usize::try_from(start.checked_sub(HEAD as u64)?).ok()?;
    let len = usize::try_from(len).ok()?;
    start.checked_add(len)?;
    Some((start, len))
}

fn columns(bytes: &Mapped, header: Header, sums: &[u8], path: &Path) -> Option<Columns> {
    let count = usize::try_from(header.count).ok().filter(|&count| count <= u32::MAX as usize)?;
    let shape = shape(&header)?;
    let mut of_kinds = vec![Vec::new(); Kind::ALL.len()];
    let mut rest = sums;
    for kind in Kind::of(shape) {
        let (sums, others) = rest.split_at_checked(4 * count.div_ceil(kind.block()))?;
        of_kinds[kind as usize] = sums.chunks_exact(4).map(|sum| number(sum, 0) as u32).collect();
        rest = others;
    }
    if !rest.is_empty() {
        return None;
    }
    let checksums = Checksums::new(path.to_path_buf(), of_kinds);
    let section = |kind: Kind| within(header.columns[kind as usize]);
    Columns::mapped(shape, count, bytes, section, checksums)
}

/// Returns the shape of the items of a file, or `None` if the header is invalid.
fn shape(header: &Header) -> Option<Shape> {
    let (layout, labelled) = (Layout::new(header.bits as usize), header.labelled == 1);
    Some(Shape { layout, labelled, vectors: vector_rows(header.vectors)? })
}

/// Returns the segment of a file that was just written.
pub(super) fn written(file: &File, header: Header, path: &Path) -> Result<SearchSegment> {
    if header.count == 0 {
        let (layout, vectors) = (Layout::new(header.bits as usize), vector_rows(header.vectors));
        let nothing = Builder::new(layout, vectors.flatten(), 0).finish();
        return Ok(SearchSegment::new(Segment::new(nothing)));
    }
    let bytes = Mapped::map(file, HEAD as u64..header.log).map_err(Error::io(path))?;
    let [start, len] = header.sums.map(|number| number as usize);
    let sums = bytes.get(start - HEAD..start - HEAD + len);
    let columns = sums.and_then(|sums| columns(&bytes, header, sums, path));
    let columns = columns.ok_or_else(|| Error::damaged(path, "was not written as it should be"))?;
    with_structure(&bytes, header, Segment::new(columns), path)
}

impl Reader {
    pub(super) fn log_bytes(&self) -> u64 {
        self.position.end - self.start
    }

    /// Returns the current state, or `None` if no writer has changed the file since the last call.
    pub(super) fn refreshed(&mut self, state: &State) -> Result<Option<State>> {
        let Opened { path, file, .. } = &*self.file;
        self.file.check_length()?;
        let head = read_head(file, path)?;
        self.file.check_header()?;
        let marks = MARKS.map(|at| read_mark(&head, at));
        let mut next = state.clone();
        let position = replay(&mut next, file, self.position, marks, path)?;
        if position == self.position {
            return Ok(None);
        }
        self.position = position;
        self.file.grown(position.end);
        next.log_bytes = self.log_bytes();
        Ok(Some(next))
    }
}

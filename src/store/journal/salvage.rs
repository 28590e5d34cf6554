//! Reading a journal that may be damaged: sound records are read, and damaged parts are reported.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{Extent, FIRST, Files, Listed, Origin, file_of, list, offset_of, place};
use super::mark::{MARKS, Marks};
use super::record::{Change, Head, PutChange, RECORD_HEAD, Unreadable, names};
use super::row::{Row, RowShape, row_bytes};
use super::scan::Record;
use crate::store::answer::Loss;
use crate::{Error, Result};

/// Alignment of rows and records, in bytes.
const ALIGNED: usize = 8;

/// Result of reading a damaged journal.
#[derive(Debug, Default)]
pub(in crate::store) struct Salvaged {
    /// Damaged parts that were skipped.
    pub(in crate::store) losses: Vec<Loss>,
    /// Bytes of an unacknowledged change at the end.
    pub(in crate::store) unfinished: u64,
    /// Position of the first record, and number of the last file that compaction wrote.
    pub(in crate::store) extent: Option<Extent>,
    /// Position after the last record.
    pub(in crate::store) end: u64,
}

/// Reads all sound records of a journal in a directory, in order, and passes each to `call`.
pub(in crate::store) fn salvage(
    directory: &Path,
    shape: RowShape,
    call: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<Salvaged> {
    let mut salvaged = Salvaged::default();
    let acknowledged = match Marks::open(&directory.join(MARKS)) {
        Ok((_, end)) => Some(end),
        Err(error) => {
            // All sound records are read. Without the note, a missing end cannot be distinguished
            // from an unfinished change.
            salvaged.losses.push(Loss::of_file(directory.join(MARKS), 0, error.to_string()));
            None
        }
    };
    let listed: Vec<Listed> =
        committed(list(directory)?).into_iter().filter(|file| file.origin.is_some()).collect();
    let numbers: Vec<(u32, Option<Origin>)> =
        listed.iter().map(|file| (file.number, file.origin)).collect();
    let files = Arc::new(Files::over(directory.to_path_buf(), shape, listed));
    let compacted = numbers.iter().filter(|(_, origin)| *origin != Some(Origin::Appended));
    let compacted = compacted.map(|(number, _)| *number).max().unwrap_or(0);
    for &(number, _) in &numbers {
        let extent = Extent { start: place(number, FIRST), compacted, replaced: None };
        salvaged.extent.get_or_insert(extent);
        let is_last = numbers.last().is_some_and(|(last, _)| *last == number);
        let mut reader = FileReader { files: &files, number, salvaged: &mut salvaged };
        reader.read(acknowledged.filter(|_| is_last), call)?;
    }
    if let Some(acknowledged) = acknowledged
        && salvaged.end < acknowledged
        && salvaged.losses.is_empty()
    {
        let missing = acknowledged.saturating_sub(salvaged.end);
        let path = files.path(file_of(salvaged.end));
        let problem = "changes that were acknowledged are missing".to_owned();
        salvaged.losses.push(Loss::of_file(path, missing, problem));
    }
    Ok(salvaged)
}

/// Returns the files that count. If the first file that a compaction read still exists, the files
/// that the compaction wrote do not count: after the commit, that first file is removed first.
fn committed(listed: Vec<Listed>) -> Vec<Listed> {
    let exists = |number: u32| listed.iter().any(|file| file.number == number);
    let (mut from, mut uncommitted) = (0, Vec::new());
    for file in &listed {
        match file.origin {
            Some(Origin::Compacted(source)) if exists(source) && source < file.number => {
                uncommitted.push(file.number);
            }
            // The lowest file of the newest compaction begins the journal.
            Some(Origin::Compacted(_)) if from == 0 => from = file.number,
            _ => {}
        }
    }
    let counts = |file: &Listed| file.number >= from && !uncommitted.contains(&file.number);
    listed.into_iter().filter(counts).collect()
}

struct FileReader<'a> {
    files: &'a Files,
    number: u32,
    salvaged: &'a mut Salvaged,
}

impl FileReader<'_> {
    fn path(&self) -> PathBuf {
        self.files.path(self.number)
    }

    /// Reads a file. If `acknowledged` is given, unsound bytes after that position, at the end of
    /// the file, belong to an unfinished change.
    fn read(
        &mut self,
        acknowledged: Option<u64>,
        call: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let path = self.path();
        let file = self.files.file(self.number)?;
        let length = file.len().map_err(Error::io(&path))?;
        let mut at = FIRST;
        while at < length {
            let position = place(self.number, at);
            let Some(head) = self.head(at, length)? else {
                let next = self.next_head(at, length)?;
                let is_unfinished =
                    next == length && acknowledged.is_some_and(|end| position >= end);
                if is_unfinished {
                    self.salvaged.unfinished += next - at;
                    break;
                }
                let bytes = self.bytes(at, next)?;
                let rows = sound_rows(self.files.shape, &bytes, 0);
                self.lose(at, next - at, None, rows.len());
                emit(position, PutChange { rows, ..PutChange::default() }, call)?;
                at = next;
                continue;
            };
            let end = at + RECORD_HEAD as u64 + head.bytes;
            let body = self.bytes(at + RECORD_HEAD as u64, end)?;
            let decoded = match head.matches(&body) {
                true => Change::decode(self.files.shape, head, &body),
                false => Err(Unreadable::Damaged),
            };
            match decoded {
                Ok(change) => {
                    let end = place(self.number, end);
                    call(Record { from: position, at: position, end, change })?;
                }
                Err(Unreadable::Newer(kind)) => return Err(Error::NewerChange { path, kind }),
                Err(Unreadable::Damaged)
                    if end == length && acknowledged.is_some_and(|end| position >= end) =>
                {
                    self.salvaged.unfinished += end - at;
                    break;
                }
                Err(Unreadable::Damaged) => {
                    let rows = sound_rows(self.files.shape, &body, RECORD_HEAD);
                    self.lose(at, end - at, Some(head.rows()), rows.len());
                    let (first, names) = match names(&body) {
                        // Names have no checksum of their own. The names are used only if the first
                        // sound row begins where the names end.
                        Some((first, names, start))
                            if rows
                                .first()
                                .is_some_and(|(row, _)| *row == (RECORD_HEAD + start) as u64) =>
                        {
                            (first, names)
                        }
                        _ => (0, Vec::new()),
                    };
                    emit(position, PutChange { first, names, rows }, call)?;
                }
            }
            at = end;
            self.salvaged.end = place(self.number, at);
        }
        Ok(())
    }

    fn lose(&mut self, at: u64, bytes: u64, rows: Option<usize>, kept: usize) {
        let problem = match rows {
            Some(rows) => {
                format!("{} of {rows} rows of a change are damaged", rows - kept.min(rows))
            }
            None => format!("not a change; {kept} sound rows were found in it"),
        };
        let mut loss = Loss::of_file(self.path(), bytes, problem);
        loss.offset = at;
        self.salvaged.losses.push(loss);
    }

    fn bytes(&self, from: u64, end: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (end - from) as usize];
        let file = self.files.file(self.number)?;
        file.read_exact_at(&mut bytes, from).map_err(Error::io(&self.path()))?;
        Ok(bytes)
    }

    /// Returns the head of the record at an offset, if it is sound.
    fn head(&self, at: u64, length: u64) -> Result<Option<Head>> {
        if length - at < RECORD_HEAD as u64 {
            return Ok(None);
        }
        let bytes = self.bytes(at, at + RECORD_HEAD as u64)?;
        Ok(bytes.first_chunk().and_then(|head| self.sound(head, at, length)))
    }

    fn sound(&self, head: &[u8; RECORD_HEAD], at: u64, length: u64) -> Option<Head> {
        let fits = |head: &Head| {
            let left = length - at - RECORD_HEAD as u64;
            offset_of(head.place) == at && file_of(head.place) == self.number && head.bytes <= left
        };
        Head::decode(head).filter(fits)
    }

    /// Returns the offset of the next sound head after an offset, or the length of the file.
    fn next_head(&self, at: u64, length: u64) -> Result<u64> {
        const PIECE: u64 = 1 << 20;
        let mut from = at + ALIGNED as u64;
        while from + RECORD_HEAD as u64 <= length {
            let bytes = self.bytes(from, length.min(from + PIECE + RECORD_HEAD as u64))?;
            for offset in (0..bytes.len().saturating_sub(RECORD_HEAD - 1)).step_by(ALIGNED) {
                let here = from + offset as u64;
                let head = bytes[offset..].first_chunk();
                if head.and_then(|head| self.sound(head, here, length)).is_some() {
                    return Ok(here);
                }
            }
            from += PIECE;
        }
        Ok(length)
    }
}

fn emit(at: u64, put: PutChange, call: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
    if put.rows.is_empty() && put.names.is_empty() {
        return Ok(());
    }
    call(Record { from: at, at, end: at, change: Change::Put(put) })
}

/// Returns all sound rows among bytes, with their offsets; `before` is the offset of the first
/// byte.
fn sound_rows(shape: RowShape, bytes: &[u8], before: usize) -> Vec<(u64, Row)> {
    let (mut rows, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match Row::decode(shape, &bytes[at..]).zip(row_bytes(&bytes[at..])) {
            Some((row, size)) if size > 0 => {
                rows.push(((before + at) as u64, row));
                at += size;
            }
            _ => at += ALIGNED,
        }
    }
    rows
}

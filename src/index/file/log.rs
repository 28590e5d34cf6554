//! The log of an index file: records, and the two places that say how far they count.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::change::Change;
use super::header::{Header, PAGE, agree, number};
use super::lock::is_at;
use super::{Index, open_written, prepare};
use crate::index::segment::Segment;
use crate::{Codes, Error, LabelNames, Labels, Result};

/// Where the two places are.
pub(super) const PLACES: [usize; 2] = [PAGE, 2 * PAGE];
const PLACE: usize = 24;
/// Length, number and checksum of a record.
const RECORD: usize = 24;

/// How changes are kept.
pub(in crate::index) enum Durable {
    /// In memory alone.
    No,
    /// Not at all: the file was opened for reading.
    ReadOnly {
        path: PathBuf,
        log_bytes: u64,
    },
    Log(Log),
}

/// A file that is open for changes.
pub(in crate::index) struct Log {
    pub(super) path: PathBuf,
    /// Locked, so that no other process changes it.
    pub(super) file: File,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The number of the last record.
    pub(super) last: u64,
    /// Whether it is not known if the last change counts.
    pub(super) in_doubt: bool,
}

impl Durable {
    pub(in crate::index) fn log_bytes(&self) -> u64 {
        match self {
            Durable::No => 0,
            Durable::ReadOnly { log_bytes, .. } => *log_bytes,
            Durable::Log(log) => log.end - log.start,
        }
    }

    pub(in crate::index) fn put(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.append(|| Change::encode_put(ids, codes, labels))
    }

    pub(in crate::index) fn remove(&mut self, ids: &[u64]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.append(|| Change::encode_remove(ids))
    }

    pub(in crate::index) fn name(&mut self, names: &LabelNames) -> Result<()> {
        self.append(|| Change::encode_names(names))
    }

    fn append(&mut self, change: impl FnOnce() -> Vec<u8>) -> Result<()> {
        match self {
            Durable::No => Ok(()),
            Durable::ReadOnly { path, .. } => Err(Error::ReadOnly(path.clone())),
            Durable::Log(log) => log.append(&change()),
        }
    }
}

impl Log {
    pub(in crate::index) fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, change: &[u8]) -> Result<()> {
        if self.in_doubt {
            let problem = "the change before could not be written, and may or may not be there; \
                           open the file anew to go on";
            return Err(Error::malformed(&self.path, problem));
        }
        let next = self.last + 1;
        let record = record(next, change);
        let end = self.end + record.len() as u64;
        self.write(self.end, &record)?;
        // From here on the change may count even if what follows fails.
        self.in_doubt = true;
        self.write(PLACES[(next % 2) as usize] as u64, &place_bytes(next, end))?;
        (self.last, self.end, self.in_doubt) = (next, end, false);
        Ok(())
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let file = &mut self.file;
        let mut write = || {
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)?;
            file.sync_data()
        };
        write().map_err(Error::io(&self.path))
    }

    /// Writes the file anew, in the place of the old one: with one segment, as which it is mapped.
    pub(in crate::index) fn rewrite(
        &self,
        index: &Index,
        segment: &Segment,
    ) -> Result<(Log, Segment)> {
        let last = self.last + 1;
        let mut target = prepare(index, segment, last, &self.path)?;
        let (mapped, start) = open_written(&self.path, target.file())?;
        // Someone may have put another file there, who does not ask for locks.
        if !is_at(&self.file, &self.path) {
            return Err(Error::InUse(self.path.clone()));
        }
        let file = target.commit()?;
        let path = self.path.clone();
        Ok((Log { path, file, start, end: start, last, in_doubt: false }, mapped))
    }
}

fn record(number: u64, change: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD + change.len());
    bytes.extend((change.len() as u64).to_le_bytes());
    bytes.extend(number.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes);
    sum.update(change);
    bytes.extend(u64::from(sum.finalize()).to_le_bytes());
    bytes.extend_from_slice(change);
    bytes
}

pub(super) fn place_bytes(number: u64, end: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend(end.to_le_bytes());
    bytes.extend(u64::from(crc32fast::hash(&bytes)).to_le_bytes());
    bytes
}

/// The last record's number and the end of the log, if the place is sound.
pub(super) fn read_place(bytes: &[u8], at: usize) -> Option<(u64, u64)> {
    let place = bytes.get(at..at + PLACE)?;
    let sound = agree(number(place, 16) as u32, crc32fast::hash(&place[..16]));
    sound.then(|| (number(place, 0), number(place, 8)))
}

/// Applies the records of the log; the number of the last, and where it ends.
pub(super) fn replay(
    index: &mut Index,
    bytes: &[u8],
    header: Header,
    places: [Option<(u64, u64)>; 2],
    path: &Path,
) -> Result<(u64, u64)> {
    let wrong = |problem: &str| Error::malformed(path, problem);
    let newest = places.iter().flatten().max().copied();
    let (valid, valid_end) =
        newest.ok_or_else(|| wrong("is damaged: it does not say how far its log goes"))?;
    if valid_end > bytes.len() as u64 {
        return Err(Error::malformed(
            path,
            format!("is cut short: it should have {valid_end} bytes, it has {}", bytes.len()),
        ));
    }
    let (mut at, mut last) = (header.log, header.first);
    while at < valid_end || (places.contains(&None) && last == valid) {
        let record = usize::try_from(at).ok().and_then(|at| read_record(bytes, at));
        let whole = record.filter(|(number, _)| *number == last.wrapping_add(1));
        let Some((number, change)) = whole else {
            if at >= valid_end {
                // One of the places is damaged: it may have stood for one record more, which is
                // not there, so it did not.
                break;
            }
            return Err(wrong("is damaged: a record of its log is not what was written"));
        };
        let change = Change::decode(index.bits(), change)
            .ok_or_else(|| wrong("is damaged: a record of its log makes no sense"))?;
        change.apply(index).map_err(|problem| {
            Error::malformed(path, format!("a record of its log cannot be applied: {problem}"))
        })?;
        at += (RECORD + record_len(bytes, at)) as u64;
        last = number;
    }
    if last < valid || (at != valid_end && last == valid) {
        return Err(wrong("is damaged: records of its log are missing"));
    }
    Ok((last, at))
}

fn record_len(bytes: &[u8], at: u64) -> usize {
    number(bytes, at as usize) as usize
}

/// A record's number and change, if it is sound.
fn read_record(bytes: &[u8], at: usize) -> Option<(u64, &[u8])> {
    let head = bytes.get(at..at.checked_add(RECORD)?)?;
    let len = usize::try_from(number(head, 0)).ok()?;
    let start = at + RECORD;
    let change = bytes.get(start..start.checked_add(len)?)?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..16]);
    sum.update(change);
    let sound = agree(number(head, 16) as u32, sum.finalize());
    sound.then(|| (number(head, 8), change))
}

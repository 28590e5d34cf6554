//! The log of an index file: records, and the two places that say how far they count.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::change::{Change, Undecoded};
use super::header::{Header, PAGE, agree, number};
use super::lock::{Locking, lock};
use super::opened::Opened;
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
        file: Opened,
        log_bytes: u64,
    },
    Log(Log),
}

/// A file that is open for changes.
pub(in crate::index) struct Log {
    /// Locked, so that no other process changes it.
    pub(super) file: Opened,
    pub(super) locking: Locking,
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

    /// Reads what is mapped of a file. The file is looked at before, so that no bus error ends the
    /// process, and after, so that nothing wrong is found: other programs can change it at any time.
    pub(in crate::index) fn reading<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let (file, least) = match self {
            Durable::No => return read(),
            Durable::ReadOnly { file, .. } => (file, file.mapped),
            // Also what was appended since it was mapped.
            Durable::Log(log) => (&log.file, log.file.mapped.max(log.end)),
        };
        file.check_length(least)?;
        let found = read();
        file.check_header()?;
        found
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
            Durable::ReadOnly { file, .. } => Err(file.read_only()),
            Durable::Log(log) => log.append(&change()),
        }
    }
}

impl Log {
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Fails if changes would go to a file that nobody finds, or to someone else's. Writers that do
    /// not ask for locks, such as `cp` and `mv`, are not kept out.
    fn check_to_write(&self) -> Result<()> {
        self.file.check_place()?;
        self.file.check_length(self.file.mapped.max(self.end))?;
        self.file.check_header()
    }

    fn append(&mut self, change: &[u8]) -> Result<()> {
        if self.in_doubt {
            let problem = "the change before could not be written, and may or may not be there; \
                           open the file anew to go on";
            return Err(Error::malformed(self.path(), problem));
        }
        self.check_to_write()?;
        let next = self.last + 1;
        let record = record(next, change);
        let end = self.end + record.len() as u64;
        self.write(self.end, &record)?;
        // Bringing the record to the disk may have taken long.
        self.check_to_write()?;
        // From here on the change may count even if what follows fails.
        self.in_doubt = true;
        self.write(PLACES[(next % 2) as usize] as u64, &place_bytes(next, end))?;
        (self.last, self.end, self.in_doubt) = (next, end, false);
        Ok(())
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let file = &mut self.file.file;
        let mut write = || {
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)?;
            file.sync_data()
        };
        write().map_err(Error::io(&self.file.path))
    }

    /// Writes the file anew, in the place of the old one: with one segment, as which it is mapped.
    pub(in crate::index) fn rewrite(
        &self,
        index: &Index,
        segment: &Segment,
    ) -> Result<(Log, Segment)> {
        let (last, locking) = (self.last + 1, self.locking);
        let mut target = prepare(index, segment, last, self.path())?;
        lock(target.file(), self.path(), locking)?;
        let (mapped, header) = open_written(self.path(), target.file())?;
        let file = target.commit_if(|| self.check_to_write())?;
        let start = header.log;
        let file = Opened::new(self.path().to_path_buf(), file, start, &header.to_bytes());
        Ok((Log { file, locking, start, end: start, last, in_doubt: false }, mapped))
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
        let change = Change::decode(index.bits(), change).map_err(|problem| match problem {
            Undecoded::Unknown(kind) => Error::NewerChange { path: path.to_path_buf(), kind },
            Undecoded::Nonsense => wrong("is damaged: a record of its log makes no sense"),
        })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_unknown_kinds_are_those_of_a_newer_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.index");
        for (change, newer) in [(&[4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3][..], true), (&[4, 0], false)] {
            Index::of_codes(8).unwrap().save(&path).unwrap();
            let mut index = Index::edit(&path).unwrap();
            let Durable::Log(log) = &mut index.durable else { panic!("it was opened for changes") };
            log.append(change).unwrap();
            drop(index);
            let before = std::fs::read(&path).unwrap();
            for refused in [Index::open(&path), Index::load(&path), Index::edit(&path)] {
                let error = refused.map(drop).unwrap_err();
                match newer {
                    true => {
                        assert!(matches!(error, Error::NewerChange { kind: 4, .. }), "{error}");
                        assert!(error.to_string().contains("newer"), "{error}");
                    }
                    false => assert!(matches!(error, Error::Malformed { .. }), "{error}"),
                }
            }
            assert_eq!(std::fs::read(&path).unwrap(), before, "refused, and left as it was");
        }
    }
}

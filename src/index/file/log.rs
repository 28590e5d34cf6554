//! The log of an index file: records of changes, and two commit marks with the end of the committed
//! records.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::change::{Change, Undecoded};
use super::header::{PAGE, number};
use super::lock::Locking;
use super::opened::Opened;
use crate::disk::File;
use crate::index::segment::checksum_matches;
use crate::index::state::State;
use crate::{Error, Result};

/// Offsets of the two commit marks.
pub(super) const MARKS: [usize; 2] = [PAGE, 2 * PAGE];
const MARK_BYTES: usize = 24;
/// Bytes of the length, number and checksum of a record.
const RECORD_HEAD: usize = 24;

/// End of a log: the number of the last record, and the offset of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) last: u64,
    pub(super) end: u64,
}

/// File that is open for changes.
pub(in crate::index) struct Log {
    /// The file, locked so that no other process changes it.
    pub(in crate::index) file: Arc<Opened>,
    pub(super) locking: Locking,
    pub(super) start: u64,
    pub(super) position: Position,
    /// True if it is unknown whether the last change is committed.
    pub(super) in_doubt: bool,
}

impl Log {
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    pub(super) fn bytes(&self) -> u64 {
        self.position.end - self.start
    }

    /// Fails if the file is no longer at its path, or was changed by another program. The lock does
    /// not exclude programs that ignore locks, such as `cp` and `mv`.
    pub(super) fn check_to_write(&self) -> Result<()> {
        self.file.check_place()?;
        self.file.check_length()?;
        self.file.check_header()
    }

    /// Fails if it is unknown whether the last change is committed.
    pub(super) fn check_no_doubt(&self) -> Result<()> {
        match self.in_doubt {
            true => Err(Error::InDoubt(self.path().to_path_buf())),
            false => Ok(()),
        }
    }

    pub(super) fn append(&mut self, change: &[u8]) -> Result<()> {
        self.check_no_doubt()?;
        self.check_to_write()?;
        let last = self.position.last + 1;
        let record = record(last, change);
        let next = Position { last, end: self.position.end + record.len() as u64 };
        self.write(self.position.end, &record)?;
        // The file is checked again because syncing the record may have taken a long time.
        self.check_to_write()?;
        // From here on the change may be committed even if writing the mark fails.
        self.in_doubt = true;
        self.write(MARKS[(last % 2) as usize] as u64, &mark_bytes(next))?;
        self.file.grown(next.end);
        (self.position, self.in_doubt) = (next, false);
        Ok(())
    }

    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let file = &self.file.file;
        let written = file.write_all_at(bytes, at).and_then(|()| file.sync_data());
        written.map_err(Error::io(&self.file.path))
    }
}

/// Releases the lock: snapshots share the open file, and must not block other writers after this
/// writer has ended.
impl Drop for Log {
    fn drop(&mut self) {
        // Unlocking fails only on file systems where locking fails.
        let _ = self.file.file.unlock();
    }
}

fn record(number: u64, change: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD_HEAD + change.len());
    bytes.extend((change.len() as u64).to_le_bytes());
    bytes.extend(number.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes);
    sum.update(change);
    bytes.extend(u64::from(sum.finalize()).to_le_bytes());
    bytes.extend_from_slice(change);
    bytes
}

pub(super) fn mark_bytes(position: Position) -> Vec<u8> {
    let mut bytes = position.last.to_le_bytes().to_vec();
    bytes.extend(position.end.to_le_bytes());
    bytes.extend(u64::from(crc32fast::hash(&bytes)).to_le_bytes());
    bytes
}

/// Returns the position in a commit mark, or `None` if the mark is damaged.
pub(super) fn read_mark(head: &[u8], at: usize) -> Option<Position> {
    let mark = head.get(at..at + MARK_BYTES)?;
    let sound = checksum_matches(number(mark, 16) as u32, crc32fast::hash(&mark[..16]));
    sound.then(|| Position { last: number(mark, 0), end: number(mark, 8) })
}

/// Applies the records of a log from a position on, one at a time, and returns the end of the log.
pub(super) fn replay(
    state: &mut State,
    mut file: &File,
    from: Position,
    marks: [Option<Position>; 2],
    path: &Path,
) -> Result<Position> {
    let wrong = |problem: &str| Error::damaged(path, problem);
    let newest = marks.iter().flatten().max().copied();
    let valid = newest.ok_or_else(|| wrong("is damaged: it does not say how far its log goes"))?;
    let length = file.len().map_err(Error::io(path))?;
    if valid.end > length {
        return Err(Error::damaged(
            path,
            format!("is cut short: it should have {} bytes, it has {length}", valid.end),
        ));
    }
    file.seek(SeekFrom::Start(from.end)).map_err(Error::io(path))?;
    let mut records = BufReader::new(file);
    let mut at = from;
    while at.end < valid.end || (marks.contains(&None) && at.last == valid.last) {
        let left = length.saturating_sub(at.end);
        let record = read_record(&mut records, left).map_err(Error::io(path))?;
        let whole = record.filter(|record| record.number == at.last.wrapping_add(1));
        let Some(Record { number, change }) = whole else {
            if at.end >= valid.end {
                // The damaged mark could have committed one more record, but no valid record
                // follows.
                break;
            }
            return Err(wrong("is damaged: a record of its log is not what was written"));
        };
        let size = (RECORD_HEAD + change.len()) as u64;
        let change = Change::decode(state, &change).map_err(|problem| match problem {
            Undecoded::Unknown(kind) => Error::NewerChange { path: path.to_path_buf(), kind },
            Undecoded::Nonsense => wrong("is damaged: a record of its log makes no sense"),
        })?;
        change.apply(state).map_err(|problem| {
            Error::damaged(path, format!("a record of its log cannot be applied: {problem}"))
        })?;
        at = Position { last: number, end: at.end + size };
    }
    if at.last < valid.last || (at.end != valid.end && at.last == valid.last) {
        return Err(wrong("is damaged: records of its log are missing"));
    }
    Ok(at)
}

struct Record {
    number: u64,
    change: Vec<u8>,
}

/// Returns the next record, or `None` if it is damaged or longer than the `left` bytes of the file.
fn read_record(file: &mut impl Read, left: u64) -> std::io::Result<Option<Record>> {
    let mut head = [0; RECORD_HEAD];
    let Some(left) = left.checked_sub(RECORD_HEAD as u64) else { return Ok(None) };
    file.read_exact(&mut head)?;
    let Some(len) = usize::try_from(number(&head, 0)).ok().filter(|&len| len as u64 <= left) else {
        return Ok(None);
    };
    let mut change = vec![0; len];
    file.read_exact(&mut change)?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..16]);
    sum.update(&change);
    let sound = checksum_matches(number(&head, 16) as u32, sum.finalize());
    Ok(sound.then(|| Record { number: number(&head, 8), change }))
}

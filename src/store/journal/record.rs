//! Records of the journal. Each record is one change, stored completely or not at all.
//!
//! ```text
//! bytes of the body u64 | kind u32 | count u32 | position u64 | checksum of the body u32 | of all this u32
//! ```
//!
//! The body of a put has the new label names, followed by the rows, so that names and rows take
//! effect together:
//!
//! ```text
//! number of the first name u32 | count u32 | names, each with its length u32 | zeros to a multiple of 8 | rows
//! ```

use super::row::{NOWHERE, Row, RowShape, number64, row_bytes};

/// Size in bytes of the head of a record, which precedes the body.
pub(super) const RECORD_HEAD: usize = 32;

const PUT: u32 = 1;
const REMOVE: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) bytes: u64,
    kind: u32,
    count: u32,
    /// Position of the record.
    pub(super) place: u64,
    checksum: u32,
}

impl Head {
    /// Reads a head; `None` if it does not match its checksum.
    pub(super) fn decode(bytes: &[u8; RECORD_HEAD]) -> Option<Head> {
        let checksum = crc32fast::hash(&bytes[..RECORD_HEAD - 4]);
        if checksum != (number64(bytes, 24) >> 32) as u32 && !cfg!(fuzzing) {
            return None;
        }
        Some(Head {
            bytes: number64(bytes, 0),
            kind: number64(bytes, 8) as u32,
            count: (number64(bytes, 8) >> 32) as u32,
            place: number64(bytes, 16),
            checksum: number64(bytes, 24) as u32,
        })
    }

    /// Returns the number of rows according to the head.
    pub(super) fn rows(&self) -> usize {
        self.count as usize
    }

    /// Returns whether a body matches its checksum.
    pub(super) fn matches(&self, body: &[u8]) -> bool {
        crc32fast::hash(body) == self.checksum || cfg!(fuzzing)
    }
}

/// Change that is being written: a record whose body is appended piece by piece.
pub(in crate::store) struct NewRecord {
    start: usize,
    kind: u32,
    count: u32,
}

impl NewRecord {
    fn begin(kind: u32, count: usize, out: &mut Vec<u8>) -> NewRecord {
        let start = out.len();
        out.resize(start + RECORD_HEAD, 0);
        NewRecord { start, kind, count: count as u32 }
    }

    /// Begins a record of rows, which the caller appends. `names` are the new label names; the
    /// first name has the number `first`.
    pub(in crate::store) fn put(
        first: u32,
        names: &[String],
        rows: usize,
        out: &mut Vec<u8>,
    ) -> NewRecord {
        let record = NewRecord::begin(PUT, rows, out);
        out.extend(first.to_le_bytes());
        out.extend((names.len() as u32).to_le_bytes());
        for name in names {
            out.extend((name.len() as u32).to_le_bytes());
            out.extend(name.as_bytes());
        }
        let body = out.len() - record.start - RECORD_HEAD;
        out.resize(out.len() + body.next_multiple_of(8) - body, 0);
        record
    }

    /// Writes the head of a record whose body is complete; `start` is the position of the first
    /// byte of `out`.
    pub(in crate::store) fn end(self, start: u64, out: &mut [u8]) {
        let place = start + self.start as u64;
        let (head, body) = out[self.start..].split_at_mut(RECORD_HEAD);
        head[..8].copy_from_slice(&(body.len() as u64).to_le_bytes());
        head[8..12].copy_from_slice(&self.kind.to_le_bytes());
        head[12..16].copy_from_slice(&self.count.to_le_bytes());
        head[16..24].copy_from_slice(&place.to_le_bytes());
        head[24..28].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        let checksum = crc32fast::hash(&head[..28]);
        head[28..32].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Appends a complete record of removed items, each with the position of its row.
    pub(in crate::store) fn remove(items: &[(u64, u64)], start: u64, out: &mut Vec<u8>) {
        let record = NewRecord::begin(REMOVE, items.len(), out);
        out.extend(
            items.iter().flat_map(|(id, place)| [id.to_le_bytes(), place.to_le_bytes()]).flatten(),
        );
        record.end(start, out);
    }
}

/// Change that was read from the journal.
#[derive(Debug, PartialEq)]
pub(in crate::store) enum Change {
    Put(PutChange),
    /// Ids, each with the position of its row.
    Remove(Vec<(u64, u64)>),
}

/// Rows, with new label names.
#[derive(Debug, Default, PartialEq)]
pub(in crate::store) struct PutChange {
    /// Number of the first new name.
    pub(in crate::store) first: u32,
    pub(in crate::store) names: Vec<String>,
    /// Rows, each with its offset from the start of the record.
    pub(in crate::store) rows: Vec<(u64, Row)>,
}

impl Change {
    /// Returns the number of rows that the change inserts or removes.
    pub(in crate::store) fn rows(&self) -> usize {
        match self {
            Change::Put(put) => put.rows.len(),
            Change::Remove(items) => items.len(),
        }
    }

    /// Returns the positions of the rows that the change replaces or removes.
    pub(in crate::store) fn takes_out(&self) -> impl Iterator<Item = u64> {
        let (rows, items) = match self {
            Change::Put(put) => (&put.rows[..], &[][..]),
            Change::Remove(items) => (&[][..], &items[..]),
        };
        let replaced = rows.iter().map(|(_, row)| row.replaces);
        replaced.chain(items.iter().map(|(_, place)| *place)).filter(|&place| place != NOWHERE)
    }
}

/// Reason why a change cannot be read.
pub(super) enum Unreadable {
    Damaged,
    /// A newer version of the program wrote the change.
    Newer(u64),
}

impl Change {
    pub(super) fn decode(shape: RowShape, head: Head, body: &[u8]) -> Result<Change, Unreadable> {
        let count = head.count as usize;
        let change = match head.kind {
            PUT => put(shape, count, body).map(Change::Put),
            REMOVE => {
                let pairs = body.as_chunks::<16>().0;
                let pairs = (pairs.len() == count).then_some(pairs);
                pairs.map(|pairs| {
                    let pair = |pair: &[u8; 16]| (number64(pair, 0), number64(pair, 8));
                    Change::Remove(pairs.iter().map(pair).collect())
                })
            }
            kind => return Err(Unreadable::Newer(u64::from(kind))),
        };
        change.ok_or(Unreadable::Damaged)
    }
}

fn put(shape: RowShape, count: usize, body: &[u8]) -> Option<PutChange> {
    let (first, names, start) = names(body)?;
    let mut rows = Vec::with_capacity(count.min(body.len() / 8));
    let mut at = start;
    for _ in 0..count {
        let row = Row::decode(shape, body.get(at..)?)?;
        rows.push(((RECORD_HEAD + at) as u64, row));
        at += row_bytes(&body[at..])?;
    }
    (at == body.len()).then_some(PutChange { first, names, rows })
}

/// Reads the label names at the start of a put's body. Returns the number of the first name, all
/// names, and the offset of the first row.
pub(super) fn names(body: &[u8]) -> Option<(u32, Vec<String>, usize)> {
    let head = number64(body.get(..8)?, 0);
    let (first, count) = (head as u32, (head >> 32) as u32);
    let (mut names, mut at) = (Vec::new(), 8);
    for _ in 0..count {
        let len = body.get(at..at + 4)?.first_chunk::<4>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        at += 4;
        let name = body.get(at..at.checked_add(len)?)?;
        names.push(String::from_utf8(name.to_vec()).ok()?);
        at += len;
    }
    let start = at.next_multiple_of(8);
    (start <= body.len()).then_some((first, names, start))
}

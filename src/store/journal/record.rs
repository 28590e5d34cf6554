//! Changes as the journal has them: each is there wholly or not at all.
//!
//! ```text
//! bytes of the body u64 | kind u32 | count u32 | place u64 | checksum of the body u32 | of all this u32
//! ```

use super::row::{Row, RowShape, number64, row_bytes};

/// What stands before the body of a record.
pub(super) const RECORD_HEAD: usize = 32;

/// The kinds of changes.
const PUT: u32 = 1;
const REMOVE: u32 = 2;
const LABEL_NAMES: u32 = 3;

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) bytes: u64,
    kind: u32,
    count: u32,
    /// Where it stands.
    pub(super) place: u64,
    checksum: u32,
}

impl Head {
    /// Reads a head; `None` if it is not what was written.
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

    /// Whether the body is what was written.
    pub(super) fn matches(&self, body: &[u8]) -> bool {
        crc32fast::hash(body) == self.checksum || cfg!(fuzzing)
    }
}

/// A change to be written: a record whose body is appended piece by piece.
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

    /// A record of rows, which are appended after this.
    pub(in crate::store) fn put(rows: usize, out: &mut Vec<u8>) -> NewRecord {
        NewRecord::begin(PUT, rows, out)
    }

    /// Writes the head of a record whose body is there; the first of the bytes will stand at `start`.
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

    /// A whole record of items that are removed, with the places where they stand.
    pub(in crate::store) fn remove(items: &[(u64, u64)], start: u64, out: &mut Vec<u8>) {
        let record = NewRecord::begin(REMOVE, items.len(), out);
        out.extend(
            items.iter().flat_map(|(id, place)| [id.to_le_bytes(), place.to_le_bytes()]).flatten(),
        );
        record.end(start, out);
    }

    /// A whole record of names of labels, of which the first has this number.
    pub(in crate::store) fn label_names(
        first: u32,
        names: &[String],
        start: u64,
        out: &mut Vec<u8>,
    ) {
        let record = NewRecord::begin(LABEL_NAMES, names.len(), out);
        out.extend(u64::from(first).to_le_bytes());
        for name in names {
            out.extend((name.len() as u64).to_le_bytes());
            out.extend(name.as_bytes());
        }
        record.end(start, out);
    }
}

/// A change, as it is read.
#[derive(Debug, PartialEq)]
pub(in crate::store) enum Change {
    /// Rows, each with how far from the start of the record it stands.
    Put(Vec<(u64, Row)>),
    /// Ids, each with where its item stood.
    Remove(Vec<(u64, u64)>),
    /// Names of labels, of which the first has this number.
    LabelNames(u32, Vec<String>),
}

/// Why a change cannot be read.
pub(super) enum Unreadable {
    Damaged,
    /// A newer version wrote it.
    Newer(u64),
}

impl Change {
    pub(super) fn decode(shape: RowShape, head: Head, body: &[u8]) -> Result<Change, Unreadable> {
        let count = head.count as usize;
        let change = match head.kind {
            PUT => rows(shape, count, body).map(Change::Put),
            REMOVE => {
                let pairs = body.as_chunks::<16>().0;
                let pairs = (pairs.len() == count).then_some(pairs);
                pairs.map(|pairs| {
                    let pair = |pair: &[u8; 16]| (number64(pair, 0), number64(pair, 8));
                    Change::Remove(pairs.iter().map(pair).collect())
                })
            }
            LABEL_NAMES => names(count, body),
            kind => return Err(Unreadable::Newer(u64::from(kind))),
        };
        change.ok_or(Unreadable::Damaged)
    }
}

fn rows(shape: RowShape, count: usize, body: &[u8]) -> Option<Vec<(u64, Row)>> {
    let mut rows = Vec::with_capacity(count.min(body.len() / 8));
    let mut at = 0;
    for _ in 0..count {
        let row = Row::decode(shape, body.get(at..)?)?;
        rows.push(((RECORD_HEAD + at) as u64, row));
        at += row_bytes(&body[at..])?;
    }
    (at == body.len()).then_some(rows)
}

fn names(count: usize, body: &[u8]) -> Option<Change> {
    let (first, mut rest) = body.split_first_chunk::<8>()?;
    let first = u32::try_from(u64::from_le_bytes(*first)).ok()?;
    let mut names = Vec::new();
    for _ in 0..count {
        let (len, tail) = rest.split_first_chunk::<8>()?;
        let (name, tail) =
            tail.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        names.push(String::from_utf8(name.to_vec()).ok()?);
        rest = tail;
    }
    rest.is_empty().then_some(Change::LabelNames(first, names))
}

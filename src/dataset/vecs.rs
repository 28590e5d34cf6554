//! fvecs, bvecs and ivecs files: each row is its dimension, followed by its numbers.

use super::array::Array;
use super::element::{Element, Number};
use super::extent::MAX_DIM;
use super::input::{CHUNK, Input};
use super::records::RawRows;
use crate::{Error, Result};

/// Size of the dimension before every row, in bytes.
const PREFIX: usize = 4;

/// Number type of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VecsKind {
    F32,
    U8,
    I32,
}

impl VecsKind {
    /// Returns the kind for a file extension.
    pub(super) fn from_extension(extension: &str) -> Option<VecsKind> {
        match extension {
            "fvecs" => Some(VecsKind::F32),
            "bvecs" => Some(VecsKind::U8),
            "ivecs" => Some(VecsKind::I32),
            _ => None,
        }
    }

    fn element(self) -> Element {
        let number = match self {
            VecsKind::F32 => Number::F32,
            VecsKind::U8 => Number::U8,
            VecsKind::I32 => Number::I32,
        };
        Element { number, big_endian: false }
    }
}

/// Opens an fvecs, bvecs or ivecs file.
pub(super) fn open(mut input: Input, kind: VecsKind) -> Result<Array> {
    let path = input.path().to_path_buf();
    let len = input.remaining();
    let first = i32::from_le_bytes(input.header::<PREFIX>()?);
    let dim = usize::try_from(first).ok().filter(|dim| (1..=MAX_DIM).contains(dim));
    let Some(dim) = dim else {
        let problem = format!("the first row has {first} dimensions; 1 to {MAX_DIM} were expected");
        return Err(Error::malformed(&path, problem));
    };
    let element = kind.element();
    let payload = dim * element.width();
    let record = (PREFIX + payload) as u64;
    if let Some(len) = len
        && !len.is_multiple_of(record)
    {
        let problem = format!(
            "has {len} bytes, not a whole number of rows of {record} bytes ({dim} {element} and \
             {PREFIX} for the dimension)"
        );
        return Err(Error::malformed(&path, problem));
    }
    let rows = len.and_then(|len| usize::try_from(len / record).ok());
    let raw = Vecs { input, dim, payload, row: 0, prefix_read: true, record: Vec::new() };
    // If the number of rows is unknown, the sizes have 0 in its place.
    let sizes = vec![rows.unwrap_or(0) as u64, dim as u64];
    Ok(Array::from_raw(path, element, sizes, rows, dim, Box::new(raw)))
}

struct Vecs {
    input: Input,
    dim: usize,
    /// Size of a row without its prefix, in bytes.
    payload: usize,
    /// Number of rows returned so far.
    row: usize,
    /// Whether the dimension of the next row was already read, as for the first row.
    prefix_read: bool,
    record: Vec<u8>,
}

impl Vecs {
    /// Reads some rows with their prefixes. If the first prefix was already read, it is filled in.
    fn read_records(&mut self, max_rows: usize) -> Result<usize> {
        let record = PREFIX + self.payload;
        let rows = max_rows.min((CHUNK / record).max(1));
        let skip = if self.prefix_read { PREFIX } else { 0 };
        self.record.resize(rows * record, 0);
        if self.prefix_read {
            self.record[..PREFIX].copy_from_slice(&(self.dim as i32).to_le_bytes());
        }
        let found = skip + self.input.fill(&mut self.record[skip..])?;
        self.prefix_read = false;
        if found % record != 0 {
            let problem = format!(
                "row {} ends after {} of its {record} bytes (rows count from 0)",
                self.row + found / record,
                found % record
            );
            return Err(Error::malformed(self.input.path(), problem));
        }
        self.record.truncate(found);
        Ok(found / record)
    }
}

impl RawRows for Vecs {
    fn read(&mut self, max_rows: usize, bytes: &mut Vec<u8>) -> Result<usize> {
        let rows = self.read_records(max_rows)?;
        bytes.clear();
        for (row, record) in self.record.chunks_exact(PREFIX + self.payload).enumerate() {
            let (prefix, payload) = record.split_at(PREFIX);
            if prefix != (self.dim as i32).to_le_bytes() {
                let found = i32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]);
                let problem = format!(
                    "row {} has {found} dimensions, the first has {} (rows count from 0)",
                    self.row + row,
                    self.dim
                );
                return Err(Error::malformed(self.input.path(), problem));
            }
            bytes.extend_from_slice(payload);
        }
        self.row += rows;
        Ok(rows)
    }
}

/// Detects vecs data in a file without a known extension. The dimension must occur again at the
/// start of every row, and at least once.
pub(super) fn recognise(head: &[u8], len: Option<u64>) -> Option<VecsKind> {
    let prefix = head.first_chunk::<PREFIX>()?;
    let dim = usize::try_from(i32::from_le_bytes(*prefix)).ok()?;
    if !(1..=MAX_DIM).contains(&dim) {
        return None;
    }
    let repeats_every = |record: usize| {
        let whole = len.is_none_or(|len| len.is_multiple_of(record as u64));
        let mut others = head.chunks(record).skip(1).filter(|record| record.len() >= PREFIX);
        let again = others.clone().next().is_some();
        whole && again && others.all(|record| record.starts_with(prefix))
    };
    if repeats_every(PREFIX + 4 * dim) {
        let rows = head.chunks_exact(PREFIX + 4 * dim);
        let floats = rows.flat_map(|row| row[PREFIX..].as_chunks::<4>().0).all(is_plain_float);
        Some(if floats { VecsKind::F32 } else { VecsKind::I32 })
    } else {
        repeats_every(PREFIX + dim).then_some(VecsKind::U8)
    }
}

/// Returns whether bytes are a float of usual size, or 0. Small integers are denormal floats,
/// negative integers are NaN.
fn is_plain_float(bytes: &[u8; 4]) -> bool {
    let size = f32::from_le_bytes(*bytes).abs();
    size == 0.0 || (1e-20..1e20).contains(&size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize>(dim: i32, values: &[[u8; N]]) -> Vec<u8> {
        let rows = values.chunks(dim as usize);
        rows.flat_map(|row| [&dim.to_le_bytes()[..], row.as_flattened()].concat()).collect()
    }

    fn recognised(bytes: &[u8]) -> Option<VecsKind> {
        recognise(bytes, Some(bytes.len() as u64))
    }

    #[test]
    fn content_tells_the_kind() {
        let floats = [0.5f32, -1.0, 0.0, 3e5].map(f32::to_le_bytes);
        let integers = [5i32, -1, 0, 300_000].map(i32::to_le_bytes);
        assert_eq!(recognised(&rows(2, &floats)), Some(VecsKind::F32));
        assert_eq!(recognised(&rows(2, &integers)), Some(VecsKind::I32));
        assert_eq!(recognised(&rows(3, &[[1], [2], [3], [4], [5], [6]])), Some(VecsKind::U8));
    }

    #[test]
    fn other_content_is_not_taken_for_rows() {
        let floats = [0.5f32, -1.0, 0.0, 3e5].map(f32::to_le_bytes);
        let good = rows(2, &floats);
        assert_eq!(recognised(&good[..good.len() - 1]), None, "cut off");
        assert_eq!(recognised(&good[..good.len() / 2]), None, "one row could be anything");
        assert_eq!(recognised(&[0; 64]), None, "no dimensions");
        assert_eq!(recognised(&[0xff; 64]), None, "a negative dimension");
        assert_eq!(recognised(&[1]), None);
        let mut other = good.clone();
        other[12] = 3;
        assert_eq!(recognised(&other), None, "another dimension");
        // The length of compressed data is unknown, which is allowed.
        assert_eq!(recognise(&good, None), Some(VecsKind::F32));
    }
}

//! Row of the journal: one item with its own checksum, so that it can be read alone.
//!
//! ```text
//! checksum u32 | bytes u32 | id u64 | replaces u64 | labels u32 | text u32 | payload u32 | 0 u32
//! vector | labels, u32 each | text of the id | payload | zeros to a multiple of 8
//! ```

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::kernel::bytes_of;
use crate::store::description::VectorPrecision;

/// Number of bytes before the vector.
pub(in crate::store) const ROW_HEAD: usize = 40;

/// Position that stands for "no row".
pub(in crate::store) const NOWHERE: u64 = u64::MAX;

/// Format of the vectors in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct RowShape {
    pub(in crate::store) dim: usize,
    pub(in crate::store) precision: VectorPrecision,
}

impl RowShape {
    pub(in crate::store) fn vector_bytes(self) -> usize {
        self.dim * if self.precision == VectorPrecision::F16 { 2 } else { 4 }
    }

    /// Returns the size of a row with one or two labels and nothing else. Reading this number of
    /// bytes is usually enough.
    pub(super) fn usual_bytes(self) -> usize {
        ROW_HEAD + self.vector_bytes() + 16
    }

    /// Appends a vector in its stored form.
    fn put(self, vector: &[f32], out: &mut Vec<u8>) {
        match self.precision {
            // Big-endian machines are refused at compile time.
            VectorPrecision::F32 => out.extend_from_slice(bytes_of(vector)),
            VectorPrecision::F16 => {
                out.extend(vector.iter().flat_map(|&value| rounded(value).to_le_bytes()));
            }
        }
    }

    /// Reads the numbers of a stored vector and appends them.
    pub(in crate::store) fn numbers(self, bytes: &[u8], out: &mut Vec<f32>) {
        match self.precision {
            VectorPrecision::F32 => {
                let (numbers, _) = bytes.as_chunks::<4>();
                out.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            VectorPrecision::F16 => {
                let (halves, _) = bytes.as_chunks::<2>();
                let halves: Vec<f16> =
                    halves.iter().map(|bytes| f16::from_le_bytes(*bytes)).collect();
                let start = out.len();
                out.resize(start + halves.len(), 0.0);
                halves.convert_to_f32_slice(&mut out[start..]);
            }
        }
    }
}

/// Rounds to half precision; values out of range become the largest finite value of their sign.
fn rounded(value: f32) -> f16 {
    f16::from_f32(value.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()))
}

/// Item that was inserted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::store) struct Row {
    pub(in crate::store) id: u64,
    /// Position of the row that this row replaces; [`NOWHERE`] if it replaces none.
    pub(in crate::store) replaces: u64,
    pub(in crate::store) vector: Vec<f32>,
    pub(in crate::store) labels: Vec<u32>,
    /// String that the id stands for, where ids are strings.
    pub(in crate::store) text: String,
    pub(in crate::store) payload: Vec<u8>,
}

/// Row to be written.
pub(in crate::store) struct RowToPut<'a> {
    pub(in crate::store) id: u64,
    pub(in crate::store) replaces: u64,
    pub(in crate::store) vector: &'a [f32],
    pub(in crate::store) labels: &'a [u32],
    pub(in crate::store) text: &'a str,
    pub(in crate::store) payload: &'a [u8],
}

impl RowToPut<'_> {
    /// Appends the bytes of the row.
    pub(in crate::store) fn encode(&self, shape: RowShape, out: &mut Vec<u8>) {
        let start = out.len();
        let size = ROW_HEAD
            + shape.vector_bytes()
            + 4 * self.labels.len()
            + self.text.len()
            + self.payload.len();
        let padded = size.next_multiple_of(8);
        out.extend([0; 4]);
        out.extend((padded as u32).to_le_bytes());
        out.extend(self.id.to_le_bytes());
        out.extend(self.replaces.to_le_bytes());
        for len in [self.labels.len(), self.text.len(), self.payload.len(), 0] {
            out.extend((len as u32).to_le_bytes());
        }
        shape.put(self.vector, out);
        out.extend(self.labels.iter().flat_map(|label| label.to_le_bytes()));
        out.extend(self.text.as_bytes());
        out.extend(self.payload);
        out.resize(start + padded, 0);
        let checksum = crc32fast::hash(&out[start + 4..]);
        out[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Returns the size of the row that begins here, according to its head; `None` if the head is
/// incomplete.
pub(super) fn row_bytes(head: &[u8]) -> Option<usize> {
    head.get(..ROW_HEAD)?;
    Some(number32(head, 4) as usize)
}

impl Row {
    /// Reads the bytes of one row; `None` if they do not match their checksum.
    pub(in crate::store) fn decode(shape: RowShape, bytes: &[u8]) -> Option<Row> {
        let size = row_bytes(bytes)?;
        let bytes = bytes.get(..size).filter(|bytes| bytes.len() >= ROW_HEAD)?;
        if crc32fast::hash(&bytes[4..]) != number32(bytes, 0) && !cfg!(fuzzing) {
            return None;
        }
        let [labels, text, payload] = [24, 28, 32].map(|at| number32(bytes, at) as usize);
        let mut rest = &bytes[ROW_HEAD..];
        let mut take = |len: usize| {
            let (head, tail) = rest.split_at_checked(len)?;
            rest = tail;
            Some(head)
        };
        let mut vector = Vec::with_capacity(shape.dim);
        shape.numbers(take(shape.vector_bytes())?, &mut vector);
        let labels = take(4 * labels)?.as_chunks::<4>().0.iter();
        let labels = labels.map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let text = String::from_utf8(take(text)?.to_vec()).ok()?;
        let payload = take(payload)?.to_vec();
        // Learning and encoding fail on values that are not finite.
        if !vector.iter().all(|value| value.is_finite()) {
            return None;
        }
        Some(Row {
            id: number64(bytes, 8),
            replaces: number64(bytes, 16),
            vector,
            labels,
            text,
            payload,
        })
    }
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

pub(super) fn number64(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Rounds vectors to the precision in which the journal stores them.
pub(in crate::store) fn as_kept(shape: RowShape, vectors: Vec<f32>) -> Vec<f32> {
    match shape.precision {
        VectorPrecision::F32 => vectors,
        VectorPrecision::F16 => vectors.into_iter().map(|value| rounded(value).to_f32()).collect(),
    }
}

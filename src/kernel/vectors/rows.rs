//! Rows of a column of vectors: how numbers stand in them, and what they stand for.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::super::rows::squared_norm;

/// How an index keeps vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VectorFormat {
    /// Half-precision floats, 2 bytes a number: cosines to about 0.0001.
    F16,
    /// Whole numbers of 8 bits and a factor for each vector, 1 byte a number: cosines to about 0.005.
    I8,
}

/// How many sums a product is added up in, whatever the instruction set: number `i` goes to sum
/// `i % LANES`, and the sums are added up by halves.
pub(super) const LANES: usize = 16;

/// The largest whole number of 8 bits that is used, so that both signs have as many.
const LARGEST: f32 = 127.0;

/// The rows of a column of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VectorRows {
    pub(crate) format: VectorFormat,
    pub(crate) dim: usize,
    /// Whether the length of each vector is kept, as not all are of unit length.
    pub(crate) lengths: bool,
}

/// A vector of unit length to compare rows with, in steps of [`LANES`] numbers; zeros fill the last.
pub(crate) struct VectorQuery(pub(super) Vec<[f32; LANES]>);

impl VectorQuery {
    pub(crate) fn new(vector: &[f32]) -> Self {
        let mut unit = Vec::new();
        direction(vector, &mut unit);
        unit.resize(vector.len().next_multiple_of(LANES), 0.0);
        VectorQuery(unit.as_chunks().0.to_vec())
    }
}

/// A vector scaled to unit length, if it is not zero; its length before. Numbers that are not finite
/// become the nearest that are, or 0.
pub(super) fn direction(vector: &[f32], out: &mut Vec<f32>) -> f32 {
    out.clear();
    let finite = |&value: &f32| if value.is_nan() { 0.0 } else { value.clamp(f32::MIN, f32::MAX) };
    out.extend(vector.iter().map(finite));
    let norm = squared_norm(out).sqrt();
    if norm > 0.0 {
        out.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
    }
    (norm as f32).min(f32::MAX)
}

impl VectorRows {
    /// The bytes of a row's numbers.
    pub(super) fn numbers(self) -> usize {
        match self.format {
            VectorFormat::F16 => 2 * self.dim,
            VectorFormat::I8 => self.dim,
        }
    }

    /// The bytes of a row.
    pub(crate) fn bytes(self) -> usize {
        let factor = if self.format == VectorFormat::I8 { 4 } else { 0 };
        self.numbers() + factor + if self.lengths { 4 } else { 0 }
    }

    /// Appends the rows of some vectors.
    pub(crate) fn encode(self, vectors: &[f32], out: &mut Vec<u8>) {
        let mut unit = Vec::new();
        for vector in vectors.chunks_exact(self.dim.max(1)) {
            let length = direction(vector, &mut unit);
            match self.format {
                VectorFormat::F16 => {
                    // Vectors of unit length stay as they are; doing it again might round them.
                    let values = if self.lengths || length == 0.0 { &unit[..] } else { vector };
                    let value = |value: &f32| f16::from_f32(*value).to_bits().to_le_bytes();
                    out.extend(values.iter().flat_map(value));
                }
                VectorFormat::I8 => {
                    let largest = unit.iter().fold(0.0f32, |most, value| most.max(value.abs()));
                    let scale = if largest > 0.0 { LARGEST / largest } else { 0.0 };
                    let whole = |value: &f32| (value * scale).round_ties_even() as i8;
                    let squares: i64 = unit.iter().map(|v| i64::from(whole(v)).pow(2)).sum();
                    out.extend(unit.iter().map(|value| whole(value) as u8));
                    // What makes the rounded vector one of unit length again.
                    let factor = if squares > 0 { 1.0 / (squares as f64).sqrt() } else { 0.0 };
                    out.extend((factor as f32).to_le_bytes());
                }
            }
            if self.lengths {
                out.extend(length.to_le_bytes());
            }
        }
    }

    /// The vector that a row stands for.
    pub(crate) fn decode(self, row: &[u8], out: &mut [f32]) {
        self.numbers_of(row, out);
        let factor = self.factor(row) * if self.lengths { last(row, 4) } else { 1.0 };
        if factor != 1.0 {
            out.iter_mut().for_each(|value| *value *= factor);
        }
    }

    fn numbers_of(self, row: &[u8], out: &mut [f32]) {
        let numbers = &row[..self.numbers()];
        match self.format {
            VectorFormat::F16 => {
                let mut halves = [f16::ZERO; 256];
                let pairs = numbers.as_chunks::<2>().0;
                for (pairs, out) in pairs.chunks(halves.len()).zip(out.chunks_mut(halves.len())) {
                    for (half, pair) in halves.iter_mut().zip(pairs) {
                        *half = f16::from_le_bytes(*pair);
                    }
                    halves[..out.len()].convert_to_f32_slice(out);
                }
            }
            VectorFormat::I8 => {
                out.iter_mut().zip(numbers).for_each(|(out, &byte)| *out = f32::from(byte as i8));
            }
        }
    }

    /// What the numbers of a row are multiplied by to be a vector of unit length.
    pub(super) fn factor(self, row: &[u8]) -> f32 {
        match self.format {
            VectorFormat::F16 => 1.0,
            VectorFormat::I8 => last(row, if self.lengths { 8 } else { 4 }),
        }
    }

    /// Whether all numbers of a row are finite, as those of [`encode`](VectorRows::encode) are.
    pub(crate) fn is_finite(self, row: &[u8]) -> bool {
        let mut values = vec![0.0; self.dim];
        self.decode(row, &mut values);
        values.iter().all(|value| value.is_finite())
    }
}

/// A number that begins so many bytes before the end of a row; 0 if the row is too short for that.
fn last(row: &[u8], before: usize) -> f32 {
    let bytes = row.len().checked_sub(before).and_then(|start| row[start..].first_chunk::<4>());
    bytes.map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
}

/// Rows to be multiplied by a query.
pub(super) struct Given<'a> {
    pub(super) rows: VectorRows,
    pub(super) query: &'a [[f32; LANES]],
    pub(super) bytes: &'a [u8],
}

impl Given<'_> {
    pub(super) fn row(&self, place: u32) -> &[u8] {
        let size = self.rows.bytes();
        &self.bytes[place as usize * size..][..size]
    }

    /// Products in plain Rust.
    pub(super) fn products(&self, places: &[u32], out: &mut [f32]) {
        let mut numbers = vec![[0.0; LANES]; self.query.len()];
        for (&place, out) in places.iter().zip(out) {
            let row = self.row(place);
            self.rows.numbers_of(row, &mut numbers.as_flattened_mut()[..self.rows.dim]);
            let mut sums = [0.0f32; LANES];
            for (query, numbers) in self.query.iter().zip(&numbers) {
                for lane in 0..LANES {
                    sums[lane] += query[lane] * numbers[lane];
                }
            }
            for half in [8, 4, 2, 1] {
                (0..half).for_each(|lane| sums[lane] += sums[lane + half]);
            }
            *out = sums[0] * self.rows.factor(row);
        }
    }
}

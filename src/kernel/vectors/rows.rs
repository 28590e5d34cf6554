//! Rows of a vector column: their encoding, and their scores for a query.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::super::rows::squared_norm;

/// Format in which an index stores vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VectorFormat {
    /// Half-precision floats, 2 bytes per number: cosines are accurate to about 0.0001.
    F16,
    /// 8-bit integers and one factor per vector, 1 byte per number: cosines are accurate to about
    /// 0.005.
    I8,
}

/// Score by which vectors are compared. It is computed for the original vectors, which a hash
/// function has not centred and scaled.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VectorMetric {
    /// Cosine similarity, from -1 to 1; 0 if a vector is zero. The nearest vector has the largest
    /// score.
    #[default]
    Cosine,
    /// Inner product. The nearest vector has the largest score.
    InnerProduct,
    /// Euclidean distance. The nearest vector has the smallest score.
    L2,
}

impl VectorMetric {
    /// All metrics.
    pub const ALL: [VectorMetric; 3] =
        [VectorMetric::Cosine, VectorMetric::InnerProduct, VectorMetric::L2];

    /// Returns the name: `cosine`, `inner_product` or `l2`.
    pub fn name(self) -> &'static str {
        match self {
            VectorMetric::Cosine => "cosine",
            VectorMetric::InnerProduct => "inner_product",
            VectorMetric::L2 => "l2",
        }
    }

    /// Returns the score of two vectors with this inner product and these lengths.
    pub(crate) fn score(self, product: f64, lengths: [f64; 2]) -> f32 {
        let [one, other] = lengths;
        let score = match self {
            VectorMetric::Cosine if one * other > 0.0 => (product / (one * other)).clamp(-1.0, 1.0),
            VectorMetric::Cosine => 0.0,
            VectorMetric::InnerProduct => product,
            VectorMetric::L2 => (one * one + other * other - 2.0 * product).max(0.0).sqrt(),
        };
        let score = if score.is_nan() { 0.0 } else { score };
        // Adding 0 turns -0 into 0: otherwise -0 would be ordered after 0.
        score.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32 + 0.0
    }

    /// Converts a score to a number that is largest for the nearest vector. This function is its
    /// own inverse.
    pub(crate) fn nearness(self, score: f32) -> f32 {
        match self {
            VectorMetric::Cosine | VectorMetric::InnerProduct => score,
            VectorMetric::L2 => -score,
        }
    }
}

impl std::str::FromStr for VectorMetric {
    type Err = crate::Error;

    fn from_str(name: &str) -> crate::Result<Self> {
        let metric = VectorMetric::ALL.into_iter().find(|metric| metric.name() == name);
        metric.ok_or_else(|| {
            crate::Error::parameter("metric", "cosine, inner_product or l2", format!("{name:?}"))
        })
    }
}

/// Number of partial sums of a product, on every instruction set. Number `i` is added to sum
/// `i % LANES`. The upper half of the sums is then added to the lower half, repeatedly.
pub(super) const LANES: usize = 16;

/// Bytes of the lengths that end a row.
const LENGTHS_BYTES: usize = 8;

/// Largest 8-bit integer in use; the smallest is its negative.
const LARGEST: f32 = 127.0;

/// The rows of a column of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VectorRows {
    pub(crate) format: VectorFormat,
    pub(crate) dim: usize,
    /// True if prepared vectors are of unit length.
    pub(crate) unit: bool,
}

/// Lengths of a vector, stored with its row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lengths {
    /// Length after centring and scaling the columns, before scaling to unit length.
    pub(crate) prepared: f32,
    /// Length of the original vector.
    pub(crate) given: f32,
}

/// Query vector to compare rows with.
///
/// A row holds the direction `u` of a prepared vector and its length `l`. The original vector was
/// `x = c + l u / s`, for the centre `c` and the scale `s` of the hash function. So
/// `q . x = q . c + l (q / s) . u`, and the product of the direction of `q / s` with `u` gives
/// every score.
pub(crate) struct VectorQuery {
    /// Direction of `q / s`, in steps of [`LANES`] numbers; the last step is padded with zeros.
    pub(super) direction: Vec<[f32; LANES]>,
    /// Length of `q / s`.
    scaled_length: f64,
    /// `q . c`.
    offset: f64,
    /// Length of `q`.
    length: f64,
    metric: VectorMetric,
    /// True if query and rows are compared relative to the centre. Distances are the same, and lose
    /// fewer digits if vectors are far from the origin.
    is_centred: bool,
}

impl VectorQuery {
    /// Returns the query of an original vector, for rows that were centred and scaled.
    pub(crate) fn new(
        metric: VectorMetric,
        vector: &[f32],
        center: Option<&[f32]>,
        scale: Option<&[f32]>,
    ) -> Self {
        if let (VectorMetric::L2, Some(center), None) = (metric, center, scale) {
            let centred: Vec<f32> = vector.iter().zip(center).map(|(q, c)| q - c).collect();
            let query = VectorQuery::new(metric, &centred, None, None);
            return VectorQuery { is_centred: true, ..query };
        }
        // A column with a scale of 0 is omitted from the rows.
        let unscaled =
            |(value, scale): (&f32, &f32)| if *scale == 0.0 { 0.0 } else { value / scale };
        let scaled: Vec<f32> = match scale {
            None => vector.to_vec(),
            Some(scale) => vector.iter().zip(scale).map(unscaled).collect(),
        };
        let mut unit = Vec::new();
        let scaled_length = f64::from(direction(&scaled, &mut unit));
        unit.resize(vector.len().next_multiple_of(LANES), 0.0);
        let products = center.into_iter().flatten().zip(vector);
        VectorQuery {
            direction: unit.as_chunks().0.to_vec(),
            scaled_length,
            offset: products.map(|(c, q)| f64::from(*c) * f64::from(*q)).sum(),
            length: squared_norm(vector).sqrt(),
            metric,
            is_centred: false,
        }
    }

    /// Returns the score of a row whose direction has this product with that of the query.
    pub(super) fn score(&self, product: f32, lengths: Lengths) -> f32 {
        let prepared = f64::from(lengths.prepared);
        let product = self.offset + self.scaled_length * prepared * f64::from(product);
        let length = if self.is_centred { prepared } else { f64::from(lengths.given) };
        self.metric.score(product, [self.length, length])
    }
}

/// Writes a vector to `out`, scaled to unit length unless it is zero, and returns its original
/// length. Infinite numbers become the nearest finite number, and NaN becomes 0.
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
    /// Returns the size of a row's numbers in bytes.
    pub(super) fn numbers(self) -> usize {
        match self.format {
            VectorFormat::F16 => 2 * self.dim,
            VectorFormat::I8 => self.dim,
        }
    }

    /// Returns the size of a row in bytes.
    pub(crate) fn bytes(self) -> usize {
        let factor = if self.format == VectorFormat::I8 { 4 } else { 0 };
        self.numbers() + factor + LENGTHS_BYTES
    }

    /// Appends the encoded rows of prepared vectors.
    pub(crate) fn encode(self, vectors: &[f32], lengths: &[Lengths], out: &mut Vec<u8>) {
        let mut unit = Vec::new();
        for (vector, lengths) in vectors.chunks_exact(self.dim.max(1)).zip(lengths) {
            let length = direction(vector, &mut unit);
            match self.format {
                VectorFormat::F16 => {
                    // Vectors of unit length stay unchanged; scaling them again might round them.
                    let values = if !self.unit || length == 0.0 { &unit[..] } else { vector };
                    let value = |value: &f32| f16::from_f32(*value).to_bits().to_le_bytes();
                    out.extend(values.iter().flat_map(value));
                }
                VectorFormat::I8 => {
                    let largest = unit.iter().fold(0.0f32, |most, value| most.max(value.abs()));
                    let scale = if largest > 0.0 { LARGEST / largest } else { 0.0 };
                    let whole = |value: &f32| (value * scale).round_ties_even() as i8;
                    let squares: i64 = unit.iter().map(|v| i64::from(whole(v)).pow(2)).sum();
                    out.extend(unit.iter().map(|value| whole(value) as u8));
                    // The factor scales the rounded vector to unit length again.
                    let factor = if squares > 0 { 1.0 / (squares as f64).sqrt() } else { 0.0 };
                    out.extend((factor as f32).to_le_bytes());
                }
            }
            out.extend(lengths.prepared.to_le_bytes());
            out.extend(lengths.given.to_le_bytes());
        }
    }

    /// Writes the prepared vector of a row to `out`.
    pub(crate) fn decode(self, row: &[u8], out: &mut [f32]) {
        self.numbers_of(row, out);
        let factor = self.factor(row) * if self.unit { 1.0 } else { self.lengths(row).prepared };
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

    /// Returns the factor that scales the numbers of a row to unit length.
    pub(super) fn factor(self, row: &[u8]) -> f32 {
        match self.format {
            VectorFormat::F16 => 1.0,
            VectorFormat::I8 => last(row, 4 + LENGTHS_BYTES),
        }
    }

    /// Returns the lengths of a row's vector.
    pub(super) fn lengths(self, row: &[u8]) -> Lengths {
        Lengths { prepared: last(row, LENGTHS_BYTES), given: last(row, 4) }
    }

    /// Returns true if all numbers of a row are finite, as in all rows that
    /// [`encode`](VectorRows::encode) writes.
    pub(crate) fn is_finite(self, row: &[u8]) -> bool {
        let mut values = vec![0.0; self.dim];
        self.decode(row, &mut values);
        let Lengths { prepared, given } = self.lengths(row);
        values.iter().chain([&prepared, &given]).all(|value| value.is_finite())
    }
}

/// Returns the number that begins `before` bytes before the end of a row; 0 if the row is too
/// short.
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

    /// Computes products in plain Rust.
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

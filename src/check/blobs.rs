//! Classes of data that learners are checked on, and a measure of how well codes separate them.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::HashFunction;
use crate::dataset::Data;
use crate::labels::LabelList;

pub(super) const DIM: usize = 12;
pub(super) const BITS: usize = 8;
const BLOBS: usize = 4;

/// Draws rows of four blobs at the corners of a square: random projections separate the blobs, but
/// poorly.
pub(super) fn blobs(rows: usize, seed: u64) -> Data {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut features = Vec::with_capacity(rows * DIM);
    let mut labels = Vec::with_capacity(rows);
    for _ in 0..rows {
        let label = rng.random_range(0..BLOBS as u32);
        labels.push(label);
        for i in 0..DIM {
            // Two dimensions separate the blobs; the others are noise of larger amplitude.
            let center = match i {
                0 => (label % 2) as f32 - 0.5,
                1 => (label / 2) as f32 - 0.5,
                _ => 0.0,
            };
            let noise = if i < 2 { 0.2 } else { 0.45 };
            features.push(center + noise * rng.random_range(-1.0..1.0f32));
        }
    }
    Data::new(DIM, features, LabelList::single(labels)).expect("as it should be")
}

/// Mean Hamming distances: `[a][b]` between codes of blobs `a` and `b`, `[a][a]` between codes of
/// one blob.
pub(super) struct ClassDistances([[f64; BLOBS]; BLOBS]);

impl ClassDistances {
    /// Measures the distances on rows that were not learned.
    pub(super) fn of(function: &HashFunction) -> Result<Self, String> {
        let data = blobs(1000, 99);
        let codes = function.encode(data.batch().features()).map_err(|error| error.to_string())?;
        let labels = data.batch().labels().expect("labelled");
        let rows_of =
            |blob: usize| (0..codes.len()).filter(move |&row| labels.row(row)[0] == blob as u32);
        // Share of a blob's rows whose code has a bit set.
        let share = |blob: usize, bit: usize| {
            let set = rows_of(blob).filter(|&row| codes.bit(row, bit)).count();
            set as f64 / rows_of(blob).count() as f64
        };
        let shares: Vec<Vec<f64>> =
            (0..BLOBS).map(|blob| (0..BITS).map(|bit| share(blob, bit)).collect()).collect();
        let differ = |p: &f64, q: &f64| p * (1.0 - q) + q * (1.0 - p);
        Ok(ClassDistances(std::array::from_fn(|a| {
            std::array::from_fn(|b| {
                shares[a].iter().zip(&shares[b]).map(|(p, q)| differ(p, q)).sum()
            })
        })))
    }

    /// Returns the mean distance of any two rows.
    pub(super) fn overall(&self) -> f64 {
        self.0.as_flattened().iter().sum::<f64>() / (BLOBS * BLOBS) as f64
    }
}

/// Fails unless the codes of rows of some blobs are nearer to codes of their own blob than to those
/// of other blobs. Random projections pass; codes that are independent of the blobs do not.
pub(super) fn tells_apart(distances: &ClassDistances, blobs: &[usize]) -> Result<(), String> {
    const MARGIN: f64 = 0.9;
    let (mut own, mut others) = (0.0, 0.0);
    for &blob in blobs {
        let row = distances.0[blob];
        own += row[blob] / blobs.len() as f64;
        others += (row.iter().sum::<f64>() - row[blob]) / (blobs.len() * (BLOBS - 1)) as f64;
    }
    match own < MARGIN * others {
        true => Ok(()),
        false => Err(format!(
            "rows of the classes {blobs:?} differ in {own:.2} bits from their own class and in \
             {others:.2} from others"
        )),
    }
}

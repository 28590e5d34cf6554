//! Selection of rows by number and by class.

use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::labels::LabelList;
use crate::{Batch, Error, Features, Labels, Learner, Result};

/// Lets a learner learn some rows in the given order, `batch` rows at a time. Returns the time that
/// learning took.
///
/// # Errors
/// When the learner fails, or `batch` is 0.
///
/// # Panics
/// When a row does not exist.
pub fn learn_rows(
    learner: &mut dyn Learner,
    from: Batch<'_>,
    rows: &[usize],
    batch: usize,
) -> Result<Duration> {
    if batch == 0 {
        return Err(Error::parameter("batch", "1 or more", 0));
    }
    let mut learning = Duration::ZERO;
    for rows in rows.chunks(batch) {
        let features: Vec<f32> =
            rows.iter().flat_map(|&row| from.features().row(row)).copied().collect();
        let features = Features::new(&features, from.features().dim())?;
        let labels = from.labels().map(|labels| select(labels, rows));
        let batch = match &labels {
            Some(labels) => Batch::new(features, labels.view())?,
            None => Batch::unlabelled(features),
        };
        let clock = Instant::now();
        learner.learn(batch)?;
        learning += clock.elapsed();
    }
    Ok(learning)
}

/// Returns the labels of some rows, in the given order.
pub(super) fn select(labels: Labels<'_>, rows: &[usize]) -> LabelList {
    match labels.as_single() {
        Some(values) => LabelList::single(rows.iter().map(|&row| values[row]).collect()),
        None => {
            let mut selected = LabelList::new();
            rows.iter().for_each(|&row| selected.push_set(labels.row(row)));
            selected
        }
    }
}

/// Returns the class of each row. Fails unless each row has exactly one label, which `protocol`
/// needs.
pub(super) fn classes(labels: Labels<'_>, protocol: &'static str) -> Result<Vec<u32>> {
    let class = |row: usize| match labels.row(row) {
        [class] => Ok(*class),
        others => Err(Error::OneLabel { protocol, row, labels: others.len() }),
    };
    (0..labels.len()).map(class).collect()
}

/// Returns the distinct classes, in an order drawn by the seed.
pub(super) fn shuffled(classes: &[u32], seed: u64, purpose: u64) -> Vec<u32> {
    let mut distinct = classes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // The random numbers must differ from those of the split, which uses the same seed.
    rng.set_stream(purpose);
    distinct.shuffle(&mut rng);
    distinct
}

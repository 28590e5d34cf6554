//! Quality of search: a sample of the stored items is searched for by its own codes, in the background.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::answer::Quality;
use crate::{Codes, Result, Snapshot};

/// Neighbours that are compared with the query.
const NEAREST: usize = 10;

/// Items whose labels are read, to find labelled ones.
const POOL: usize = 20_000;

/// Labelled items that are searched for.
const QUERIES: usize = 500;

/// Queries that are searched for together. The store can be closed between two of these searches.
const AT_ONCE: usize = 100;

/// Items whose codes are compared with each other, and the least number of them that says something of all items.
const COMPARED: usize = 1000;
const COMPARED_AT_LEAST: usize = 50;

/// Least time between two measurements by the same function.
const PAUSE: Duration = Duration::from_secs(2);

/// Least time between two measurements by the same function, as a multiple of the time that the last one took.
const PAUSE_FACTOR: u32 = 50;

/// The last measurement.
#[derive(Default)]
pub(super) struct Measurement {
    quality: Quality,
    last: Option<Measured>,
}

/// The state of the store that was measured, when the measurement ended, and how long it took.
struct Measured {
    version: u64,
    position: u64,
    ended: Instant,
    took: Duration,
}

impl Measurement {
    pub(super) fn quality(&self) -> Quality {
        self.quality.clone()
    }

    /// Returns whether the store should be measured: always after a renewal, and now and then while items change.
    pub(super) fn is_due(&self, version: u64, position: u64) -> bool {
        let Some(last) = &self.last else { return true };
        let rested = last.ended.elapsed() >= PAUSE.max(PAUSE_FACTOR * last.took);
        version != last.version || position != last.position && rested
    }
}

/// Measures the quality of the codes of a version, of all items up to a journal position. `None` if it was stopped.
pub(super) fn measure(
    index: &Snapshot,
    (version, position): (u64, u64),
    is_stopped: impl Fn() -> bool,
) -> Result<Option<Measurement>> {
    let begun = Instant::now();
    let pool = index.sample(POOL)?;
    let Some(precisions) = precisions(index, &pool, is_stopped)? else { return Ok(None) };
    let queries = precisions.len();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let quality = Quality {
        precision_at_10: (queries > 0).then(|| precisions.iter().sum::<f64>() / queries as f64),
        queries,
        measured_at: (queries > 0).then_some(since_1970.as_secs_f64()),
        unmeasured: (queries == 0).then_some(Quality::NO_LABELS),
        same_code: same_code(index, &pool)?,
    };
    let last = Measured { version, position, ended: Instant::now(), took: begun.elapsed() };
    Ok(Some(Measurement { quality, last: Some(last) }))
}

/// Returns the precision of each of the labelled items that are searched for: the share of its nearest neighbours that
/// share a label with it. `None` if it was stopped.
fn precisions(
    index: &Snapshot,
    pool: &[u64],
    is_stopped: impl Fn() -> bool,
) -> Result<Option<Vec<f64>>> {
    let labels = index.labels_of(pool)?;
    let labelled: Vec<usize> = (0..pool.len()).filter(|&row| !labels[row].is_empty()).collect();
    let step = labelled.len().div_ceil(QUERIES).max(1);
    let rows: Vec<usize> = labelled.into_iter().step_by(step).collect();
    let mut precisions = Vec::with_capacity(rows.len());
    for rows in rows.chunks(AT_ONCE) {
        if is_stopped() {
            return Ok(None);
        }
        let ids: Vec<u64> = rows.iter().map(|&row| pool[row]).collect();
        // One more than needed, since an item finds itself.
        let hits = index.search_codes(&codes_of(index, &ids)?, NEAREST + 1)?;
        for (&row, hits) in rows.iter().zip(hits.iter()) {
            let others = hits.iter().map(|hit| hit.id).filter(|&id| id != pool[row]);
            let others: Vec<u64> = others.take(NEAREST).collect();
            let shares = |with: &&[u32]| with.iter().any(|label| labels[row].contains(label));
            let right = index.labels_of(&others)?.iter().filter(|with| shares(with)).count();
            precisions.push(right as f64 / others.len().max(1) as f64);
        }
    }
    Ok(Some(precisions))
}

/// Returns the share of the items that have the most frequent code; `None` of few items.
fn same_code(index: &Snapshot, pool: &[u64]) -> Result<Option<f64>> {
    let step = pool.len().div_ceil(COMPARED).max(1);
    let ids: Vec<u64> = pool.iter().copied().step_by(step).collect();
    let codes = codes_of(index, &ids)?;
    let mut counts = HashMap::new();
    codes.iter().for_each(|code| *counts.entry(code).or_insert(0usize) += 1);
    let most = counts.into_values().max().unwrap_or(0);
    Ok((codes.len() >= COMPARED_AT_LEAST).then(|| most as f64 / codes.len() as f64))
}

/// Returns the codes of items of an index.
fn codes_of(index: &Snapshot, ids: &[u64]) -> Result<Codes> {
    let mut codes = Codes::new(index.bits())?;
    let mut pushed = Ok(());
    index.look_up(ids, |_, item| {
        if let (Ok(()), Some(item)) = (&pushed, item) {
            pushed = codes.push(item.code);
        }
    })?;
    pushed.map(|()| codes)
}

//! Quality of search, measured in the background: labelled items are searched for by their own
//! codes. Held-out items, which the store never learned ([`HeldOut`](super::held_out::HeldOut)),
//! represent new items.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::answer::{MeasuredOn, Quality};
use crate::{Codes, Result, Snapshot};

/// Number of neighbours that are compared with the query.
const NEAREST: usize = 10;

/// Number of items whose labels are read to find labelled ones.
const POOL: usize = 20_000;

/// Number of items whose ids are read to find held-out ones.
const HELD_OUT_POOL: usize = 100_000;

/// Number of labelled items that are searched for.
const QUERIES: usize = 500;

/// Least number of held-out labelled items that the precision is measured on.
const HELD_OUT_AT_LEAST: usize = 30;

/// Number of queries per search. The store can be closed between two searches.
const AT_ONCE: usize = 100;

/// Number of items whose codes are compared with each other, and the minimum number required.
const COMPARED: usize = 1000;
const COMPARED_AT_LEAST: usize = 50;

/// Least time between two measurements by the same function.
const PAUSE: Duration = Duration::from_secs(2);

/// Least time between two measurements by the same function, as a multiple of the time that the
/// last one took.
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

    /// Returns whether a measurement is due: always after a re-encoding, and from time to time
    /// while items change.
    pub(super) fn is_due(&self, version: u64, position: u64) -> bool {
        let Some(last) = &self.last else { return true };
        let rested = last.ended.elapsed() >= PAUSE.max(PAUSE_FACTOR * last.took);
        version != last.version || position != last.position && rested
    }
}

/// Measures the quality of the codes of a version, over all items up to a journal position. Returns
/// `None` if the measurement was stopped.
pub(super) fn measure(
    index: &Snapshot,
    (version, position): (u64, u64),
    held_out: impl Fn(&[u64]) -> Vec<u64>,
    is_stopped: impl Fn() -> bool,
) -> Result<Option<Measurement>> {
    let begun = Instant::now();
    let pool = index.sample(POOL)?;
    let ids = index.sample(HELD_OUT_POOL)?;
    let held_out = held_out(&ids);
    let mut queries = labelled(index, &held_out)?;
    let mut measured_on = MeasuredOn::HeldOut;
    if queries.len() < HELD_OUT_AT_LEAST {
        (queries, measured_on) = (labelled(index, &pool)?, MeasuredOn::Learned);
    }
    let Some(precision) = precision(index, &queries, is_stopped)? else { return Ok(None) };
    let queries = precision.queries;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let quality = Quality {
        precision_at_10: (queries > 0).then(|| precision.sum / queries as f64),
        precision_at_10_per_class: precision.per_class(),
        queries,
        measured_on: (queries > 0).then_some(measured_on),
        held_out_items: (held_out.len() * index.len()).div_ceil(ids.len().max(1)),
        measured_at: (queries > 0).then_some(since_1970.as_secs_f64()),
        unmeasured: (queries == 0).then_some(Quality::NO_LABELS),
        same_code: same_code(index, &pool)?,
    };
    let last = Measured { version, position, ended: Instant::now(), took: begun.elapsed() };
    Ok(Some(Measurement { quality, last: Some(last) }))
}

/// Returns the labelled items among `ids`, thinned out evenly to at most [`QUERIES`].
fn labelled(index: &Snapshot, ids: &[u64]) -> Result<Vec<u64>> {
    let labels = index.labels_of(ids)?;
    let labelled = ids.iter().zip(labels).filter(|(_, labels)| !labels.is_empty());
    let labelled: Vec<u64> = labelled.map(|(&id, _)| id).collect();
    let step = labelled.len().div_ceil(QUERIES).max(1);
    Ok(labelled.into_iter().step_by(step).collect())
}

/// Precision over some queries.
#[derive(Default)]
struct Precision {
    /// Sum of the precision over all queries.
    sum: f64,
    queries: usize,
    /// Sum of the precision over the queries of each label, and the number of these queries.
    of_label: HashMap<u32, (f64, usize)>,
}

impl Precision {
    fn add(&mut self, labels: &[u32], precision: f64) {
        self.sum += precision;
        self.queries += 1;
        for &label in labels {
            let (sum, queries) = self.of_label.entry(label).or_default();
            *sum += precision;
            *queries += 1;
        }
    }

    /// Returns the mean over the classes.
    fn per_class(&self) -> Option<f64> {
        let mut means: Vec<f64> =
            self.of_label.values().map(|(sum, queries)| sum / *queries as f64).collect();
        // The order of a hash map is random: sorting makes the same queries give the same mean, to
        // the last digit.
        means.sort_unstable_by(f64::total_cmp);
        (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
    }
}

/// Returns the precision over labelled queries: of the labelled items among a query's nearest
/// neighbours, the share that have a label of the query. Returns `None` if the measurement was
/// stopped.
fn precision(
    index: &Snapshot,
    queries: &[u64],
    is_stopped: impl Fn() -> bool,
) -> Result<Option<Precision>> {
    let mut precision = Precision::default();
    for queries in queries.chunks(AT_ONCE) {
        if is_stopped() {
            return Ok(None);
        }
        // One hit more than needed, since an item finds itself.
        let hits = index.search_codes(&codes_of(index, queries)?, NEAREST + 1)?;
        for ((query, labels), hits) in
            queries.iter().zip(index.labels_of(queries)?).zip(hits.iter())
        {
            let others = hits.iter().map(|hit| hit.id).filter(|id| id != query);
            let others: Vec<u64> = others.take(NEAREST).collect();
            // Items without labels do not count, because their class is unknown.
            let mut of_others = index.labels_of(&others)?;
            of_others.retain(|labels| !labels.is_empty());
            if !of_others.is_empty() {
                let shares = |with: &&&[u32]| with.iter().any(|label| labels.contains(label));
                let right = of_others.iter().filter(shares).count();
                precision.add(labels, right as f64 / of_others.len() as f64);
            }
        }
    }
    Ok(Some(precision))
}

/// Returns the share of the items that have the most frequent code; `None` if there are too few
/// items.
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

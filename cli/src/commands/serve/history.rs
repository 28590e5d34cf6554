//! History of the store's statistics, one sample per second, for charts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hashbrook::store::MeasuredOn;
use serde::Serialize;

use super::app::App;

/// Maximum number of samples: one hour.
const SAMPLES: usize = 3600;

/// Statistics at one point in time.
#[derive(Clone, Serialize)]
pub struct Sample {
    /// Seconds since 1970.
    pub time: f64,
    pub items: usize,
    pub version: u64,
    pub learned_rows: u64,
    pub lag_rows: u64,
    pub precision_at_10: Option<f64>,
    pub precision_at_10_per_class: Option<f64>,
    pub measured_on: Option<MeasuredOn>,
    pub would_flip: Option<f64>,
    pub renewal_progress: Option<f64>,
    /// Number of requests since the start.
    pub requests: u64,
    /// Number of items inserted since the start.
    pub puts: u64,
    /// Number of queries answered since the start.
    pub searches: u64,
}

/// Counters of the work since the start.
#[derive(Default)]
pub struct Done {
    pub puts: AtomicU64,
    pub searches: AtomicU64,
}

/// Samples of the last hour.
#[derive(Default)]
pub struct History(Mutex<VecDeque<Sample>>);

impl History {
    /// Returns the newest samples after a time, at most `most`, the oldest first.
    pub fn after(&self, time: f64, most: usize) -> Vec<Sample> {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let after = samples.partition_point(|sample| sample.time <= time);
        let start = after.max(samples.len().saturating_sub(most));
        samples.range(start..).cloned().collect()
    }

    fn push(&self, sample: Sample) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == SAMPLES {
            samples.pop_front();
        }
        // After the clock was set back, new samples would be out of order.
        if samples.back().is_some_and(|last| last.time >= sample.time) {
            samples.clear();
        }
        samples.push_back(sample);
    }
}

/// Returns the seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Takes a sample every second, as long as the service runs.
pub async fn keep(app: Weak<App>) {
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        clock.tick().await;
        let Some(app) = app.upgrade() else { return };
        // Sampling runs on a blocking thread, so that it never delays requests.
        let taken = tokio::task::spawn_blocking(move || sample(&app));
        if taken.await.is_err() {
            return;
        }
    }
}

fn sample(app: &Arc<App>) {
    let stats = app.collection.store().map(|store| store.stats()).unwrap_or_default();
    app.history.push(Sample {
        time: now(),
        items: stats.items,
        version: stats.version,
        learned_rows: stats.learning.rows,
        lag_rows: stats.renewal.lag_rows,
        precision_at_10: stats.quality.precision_at_10,
        precision_at_10_per_class: stats.quality.precision_at_10_per_class,
        measured_on: stats.quality.measured_on,
        would_flip: stats.renewal.would_flip,
        renewal_progress: stats.renewal.progress,
        requests: app.metrics.requests(),
        puts: app.done.puts.load(Relaxed),
        searches: app.done.searches.load(Relaxed),
    });
}

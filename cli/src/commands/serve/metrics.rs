//! Counts and times of requests, and statistics of the store, in Prometheus format.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::http::StatusCode;
use hashbrook::store::{Quality, Stats, TaskStatus};

use super::routes::Route;

/// Upper bounds of request times, in microseconds.
const BOUNDS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 5_000_000, 30_000_000,
];

/// Number of statuses: 100 to 599.
const STATUSES: usize = 500;

/// Metrics of all requests since the start, by route.
pub struct Metrics(Vec<OfRoute>);

struct OfRoute {
    route: Route,
    /// Number of requests per time bucket between consecutive bounds; the last bucket has no bound.
    times: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
    statuses: Vec<AtomicU64>,
}

impl Metrics {
    pub fn new(routes: Vec<Route>) -> Metrics {
        let of_route = |route| OfRoute {
            route,
            times: Default::default(),
            nanoseconds: AtomicU64::new(0),
            statuses: (0..STATUSES).map(|_| AtomicU64::new(0)).collect(),
        };
        Metrics(routes.into_iter().map(of_route).collect())
    }

    /// Records a request.
    pub fn record(&self, at: usize, status: StatusCode, time: Duration) {
        let Some(of_route) = self.0.get(at) else { return };
        let micros = time.as_micros() as u64;
        let bucket = BOUNDS.partition_point(|&bound| bound < micros);
        of_route.times[bucket].fetch_add(1, Relaxed);
        of_route.nanoseconds.fetch_add(time.as_nanos() as u64, Relaxed);
        if let Some(count) = of_route.statuses.get(usize::from(status.as_u16()) - 100) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of requests, without those that only monitor the service.
    pub fn requests(&self) -> u64 {
        let counted = self.0.iter().filter(|of_route| of_route.route.is_counted);
        counted.flat_map(|of_route| &of_route.times).map(|count| count.load(Relaxed)).sum()
    }

    /// Returns all metrics as text, with the statistics of the store and the uptime of the service.
    pub fn text(&self, stats: &Stats, uptime: Duration) -> String {
        let mut text = String::new();
        self.write_requests(&mut text);
        self.write_times(&mut text);
        let learning = &stats.learning;
        let renewal = &stats.renewal;
        let held_out = stats.quality.held_out_items as f64;
        let gauges: [(&str, &str, Option<f64>); 16] = [
            ("uptime_seconds", "Seconds since the start", Some(uptime.as_secs_f64())),
            ("items", "Items in the collection", Some(stats.items as f64)),
            (
                "version",
                "Version of the function that the codes are of",
                Some(stats.version as f64),
            ),
            ("labels", "Labels that any item ever had", Some(stats.labels as f64)),
            ("journal_bytes", "Bytes of the journal", Some(stats.journal_bytes as f64)),
            (
                "dead_bytes",
                "Bytes of the journal that no item needs",
                Some(stats.dead_bytes as f64),
            ),
            ("learned_rows", "Rows learned, less those taken back", Some(learning.rows as f64)),
            (
                "learning_behind_bytes",
                "Bytes of the journal to be learned",
                Some(learning.behind_bytes as f64),
            ),
            (
                "learning_stopped",
                "1 if learning stands still",
                Some(f64::from(u8::from(learning.problem.is_some()))),
            ),
            ("renewals", "Number of times all items were re-encoded", Some(renewal.done as f64)),
            (
                "renewal_lag_rows",
                "Rows learned that the codes know nothing of",
                Some(renewal.lag_rows as f64),
            ),
            ("renewal_progress", "Share of the items that has new codes", renewal.progress),
            ("renewal_would_flip", "Share of the bits that would change", renewal.would_flip),
            ("renewal_flipped", "Share of the bits that the last renewal changed", renewal.flipped),
            ("held_out_items", "About how many items are held out", Some(held_out)),
            (
                "same_code",
                "Share of a sample of items with the most frequent code",
                stats.quality.same_code,
            ),
        ];
        write_tasks(&mut text, stats);
        write_precision(&mut text, &stats.quality);
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            text.push_str(&format!(
                "# HELP hashbrook_{name} {help}\n# TYPE hashbrook_{name} gauge\nhashbrook_{name} {value}\n"
            ));
        }
        text
    }

    fn write_requests(&self, text: &mut String) {
        text.push_str(
            "# HELP hashbrook_requests_total Requests\n# TYPE hashbrook_requests_total counter\n",
        );
        for OfRoute { route, statuses, .. } in &self.0 {
            for (status, count) in statuses.iter().enumerate() {
                let count = count.load(Relaxed);
                if count > 0 {
                    let (method, path, status) = (route.method, route.path, status + 100);
                    text.push_str(&format!(
                        "hashbrook_requests_total{{method=\"{method}\",route=\"{path}\",status=\"{status}\"}} {count}\n"
                    ));
                }
            }
        }
    }

    fn write_times(&self, text: &mut String) {
        const NAME: &str = "hashbrook_request_seconds";
        text.push_str(&format!("# HELP {NAME} How long requests took\n# TYPE {NAME} histogram\n"));
        for OfRoute { route, times, nanoseconds, .. } in &self.0 {
            let labels = format!("method=\"{}\",route=\"{}\"", route.method, route.path);
            let mut total = 0;
            for (at, count) in times.iter().enumerate() {
                total += count.load(Relaxed);
                let bound = BOUNDS.get(at).map(|&micros| (micros as f64 / 1e6).to_string());
                let bound = bound.unwrap_or("+Inf".to_owned());
                text.push_str(&format!("{NAME}_bucket{{{labels},le=\"{bound}\"}} {total}\n"));
            }
            let sum = nanoseconds.load(Relaxed) as f64 / 1e9;
            text.push_str(&format!(
                "{NAME}_sum{{{labels}}} {sum}\n{NAME}_count{{{labels}}} {total}\n"
            ));
        }
    }
}

/// Writes the precision of the codes in use. Precision on held-out items and on learned items are
/// different time series.
fn write_precision(text: &mut String, quality: &Quality) {
    let Some(measured_on) = quality.measured_on else { return };
    let metrics = [
        (
            "precision_at_10",
            "Share of the labelled ones among the ten nearest with a label of the query's, mean over the queries: \
             held-out items, or learned ones where few are held out",
            quality.precision_at_10,
        ),
        (
            "precision_at_10_per_class",
            "The same, mean over the classes",
            quality.precision_at_10_per_class,
        ),
        ("precision_queries", "Number of these queries", Some(quality.queries as f64)),
    ];
    for (name, help, value) in metrics {
        let Some(value) = value else { continue };
        text.push_str(&format!(
            "# HELP hashbrook_{name} {help}\n# TYPE hashbrook_{name} gauge\n\
             hashbrook_{name}{{measured_on=\"{}\"}} {value}\n",
            measured_on.name()
        ));
    }
}

/// Writes the progress of each background task of the store, and whether it fails.
fn write_tasks(text: &mut String, stats: &Stats) {
    type Value = fn(&TaskStatus) -> u64;
    let metrics: [(&str, &str, &str, Value); 3] = [
        ("task_done_total", "counter", "Successes of background work", |task| task.done),
        ("task_failures_total", "counter", "Failures of background work", |task| task.failures),
        ("task_failing", "gauge", "1 if it failed the last time", |task| {
            u64::from(task.problem.is_some())
        }),
    ];
    for (name, kind, help, value) in metrics {
        text.push_str(&format!("# HELP hashbrook_{name} {help}\n# TYPE hashbrook_{name} {kind}\n"));
        for task in &stats.tasks {
            let value = value(task);
            text.push_str(&format!("hashbrook_{name}{{task=\"{}\"}} {value}\n", task.task));
        }
    }
}

#[cfg(test)]
mod tests {
    use hashbrook::store::MeasuredOn;

    use super::*;

    #[test]
    fn times_are_counted_up_to_each_bound() {
        let metrics = Metrics::new(super::super::routes::all());
        for micros in [10, 50, 51, 40_000_000] {
            metrics.record(0, StatusCode::OK, Duration::from_micros(micros));
        }
        metrics.record(0, StatusCode::NOT_FOUND, Duration::from_micros(10));
        let text = metrics.text(&Stats::default(), Duration::from_secs(2));
        let has = |end: &str| text.lines().any(|line| line.ends_with(end));
        assert!(
            has("le=\"0.00005\"} 3") && has("le=\"0.0001\"} 4") && has("le=\"+Inf\"} 5"),
            "{text}"
        );
        assert!(has("status=\"200\"} 4") && has("status=\"404\"} 1") && has("hashbrook_items 0"));
        assert!(!text.contains("precision"), "what is not known is not said");
        let mut stats = Stats::default();
        stats.quality.measured_on = Some(MeasuredOn::HeldOut);
        (stats.quality.precision_at_10, stats.quality.queries) = (Some(0.5), 40);
        let text = metrics.text(&stats, Duration::from_secs(2));
        assert!(
            text.contains("\nhashbrook_precision_at_10{measured_on=\"held_out\"} 0.5\n"),
            "{text}"
        );
        assert!(text.contains("\nhashbrook_precision_queries{measured_on=\"held_out\"} 40\n"));
        assert!(!text.contains("per_class"), "{text}");
    }
}

//! Results, looked up by experiment, data set and method.

use super::plan::{Cell, Dataset, Experiment, Plan};
use super::store::{Point, Record, Store};
use crate::commands::compare::Protocol;

/// A mean over seeds.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    /// Standard deviation; 0 for one value.
    pub spread: f64,
    pub seeds: usize,
}

impl Stat {
    pub fn of(values: &[f64]) -> Option<Stat> {
        let n = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let spread = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Stat { mean, low, high, spread, seeds: values.len() })
    }
}

pub struct Results<'a> {
    pub plan: &'a Plan,
    pub store: &'a Store,
}

/// Runs that differ only in their seed.
pub struct Runs<'a> {
    pub records: Vec<&'a Record>,
}

impl Runs<'_> {
    /// Returns the mean of a measure at the end of each run.
    pub fn at_end(&self, measure: impl Fn(&Point) -> f64) -> Option<Stat> {
        let values: Vec<f64> =
            self.records.iter().filter_map(|record| record.last()).map(measure).collect();
        Stat::of(&values)
    }

    /// Returns the mean of a measure of whole runs.
    pub fn of_runs(&self, measure: impl Fn(&Record) -> f64) -> Option<Stat> {
        let done = self.records.iter().filter(|record| record.failed.is_none());
        Stat::of(&done.map(|record| measure(record)).collect::<Vec<_>>())
    }

    /// Returns the mean of a measure of a protocol other than the paper's.
    pub fn of_protocol(&self, measure: &str) -> Option<Stat> {
        let values = self.records.iter().filter_map(|record| record.measured.get(measure).copied());
        Stat::of(&values.collect::<Vec<_>>())
    }

    /// Returns the reason why a run failed, if any did.
    pub fn failure(&self) -> Option<&str> {
        self.records.iter().find_map(|record| record.failed.as_deref())
    }
}

impl<'a> Results<'a> {
    /// Returns the data sets of an experiment that have results.
    pub fn datasets(&self, experiment: &Experiment) -> Vec<&'a Dataset> {
        let named = experiment.datasets.iter().filter_map(|name| self.plan.dataset(name));
        let some = |dataset: &&Dataset| {
            let cells = experiment.cells(self.plan, dataset).unwrap_or_default();
            cells.iter().any(|cell| self.store.get(cell).is_some())
        };
        named.filter(some).collect()
    }

    /// Returns the runs of a method with its parameters, at a code length, by a protocol.
    pub fn runs_by(
        &self,
        protocol: Protocol,
        experiment: &Experiment,
        dataset: &Dataset,
        spec: &str,
        bits: usize,
    ) -> Runs<'a> {
        self.of_all_seeds(experiment, Cell::new(experiment, dataset, spec, bits, protocol))
    }

    /// Returns the runs of a method with its parameters, at a code length, by the paper's protocol.
    /// The batch size is that of the data set if `None`.
    pub fn runs(
        &self,
        experiment: &Experiment,
        dataset: &Dataset,
        spec: &str,
        bits: usize,
        batch: Option<usize>,
    ) -> Runs<'a> {
        let batch = batch.unwrap_or(dataset.batch);
        let cell = Cell::new(experiment, dataset, spec, bits, Protocol::Paper);
        self.of_all_seeds(experiment, cell.map(|cell| Cell { batch, ..cell }))
    }

    /// Returns the runs of a cell for all seeds; no runs if the cell is invalid.
    fn of_all_seeds(&self, experiment: &Experiment, cell: anyhow::Result<Cell>) -> Runs<'a> {
        let Ok(cell) = cell else { return Runs { records: Vec::new() } };
        let record = |seed: u64| self.store.get(&Cell { seed, ..cell.clone() });
        Runs { records: (1..=experiment.seeds).filter_map(record).collect() }
    }

    /// Returns the name and the colour of a spec.
    pub fn look(&self, spec: &str) -> (String, String) {
        match self.plan.method(spec) {
            Some(method) => (method.name.clone(), method.colour.clone()),
            None => (spec.replace([':', '+'], ", "), "#888888".to_owned()),
        }
    }
}

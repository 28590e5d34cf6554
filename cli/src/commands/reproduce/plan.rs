//! The plan of a reproduction: the grid of `paper.toml`, divided into cells.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::commands::compare::{Contender, Protocol};

/// Built-in grid.
const GRID: &str = include_str!("paper.toml");

/// Spec of the literal form of bsodh.
pub const DENSE: &str = "dense";

/// Number of seeds of a quick run.
const QUICK_SEEDS: u64 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The reproduced paper.
    pub citation: Citation,
    /// True for a quick run, which judges no claims.
    #[serde(skip)]
    pub quick: bool,
    #[serde(rename = "dataset")]
    pub datasets: Vec<Dataset>,
    #[serde(rename = "method")]
    pub methods: Vec<Entrant>,
    #[serde(rename = "experiment")]
    pub experiments: Vec<Experiment>,
    /// Printed results, by data set and row of the paper's tables.
    pub paper: BTreeMap<String, BTreeMap<String, Printed>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    pub title: String,
    pub authors: String,
    pub venue: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    pub name: String,
    pub title: String,
    pub note: Option<String>,
    /// Files in the directory named after the data set; empty for the built-in digits.
    pub features: Vec<String>,
    pub labels: Vec<String>,
    pub preset: String,
    pub queries_per_class: usize,
    pub rows: usize,
    pub batch: usize,
    /// Measure of the main table: `mAP` or `mAP@1000`.
    pub score: String,
}

/// A method with its own parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entrant {
    pub name: String,
    pub spec: String,
    pub colour: String,
    /// Row of the method in the paper's tables.
    pub paper: Option<String>,
    /// Maximum number of seeds, for slow methods.
    pub seeds: Option<u64>,
    #[serde(default)]
    pub slow: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub name: String,
    pub datasets: Vec<String>,
    /// `all` for every method of the list.
    pub methods: Option<String>,
    /// Specs of the methods, if not all are run.
    #[serde(default)]
    pub runs: Vec<String>,
    pub bits: Vec<usize>,
    pub seeds: u64,
    /// Number of batches between measurements; `None` to measure only at the end.
    pub every: Option<usize>,
    /// Parameters and their values; all combinations are run.
    #[serde(default)]
    pub vary: BTreeMap<String, Vec<f64>>,
    /// True if the codes are drawn by t-SNE.
    #[serde(default)]
    pub tsne: bool,
    /// Batch sizes that replace the data set's own.
    #[serde(default)]
    pub batches: Vec<usize>,
    /// Protocols of `compare` that replace the paper's.
    #[serde(default)]
    pub protocols: Vec<Protocol>,
    /// Additional protocols by data set, since not every protocol makes sense on each.
    #[serde(default)]
    pub more_protocols: BTreeMap<String, Vec<Protocol>>,
}

/// A row of the paper's tables; the first value is for 32 bits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    pub score: Vec<f64>,
    pub radius: Vec<f64>,
}

/// One run. Experiments that contain the same cell share its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    pub dataset: String,
    /// Method with its parameters, as `compare` takes it.
    pub spec: String,
    pub bits: usize,
    pub seed: u64,
    pub batch: usize,
    pub every: Option<usize>,
    pub tsne: bool,
    pub protocol: Protocol,
    /// All parameters of the method, including defaults and presets that the spec does not name.
    pub parameters: Map<String, Value>,
}

impl Cell {
    /// Creates the cell of the first seed for a method with its parameters, with the data set's
    /// batch size.
    pub fn new(
        experiment: &Experiment,
        dataset: &Dataset,
        spec: &str,
        bits: usize,
        protocol: Protocol,
    ) -> Result<Cell> {
        let method = if spec == DENSE { "bsodh" } else { spec };
        let contender = Contender::named(method, Some(&dataset.preset), protocol)
            .with_context(|| spec.to_owned())?;
        Ok(Cell {
            dataset: dataset.name.clone(),
            spec: spec.to_owned(),
            bits,
            seed: 1,
            batch: dataset.batch,
            every: experiment.every,
            tsne: experiment.tsne,
            protocol,
            parameters: crate::commands::parameters_of(&contender.method),
        })
    }

    /// Returns the key under which the cell's result is stored.
    pub fn key(&self) -> String {
        let every = self.every.map_or(String::new(), |every| format!(" every {every}"));
        let tsne = if self.tsne { " | t-SNE" } else { "" };
        let protocol = match self.protocol {
            Protocol::Paper => String::new(),
            other => format!(" | {}", other.name()),
        };
        format!(
            "{} | {} | {} bits | seed {} | batch {}{every}{tsne}{protocol}",
            self.dataset, self.spec, self.bits, self.seed, self.batch
        )
    }
}

/// The part of the grid to run.
pub struct Choice<'a> {
    pub only: &'a [String],
    pub quick: bool,
    pub seeds: Option<u64>,
}

impl Plan {
    pub fn load(choice: &Choice<'_>) -> Result<Plan> {
        let mut plan: Plan = toml::from_str(GRID).context("paper.toml")?;
        plan.quick = choice.quick;
        let names: Vec<String> = plan.experiments.iter().map(|e| e.name.clone()).collect();
        if let Some(unknown) = choice.only.iter().find(|name| !names.contains(name)) {
            bail!("there is no experiment {unknown:?}; there are: {}", names.join(", "));
        }
        plan.experiments.retain(|e| choice.only.is_empty() || choice.only.contains(&e.name));
        for experiment in &mut plan.experiments {
            if let Some(seeds) = choice.seeds {
                experiment.seeds = experiment.seeds.min(seeds);
            }
            if choice.quick {
                experiment.make_quick();
            }
        }
        Ok(plan)
    }

    pub fn dataset(&self, name: &str) -> Option<&Dataset> {
        self.datasets.iter().find(|dataset| dataset.name == name)
    }

    pub fn method(&self, spec: &str) -> Option<&Entrant> {
        self.methods.iter().find(|method| method.spec == spec)
    }

    pub fn experiment(&self, name: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|experiment| experiment.name == name)
    }

    /// Returns all cells, each once; those of one data set and seed are adjacent.
    pub fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for experiment in &self.experiments {
            for name in &experiment.datasets {
                let dataset = self.dataset(name).with_context(|| format!("no data set {name}"))?;
                cells.extend(experiment.cells(self, dataset)?);
            }
        }
        let mut seen = HashSet::new();
        cells.retain(|cell| seen.insert(cell.clone()));
        let place = |cell: &Cell| self.datasets.iter().position(|d| d.name == cell.dataset);
        // Slow methods run last, so that a mostly complete page is available early.
        let slow = |cell: &Cell| self.method(&cell.spec).is_some_and(|method| method.slow);
        // Protocols that draw their own rows run after the protocols that share the seed's split.
        let drawn = |cell: &Cell| cell.protocol.several_labels().map(|_| cell.protocol.name());
        cells.sort_by_key(|cell| (slow(cell), place(cell), cell.seed, drawn(cell)));
        Ok(cells)
    }
}

impl Experiment {
    /// Restricts the experiment to a quick run: mostly the built-in digits.
    fn make_quick(&mut self) {
        self.datasets = match self.name.as_str() {
            "tables" => vec!["digits".to_owned(), "mnist".to_owned()],
            _ => vec!["digits".to_owned()],
        };
        self.seeds = self.seeds.min(QUICK_SEEDS);
        for values in self.vary.values_mut().filter(|values| values.len() > 5) {
            let last = values.len() - 1;
            *values = [0, last / 4, last / 2, last * 3 / 4, last].map(|at| values[at]).to_vec();
        }
        self.batches.iter_mut().for_each(|batch| *batch = batch.div_ceil(8));
    }

    /// Returns the specs of the experiment, including the grid of its parameters.
    pub fn specs(&self, plan: &Plan) -> Vec<String> {
        let mut specs = match &self.methods {
            Some(_) => plan.methods.iter().map(|method| method.spec.clone()).collect(),
            None => self.runs.clone(),
        };
        for (parameter, values) in &self.vary {
            specs = specs
                .iter()
                .flat_map(|spec| values.iter().map(move |value| with(spec, parameter, *value)))
                .collect();
        }
        specs
    }

    /// Returns the protocols of the experiment on a data set.
    fn protocols_on(&self, dataset: &Dataset) -> Vec<Protocol> {
        let more = self.more_protocols.get(&dataset.name).into_iter().flatten();
        let protocols: Vec<Protocol> = self.protocols.iter().chain(more).copied().collect();
        if protocols.is_empty() { vec![Protocol::Paper] } else { protocols }
    }

    /// Returns all protocols of the experiment other than the paper's, on any data set, each once.
    pub fn all_protocols(&self) -> Vec<Protocol> {
        let mut all = Vec::new();
        for protocol in self.protocols.iter().chain(self.more_protocols.values().flatten()) {
            if !all.contains(protocol) {
                all.push(*protocol);
            }
        }
        all
    }

    /// Returns the cells of the experiment on a data set.
    pub fn cells(&self, plan: &Plan, dataset: &Dataset) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        let batches = if self.batches.is_empty() { &[dataset.batch][..] } else { &self.batches };
        let protocols = self.protocols_on(dataset);
        // A quick run measures the larger sets with one code length and one seed.
        let quick = self.datasets.iter().any(|name| name == "digits");
        let (bits, most) = match quick && dataset.name != "digits" {
            true => (&[64][..], 1),
            false => (&self.bits[..], self.seeds),
        };
        for spec in self.specs(plan) {
            let entrant = plan.method(&spec);
            if quick && dataset.name != "digits" && entrant.is_some_and(|method| method.slow) {
                continue;
            }
            let seeds = entrant.and_then(|method| method.seeds).unwrap_or(most).min(most);
            for (&bits, &protocol) in
                bits.iter().flat_map(|b| protocols.iter().map(move |p| (b, p)))
            {
                let cell = Cell::new(self, dataset, &spec, bits, protocol)?;
                for (seed, &batch) in (1..=seeds).flat_map(|s| batches.iter().map(move |b| (s, b)))
                {
                    cells.push(Cell { seed, batch, ..cell.clone() });
                }
            }
        }
        Ok(cells)
    }
}

/// Returns a spec with a parameter added, or replaced if the spec has it.
pub fn with(spec: &str, parameter: &str, value: f64) -> String {
    let (base, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    let named = |text: &&str| !text.is_empty() && !text.starts_with(&format!("{parameter}="));
    let mut parameters: Vec<String> =
        parameters.split('+').filter(named).map(str::to_owned).collect();
    parameters.push(format!("{parameter}={value}"));
    format!("{base}:{}", parameters.join("+"))
}

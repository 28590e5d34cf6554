//! One run: a method, a length and a seed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use hashbrook::dataset::Data;
use hashbrook::eval::Measures;
use hashbrook::protocol::Experiment;
use hashbrook::{Center, Method, Setup, file};
use serde_json::{Map, Value, json};

use super::Args;

/// A method with its parameters, under the name it was given on the command line.
pub struct Contender {
    pub name: String,
    pub method: Method,
    /// Whether it was asked for by name, and not with all others.
    pub asked_for: bool,
}

impl Contender {
    pub fn parse_all(names: &[String], preset: Option<&str>) -> Result<Vec<Contender>> {
        let mut all = Vec::new();
        for name in names {
            if name == "all" {
                for method in Method::all() {
                    let contender = Contender::parse(method.name(), preset)?;
                    all.push(Contender { asked_for: false, ..contender });
                }
            } else {
                all.push(Contender::parse(name, preset)?);
            }
        }
        let mut seen = Vec::new();
        for contender in &all {
            if seen.contains(&&contender.name) {
                bail!("{} is named twice", contender.name);
            }
            seen.push(&contender.name);
        }
        Ok(all)
    }

    /// A method with parameters, on top of those of a preset: NAME:PARAMETER=VALUE+...
    pub fn parse(name: &str, preset: Option<&str>) -> Result<Contender> {
        let (base, parameters) = name.split_once(':').unwrap_or((name, ""));
        let mut method = Method::named(base)?;
        if let Some(preset) = preset {
            method.preset(preset)?;
        }
        for parameter in parameters.split('+').filter(|parameter| !parameter.is_empty()) {
            let (parameter, value) = parameter.split_once('=').ok_or_else(|| {
                anyhow!("{name}: a method takes NAME:PARAMETER=VALUE, as in osh:loss=hinge")
            })?;
            method.set(parameter, value)?;
        }
        Ok(Contender { name: name.to_owned(), method, asked_for: true })
    }
}

/// A checksum of all data, so that results of other data are not taken for those of this.
pub fn fingerprint(data: &Data) -> String {
    let mut sum = crc32fast::Hasher::new();
    let batch = data.batch();
    let mut bytes = Vec::new();
    for row in 0..batch.len() {
        bytes.clear();
        bytes.extend(batch.features().row(row).iter().flat_map(|value| value.to_le_bytes()));
        sum.update(&bytes);
        let labels = batch.labels().map(|labels| labels.row(row)).unwrap_or_default();
        labels.iter().for_each(|label| sum.update(&label.to_le_bytes()));
    }
    format!("{:08x}", sum.finalize())
}

/// What was found in one run, by name.
pub type Found = Map<String, Value>;

/// The measures that a run gives, in the order of the table.
pub fn measures(top: usize, ndcg_at: usize) -> [String; 8] {
    [
        "mAP".to_owned(),
        format!("mAP@{top}"),
        "precision@100".to_owned(),
        "precision_radius_2".to_owned(),
        format!("ndcg@{ndcg_at}"),
        "learn_seconds".to_owned(),
        "encode_rows_per_second".to_owned(),
        "state_bytes".to_owned(),
    ]
}

pub struct Cell<'a> {
    pub contender: &'a Contender,
    pub bits: usize,
    pub seed: u64,
    pub measures: [String; 8],
    /// Everything that the result depends on.
    settings: Value,
}

impl<'a> Cell<'a> {
    pub fn new(
        args: &Args,
        contender: &'a Contender,
        bits: usize,
        seed: u64,
        fingerprint: &str,
    ) -> Self {
        let center = match args.center {
            super::CenterOn::None => "none",
            super::CenterOn::First => "first",
            super::CenterOn::All => "all",
        };
        let settings = json!({
            "method": contender.method.table(),
            "bits": bits,
            "seed": seed,
            "data": fingerprint,
            "queries_per_class": args.queries_per_class,
            "rows": args.rows,
            "batch": args.batch,
            "center": center,
            "top": args.top,
            "ndcg_at": args.ndcg_at,
            "version": env!("CARGO_PKG_VERSION"),
        });
        let measures = measures(args.top, args.ndcg_at);
        Cell { contender, bits, seed, measures, settings }
    }

    /// Where the result is kept: a name for people, and a checksum of the settings.
    fn path(&self, folder: &Path) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.contender.name.chars().map(plain).collect();
        let sum = crc32fast::hash(self.settings.to_string().as_bytes());
        folder.join(format!("{name}-{}bits-seed{}-{sum:08x}.json", self.bits, self.seed))
    }

    /// The result, if it is there already.
    pub fn kept(&self, folder: Option<&Path>) -> Result<Option<Found>> {
        let Some(path) = folder.map(|folder| self.path(folder)) else { return Ok(None) };
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.with_context(|| path.display().to_string())?,
        };
        let mut stored: Map<String, Value> = serde_json::from_str(&text).with_context(|| {
            format!("{} is not a result; delete it to compute it again", path.display())
        })?;
        match (stored.remove("settings"), stored.remove("found")) {
            (Some(settings), Some(Value::Object(found))) if settings == self.settings => {
                Ok(Some(found))
            }
            _ => Ok(None),
        }
    }

    pub fn keep(&self, folder: Option<&Path>, found: &Found) -> Result<()> {
        let Some(folder) = folder else { return Ok(()) };
        let text = json!({ "settings": self.settings, "found": found }).to_string() + "\n";
        Ok(file::write(self.path(folder), text.as_bytes())?)
    }

    pub fn run(
        &self,
        args: &Args,
        database: &Data,
        queries: &Data,
        center: Center,
    ) -> Result<Found> {
        let rows = args.rows.min(database.len());
        let suited = rows.div_ceil(10).clamp(1, 2000);
        let mut measures = Measures::new(&[args.top], &[100], &[2]);
        measures.ndcg_at = vec![args.ndcg_at];
        let experiment = Experiment {
            stream: database.batch().slice(0..rows),
            database: database.batch(),
            queries: queries.batch(),
            batch: args.batch.map_or(suited, |batch| batch as usize),
            every: None,
            measures,
        };
        let method = &self.contender.method;
        let warmup = Some(method.warmup().min(rows));
        let mut setup = Setup::default();
        setup.center = center;
        setup.warmup = warmup;
        let name = || format!("{}, {} bits, seed {}", self.contender.name, self.bits, self.seed);
        let mut model =
            method.start_with(database.dim(), self.bits, self.seed, setup).with_context(name)?;
        let checkpoints = experiment.run(&mut model, |_| {}).with_context(name)?;
        let Some(last) = checkpoints.last() else { bail!("{}: nothing was measured", name()) };
        let function = model.try_hash_function()?;
        let clock = Instant::now();
        function.encode(database.batch().features())?;
        let rate = database.len() as f64 / clock.elapsed().as_secs_f64();
        let found = &last.evaluation;
        let values = [
            json!(found.map),
            json!(found.map_at[0].1),
            json!(found.precision_at[0].1),
            json!(found.precision_radius[0].1),
            json!(found.ndcg_at[0].1),
            json!(last.learning.as_secs_f64()),
            json!(rate),
            json!(model.to_bytes().len()),
        ];
        Ok(self.measures.iter().cloned().zip(values).collect())
    }
}

//! One cell of the comparison: a method, a code length and a seed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use hashbrook::dataset::Data;
use hashbrook::{Center, Method, file};
use serde_json::{Map, Value, json};

use super::Args;
use super::protocol::{Column, Protocol};
use super::run::Run;

/// A method with its parameters, and its name on the command line.
pub struct Contender {
    pub name: String,
    pub method: Method,
    /// True if the user named this method; false if it is one of `all`.
    pub asked_for: bool,
    /// True if ranking uses the vectors themselves, as the method prepares them, instead of codes.
    pub by_vectors: bool,
}

/// Contender name of ranking by the cosine of the vectors themselves.
const COSINE: &str = "cosine";

/// References included in every table of protocols other than the papers'.
const REFERENCES: [&str; 3] = ["lsh", "itq", COSINE];

impl Contender {
    pub fn parse_all(
        names: &[String],
        preset: Option<&str>,
        protocol: Protocol,
    ) -> Result<Vec<Contender>> {
        let mut all = Vec::new();
        for name in names {
            if name == "all" {
                for method in Method::all() {
                    let contender = Contender::parse(method.name(), preset)?;
                    all.push(Contender { asked_for: false, ..contender });
                }
            } else {
                all.push(Contender::named(name, preset, protocol)?);
            }
        }
        if protocol != Protocol::Paper {
            for name in REFERENCES {
                if all.iter().any(|contender| contender.name == name) {
                    continue;
                }
                let reference = Contender::named(name, preset, protocol)?;
                all.push(Contender { asked_for: false, ..reference });
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

    /// Parses a name as [`parse`](Contender::parse) does. Protocols other than the papers' also
    /// accept the name of ranking by the vectors themselves.
    pub fn named(name: &str, preset: Option<&str>, protocol: Protocol) -> Result<Contender> {
        if name != COSINE || protocol == Protocol::Paper {
            return Contender::parse(name, preset);
        }
        // A method that learns nothing prepares the vectors.
        let method = Method::named("lsh")?;
        Ok(Contender { name: COSINE.to_owned(), method, asked_for: true, by_vectors: true })
    }

    /// Parses a method with parameters that override those of a preset: NAME:PARAMETER=VALUE+...
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
        Ok(Contender { name: name.to_owned(), method, asked_for: true, by_vectors: false })
    }
}

/// Returns a checksum of all data, so that results for other data are not reused.
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

/// Results of one run, by name.
pub type Found = Map<String, Value>;

pub struct Cell<'a> {
    pub contender: &'a Contender,
    pub bits: usize,
    pub seed: u64,
    pub columns: Vec<Column>,
    /// All settings that the result depends on.
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
        let mut settings = json!({
            "method": crate::commands::parameters_of(&contender.method),
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
        if args.protocol != Protocol::Paper {
            settings["protocol"] = json!(args.protocol.name());
            settings["by_vectors"] = json!(contender.by_vectors);
        }
        let columns = args.protocol.columns(args.top, args.ndcg_at);
        Cell { contender, bits, seed, columns, settings }
    }

    /// Returns the file of the result, named by the contender and a checksum of the settings.
    fn path(&self, directory: &Path) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.contender.name.chars().map(plain).collect();
        let sum = crc32fast::hash(self.settings.to_string().as_bytes());
        directory.join(format!("{name}-{}bits-seed{}-{sum:08x}.json", self.bits, self.seed))
    }

    /// Returns the stored result, or `None` if there is none yet.
    pub fn kept(&self, directory: Option<&Path>) -> Result<Option<Found>> {
        let Some(path) = directory.map(|directory| self.path(directory)) else { return Ok(None) };
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

    pub fn keep(&self, directory: Option<&Path>, found: &Found) -> Result<()> {
        let Some(directory) = directory else { return Ok(()) };
        let text = json!({ "settings": self.settings, "found": found }).to_string() + "\n";
        Ok(file::write(self.path(directory), text.as_bytes())?)
    }

    pub fn run(
        &self,
        args: &Args,
        database: &Data,
        queries: &Data,
        center: Center,
    ) -> Result<Found> {
        let run = Run {
            protocol: args.protocol,
            contender: self.contender,
            bits: self.bits,
            seed: self.seed,
            rows: args.rows,
            batch: args.batch.map(|batch| batch as usize),
            top: args.top,
            ndcg_at: args.ndcg_at,
            center,
            database: database.batch(),
            queries: queries.batch(),
        };
        let name = || format!("{}, {} bits, seed {}", self.contender.name, self.bits, self.seed);
        run.found().with_context(name)
    }
}

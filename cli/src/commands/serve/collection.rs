//! The served store, which the first items create if it does not exist.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::store::{Description, IdKind, ItemId, Settings, VectorPrecision};
use hashbrook::{Error, MAX_BITS, Method, Store, VectorMetric};

use super::errors::Problem;
use crate::commands::{scale_named, set_parameters};
use crate::console::{count, plural};

/// Code length without --bits.
const DEFAULT_BITS: usize = 64;

/// Divisor of the memory limit that gives the limit for learning; the index, requests and answers
/// need the rest.
const PART_OF_MEMORY: u64 = 4;

/// What a new collection is made of. Options that are given must fit a collection that is there.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "A new collection")]
pub struct Plan {
    /// The method that it learns by [default: brook]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,

    /// Sets a parameter of the method; may be repeated
    #[arg(long, value_name = "NAME=VALUE", action = ArgAction::Append)]
    set: Vec<String>,

    /// The length of the codes, 1 to 1024 [default: 64]
    #[arg(long, value_name = "N")]
    bits: Option<usize>,

    /// The dimension of the vectors [default: that of the first]
    #[arg(long, value_name = "N")]
    dim: Option<usize>,

    /// The random start [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How vectors are kept: 4 bytes a number, or 2 [default: f32]
    #[arg(long, value_name = "f32|f16", value_parser = ["f32", "f16"])]
    precision: Option<String>,

    /// Score that hits are re-ranked by: cosine, inner_product or l2 [default: cosine]
    #[arg(long, value_name = "METRIC")]
    metric: Option<VectorMetric>,

    /// Whether to divide each column by its deviation in the first rows [default: none]
    #[arg(long, value_name = "none|standard", value_parser = ["none", "standard"])]
    scale: Option<String>,

    /// How many of the first rows fix what is fixed before learning [default: as the method asks for]
    #[arg(long, value_name = "N")]
    warmup: Option<usize>,

    /// Hold out one of this number of items: it is stored and found, and never learned, so that the precision of
    /// the codes is measured on items like new ones; 0 learns all [default: 50]
    #[arg(long, value_name = "N")]
    held_out: Option<u32>,
}

impl Plan {
    /// Returns the description of a collection for vectors of a dimension and ids of a kind.
    fn description(&self, dim: usize, ids: IdKind) -> Result<Description> {
        let mut method = Method::named(self.method.as_deref().unwrap_or("brook"))?;
        if let (Method::Brook(params), Some(limit)) = (&mut method, crate::memory::limit()) {
            params.memory = params.memory.min(limit / PART_OF_MEMORY);
        }
        set_parameters(&mut method, &self.set)?;
        let mut made =
            Description::new(method, self.dim.unwrap_or(dim), self.bits.unwrap_or(DEFAULT_BITS));
        made.ids = ids;
        made.seed = self.seed.unwrap_or(made.seed);
        made.precision = self.precision().unwrap_or(made.precision);
        made.metric = self.metric.unwrap_or(made.metric);
        made.scale = self.scale.as_deref().map_or(made.scale, scale_named);
        made.warmup = self.warmup.or(made.warmup);
        made.held_out = self.held_out.unwrap_or(made.held_out);
        Ok(made)
    }

    /// Returns the precision that --precision selects; the parser allows no other values.
    fn precision(&self) -> Option<VectorPrecision> {
        let named = |name: &str| match name {
            "f16" => VectorPrecision::F16,
            _ => VectorPrecision::F32,
        };
        self.precision.as_deref().map(named)
    }

    /// Fails if no collection can have these options, whatever the first items are.
    ///
    /// Without --dim the dimension is unknown until the first items arrive. Some methods need at
    /// least one dimension per bit, so the options are tried with one dimension per bit.
    /// `Store::create` checks them against the real dimension.
    fn check_possible(&self) -> Result<()> {
        let bits = self.bits.unwrap_or(DEFAULT_BITS);
        self.description(bits.clamp(1, MAX_BITS), IdKind::Numbers)?.start()?;
        Ok(())
    }

    /// Fails if an existing collection contradicts these options.
    fn check(&self, has: &Description) -> Result<()> {
        fn same<T: PartialEq + std::fmt::Debug>(
            name: &str,
            asked: Option<T>,
            has: T,
        ) -> Result<()> {
            match asked {
                Some(asked) if asked != has => bail!(
                    "--{name} is {asked:?}, but the collection has {has:?}, for good; leave the option \
                     out, or serve another directory"
                ),
                _ => Ok(()),
            }
        }
        same("method", self.method.as_deref(), has.method.name())?;
        same("bits", self.bits, has.bits)?;
        same("dim", self.dim, has.dim)?;
        same("seed", self.seed, has.seed)?;
        same("precision", self.precision(), has.precision)?;
        same("metric", self.metric, has.metric)?;
        same("scale", self.scale.as_deref().map(scale_named), has.scale)?;
        same("warmup", self.warmup.map(Some), has.warmup)?;
        same("held-out", self.held_out, has.held_out)?;
        let mut method = has.method.clone();
        set_parameters(&mut method, &self.set)?;
        if method != has.method {
            bail!(
                "the collection has other parameters of {} than those of --set, for good",
                has.method.name()
            );
        }
        Ok(())
    }
}

/// A directory with a store, or one in which the first items will create a store.
pub struct Collection {
    dir: PathBuf,
    plan: Plan,
    settings: Settings,
    store: OnceLock<Store>,
    /// Locked while the store is created.
    making: Mutex<()>,
}

impl Collection {
    pub fn open(dir: &Path, plan: Plan, settings: Settings) -> Result<Collection> {
        settings.check()?;
        let store = if Store::exists(dir) {
            let opened = Store::open(dir, settings.clone())?;
            plan.check(opened.description())?;
            OnceLock::from(opened)
        } else {
            plan.check_possible()?;
            if dir.exists() && !dir.is_dir() {
                bail!("{} is a file; a collection is stored in a directory", dir.display());
            }
            Store::check_free(dir)?;
            OnceLock::new()
        };
        Ok(Collection { dir: dir.to_path_buf(), plan, settings, store, making: Mutex::new(()) })
    }

    /// Returns the store, if it exists.
    pub fn store(&self) -> Option<&Store> {
        self.store.get()
    }

    /// Returns the store, and creates it for these items if there is none.
    ///
    /// A store may exist but not be open if an earlier request created it and then failed to open
    /// it, for lack of memory or file descriptors. Such a store is opened, and the items are
    /// checked against it when they are inserted.
    pub fn store_for(&self, dim: usize, ids: &[ItemId]) -> Result<&Store, Problem> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let kind = one_kind(ids)?;
        let made = self.plan.description(dim, kind);
        let made = made.map_err(|error| Problem::unprocessable(format!("{error:#}")))?;
        if made.dim != dim {
            return Err(Error::Dimension { expected: made.dim, found: dim }.into());
        }
        let store = match Store::exists(&self.dir) {
            true => {
                let opened = Store::open(&self.dir, self.settings.clone())?;
                let fits = self.plan.check(opened.description());
                fits.map_err(|error| Problem::conflict(format!("{error:#}")))?;
                opened
            }
            false => Store::create(&self.dir, &made, self.settings.clone())?,
        };
        Ok(self.store.get_or_init(|| store))
    }

    /// Closes the store, if there is one.
    pub fn close(self) -> Result<()> {
        match self.store.into_inner() {
            Some(store) => Ok(store.close()?),
            None => Ok(()),
        }
    }

    /// Describes the opened collection, for the log.
    pub fn described(&self) -> String {
        let dir = self.dir.display();
        let Some(store) = self.store() else {
            return format!("{dir}: no collection yet; the first items make it");
        };
        let (made, stats) = (store.description(), store.stats());
        let problem = stats.learning.problem.map_or(String::new(), |why| format!("; {why}"));
        format!(
            "{dir}: {} of {}, {} by {}, version {}, {} learned{problem}",
            plural(stats.items as u64, "item"),
            plural(made.dim as u64, "dimension"),
            plural(made.bits as u64, "bit"),
            made.method.name(),
            stats.version,
            count(stats.learning.rows),
        )
    }
}

/// Returns the kind of the ids; fails unless all ids are of one kind and distinct. Called before
/// the store is created, so that an invalid request creates no store.
fn one_kind(ids: &[ItemId]) -> Result<IdKind, Problem> {
    let Some(first) = ids.first() else {
        return Err(Problem::unprocessable("no items; the first make the collection"));
    };
    let is_text = |id: &ItemId| matches!(id, ItemId::Text(_));
    if let Some(other) = ids.iter().find(|id| is_text(id) != is_text(first)) {
        return Err(Problem::unprocessable(format!(
            "the ids {first} and {other} are a number and a text; a collection has ids of one kind"
        )));
    }
    let mut sorted: Vec<&ItemId> = ids.iter().collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Problem::unprocessable(format!(
            "id {} is given more than once; nothing was changed",
            twice[0]
        )));
    }
    Ok(if is_text(first) { IdKind::Texts } else { IdKind::Numbers })
}

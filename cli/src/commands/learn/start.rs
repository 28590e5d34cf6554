//! The model that a run starts from: a new one, or a saved one.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use hashbrook::{Center, Mean, Method, Model, Scale, Setup};
use serde_json::Value;

use super::{Args, notes};
use crate::commands::{scale_named, set_parameters};
use crate::input;

/// Creates a model from the command line, for vectors of `dim` dimensions. `total` is the number of
/// rows of the data, if known.
pub fn new(args: &Args, dim: usize, total: Option<usize>) -> Result<Model> {
    let method = method(args, None)?;
    let bits = args.bits.unwrap_or(64);
    let seed = args.seed.unwrap_or(1);
    let init = args.init.as_deref().map(|file| read_projection(file, dim, bits)).transpose()?;
    let mut setup = Setup::default();
    setup.init = init;
    setup.unit = args.unit.unwrap_or(setup.unit);
    setup.scale = scale(args).unwrap_or(setup.scale);
    // The warm-up depends on all available rows rather than on --rows, so that a run ended by
    // --rows and resumed later gives the same result.
    let rows = total.map_or(usize::MAX, |total| total - args.skip.unwrap_or(0).min(total));
    setup.warmup = args.warmup.or((rows < method.warmup()).then_some(rows.max(1)));
    // Reports an invalid method now, before the centre may need a pass over all data.
    setup.center = Center::None;
    method.start_with(dim, bits, seed, setup.clone())?;
    setup.center = center(args, dim)?;
    let mut model = method.start_with(dim, bits, seed, setup)?;
    notes::remember_warmup(&mut model, args.warmup.is_some());
    Ok(model)
}

/// Returns a saved model; fails if it contradicts the command line.
pub fn resumed(args: &Args, model: Model) -> Result<Model> {
    fn check<T: PartialEq + std::fmt::Display>(name: &str, asked: Option<T>, has: T) -> Result<()> {
        match asked {
            Some(asked) if asked != has => {
                bail!("{name} is {asked}, but the model given has {has}, for good")
            }
            _ => Ok(()),
        }
    }
    check("--bits", args.bits, model.bits())?;
    check("--seed", args.seed, model.seed())?;
    check("--warmup", args.warmup, model.warmup())?;
    check("--unit", args.unit, model.unit())?;
    check("--scale", scale(args), model.scale())?;
    check("--method", args.method.as_deref(), model.method().name())?;
    let asked = method(args, Some(model.method().clone()))?;
    if asked != *model.method() {
        bail!("the parameters are not those of the model given, which has them for good");
    }
    if model.seen() > 0 && model.label_names().is_empty() && model.method().is_supervised() {
        bail!(
            "the model given has learned labels without names, as programs that use the library \
             may; its labels cannot be told from those in {}",
            args.input.labels.join(", ")
        );
    }
    Ok(model)
}

/// Returns the method from --method, --preset, --config and --set, applied to `base` if given.
fn method(args: &Args, base: Option<Method>) -> Result<Method> {
    let mut table = BTreeMap::new();
    if let Some(path) = &args.config {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        table = toml::from_str::<BTreeMap<String, Value>>(&text)
            .with_context(|| format!("{} is not a table of parameters", path.display()))?;
    }
    let configured = match table.remove("method") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => bail!("method must be a name in quotes, not {other}"),
    };
    let mut method = match (&args.method, configured, base) {
        (Some(asked), Some(configured), _) if *asked != configured => {
            bail!("--method is {asked}, but the method of --config is {configured}")
        }
        (_, Some(configured), Some(base)) if base.name() != configured => {
            bail!(
                "the method of --config is {configured}, but that of the model is {}",
                base.name()
            )
        }
        (_, _, Some(base)) => base,
        (Some(name), _, None) => Method::named(name)?,
        (None, Some(name), None) => Method::named(&name)?,
        (None, None, None) => Method::named("brook")?,
    };
    if let Some(preset) = &args.preset {
        method.preset(preset)?;
    }
    for (parameter, value) in table {
        method.set_value(&parameter, value)?;
    }
    set_parameters(&mut method, &args.set)?;
    Ok(method)
}

/// Returns the scaling chosen by --scale; the parser rejects all other values.
fn scale(args: &Args) -> Option<Scale> {
    args.scale.as_deref().map(scale_named)
}

fn read_projection(file: &str, dim: usize, bits: usize) -> Result<Vec<f32>> {
    let (weights, columns) = input::read_matrix(file)?;
    let rows = weights.len() / columns;
    if (rows, columns) != (dim, bits) {
        bail!("{file} is {rows} x {columns}; --init must be dimensions x bits, {dim} x {bits}");
    }
    Ok(weights)
}

fn center(args: &Args, dim: usize) -> Result<Center> {
    Ok(match args.center.as_deref() {
        None | Some("first") => Center::First,
        Some("none") => Center::None,
        Some("all") => {
            let data = &args.input.data;
            if !input::are_regular(data) {
                bail!(
                    "--center all reads the data twice, which {} does not allow",
                    data.join(", ")
                );
            }
            let mut mean = Mean::new(dim);
            let mut reader = args.input.open()?;
            input::for_each_rows("mean    ", &mut reader, |rows| Ok(mean.add(rows)?))?;
            Center::Given(mean.value())
        }
        Some(file) => {
            let (center, _) = input::read_matrix(file).with_context(|| {
                format!("--center takes none, first, all or a file, not {file:?}")
            })?;
            if center.len() != dim {
                bail!("{file} has {} numbers; the data has {dim} dimensions", center.len());
            }
            Center::Given(center)
        }
    })
}

//! The report's sections, derived from results alone: a summary first, then each experiment. This
//! file writes the sections about all methods.

mod beyond;
mod codes;
mod found;
mod parameters;

use super::chart::{Axis, Series};
use super::claims;
use super::content::{Block, Figure, Section, Table, Value};
use super::plan::{Dataset, Experiment};
use super::results::{Results, Stat};
use super::store::Point;

/// Returns all sections that have results.
pub fn sections(results: &Results<'_>) -> Vec<Section> {
    type Write = fn(&Results<'_>, &Experiment, &mut Section);
    let written: [(&'static str, &str, Write); 12] = [
        ("tables", "Search quality, beside the paper", tables),
        ("curves", "Precision at R, and learning as the stream goes by", curves),
        ("sensitivity", "Sensitivity to lambda and sigma", parameters::sensitivity),
        ("balance", "Sensitivity to the balance, eta_s and eta_d", parameters::sensitivity),
        ("scaling", "Scaling up sigma, without balance and with it", parameters::scaling),
        ("convergence", "Convergence of the batch's codes", codes::convergence),
        ("collapse", "The collapse itself", codes::collapse),
        ("tsne", "The codes by t-SNE, without balance and with it", codes::tsne),
        ("cost", "What a batch costs as the stream grows", codes::growing_cost),
        ("orders", "Three orders of the same steps", parameters::orders),
        ("batches", "The size of batches", parameters::batches),
        ("beyond", "Beyond the paper: what else codes are searched for", beyond::protocols),
    ];
    let judged = claims::judge(results);
    let mut sections = vec![found::section(results, &judged), claims::section(results, &judged)];
    for (id, title, write) in written {
        let Some(experiment) = results.plan.experiment(id) else { continue };
        let mut section = Section { id, title: title.to_owned(), blocks: Vec::new() };
        write(results, experiment, &mut section);
        sections.push(section);
    }
    sections
}

const LINES: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/// Returns one line per run, over the values of a parameter.
fn over<'r>(
    results: &Results<'_>,
    runs: &'r [String],
    values: &[f64],
    stat: &dyn Fn(&str, f64) -> Option<Stat>,
) -> Vec<Series> {
    let series = runs.iter().zip(LINES.iter().cycle()).map(|(spec, colour): (&'r String, _)| {
        let found: Vec<(f64, Stat)> =
            values.iter().filter_map(|&value| Some((value, stat(spec, value)?))).collect();
        Series {
            name: results.look(spec).0,
            colour: (*colour).to_owned(),
            points: found.iter().map(|(x, stat)| (*x, stat.mean)).collect(),
            band: found.iter().map(|(_, stat)| (stat.low, stat.high)).collect(),
        }
    });
    series.collect()
}

/// Computes the points of a line from the checkpoints of a run.
type Points<'a> = dyn Fn(&[Point]) -> Vec<(f64, f64)> + 'a;

/// Returns the name and the accessor of the measure in a data set's main table.
fn score(dataset: &Dataset) -> (&str, fn(&Point) -> f64) {
    match dataset.score.as_str() {
        "mAP@1000" => ("mAP@1000", |point| point.map_top),
        _ => ("mAP", |point| point.map),
    }
}

fn tables(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    section.blocks.push(Block::Text(
        "Means over seeds with their standard deviation; in brackets what the paper prints. Shading \
         shows how far above (blue) or below (orange) the paper a number lies."
            .to_owned(),
    ));
    for dataset in results.datasets(experiment) {
        if let Some(note) = &dataset.note {
            section.blocks.push(Block::Text(format!("{}. {note}", dataset.title)));
        }
        section.blocks.push(Block::Text(seeds(results, experiment, dataset)));
        let (name, measure) = score(dataset);
        type Measure = fn(&Point) -> f64;
        let measures: [(&str, Measure, bool); 2] =
            [(name, measure, true), ("precision within radius 2", |point| point.radius, false)];
        for (name, measure, main) in measures {
            let mut columns = vec!["method".to_owned()];
            columns.extend(experiment.bits.iter().map(|bits| format!("{bits} bits")));
            let rows = results.plan.methods.iter().filter_map(|method| {
                let paper = method.paper.as_ref().and_then(|row| {
                    let printed = results.plan.paper.get(&dataset.name)?.get(row)?;
                    Some(if main { &printed.score } else { &printed.radius })
                });
                let value = |(at, &bits): (usize, &usize)| {
                    let runs = results.runs(experiment, dataset, &method.spec, bits, None);
                    let paper = paper.and_then(|row| row.get(at).copied());
                    match runs.failure() {
                        Some(why) if runs.at_end(measure).is_none() => Value::cannot(why),
                        _ => Value::stat(runs.at_end(measure), paper),
                    }
                };
                let values: Vec<Value> = experiment.bits.iter().enumerate().map(value).collect();
                let some = values.iter().any(|value| !value.text.is_empty());
                some.then(|| std::iter::once(Value::text(&method.name)).chain(values).collect())
            });
            let caption = format!("{}: {name}", dataset.title);
            let rows = rows.collect();
            section.blocks.push(Block::Table(Table { caption, columns, rows, wordy: false }));
        }
        section.blocks.push(Block::Table(cost(results, experiment, dataset)));
        section.blocks.extend(refusals(results, experiment, dataset).map(Block::Text));
    }
}

/// Explains cells without a number; `None` if there are none.
fn refusals(results: &Results<'_>, experiment: &Experiment, dataset: &Dataset) -> Option<String> {
    let methods = results.plan.methods.iter();
    let cells = methods.flat_map(|method| experiment.bits.iter().map(move |bits| (method, *bits)));
    let refused = cells.filter_map(|(method, bits)| {
        let runs = results.runs(experiment, dataset, &method.spec, bits, None);
        Some(format!("{} with {bits} bits: {}", method.name, runs.failure()?))
    });
    let refused: Vec<String> = refused.collect();
    (!refused.is_empty()).then(|| {
        format!(
            "Cannot: with the paper's settings for this data set the method refuses codes of this \
             length, so there is nothing to measure. {}.",
            refused.join("; ")
        )
    })
}

/// Describes the number of seeds that the means are over.
fn seeds(results: &Results<'_>, experiment: &Experiment, dataset: &Dataset) -> String {
    let specs = results.plan.methods.iter().map(|method| &method.spec);
    let cells = specs.flat_map(|spec| experiment.bits.iter().map(move |bits| (spec, *bits)));
    let counts: Vec<usize> = cells
        .map(|(spec, bits)| results.runs(experiment, dataset, spec, bits, None).records.len())
        .collect();
    let (all, some) = (counts.len(), counts.iter().filter(|count| **count > 0).count());
    let most = counts.iter().max().copied().unwrap_or(0);
    let least = counts.iter().filter(|count| **count > 0).min().copied().unwrap_or(0);
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    format!("{}: means of {range} seeds; {some} of {all} cells have results.", dataset.title)
}

/// Returns a table of the cost of learning, which the paper does not print.
fn cost(results: &Results<'_>, experiment: &Experiment, dataset: &Dataset) -> Table {
    let bits = 64;
    let rows = results.plan.methods.iter().filter_map(|method| {
        let runs = results.runs(experiment, dataset, &method.spec, bits, None);
        let seconds = runs.at_end(|point| point.seconds)?.mean;
        let state = runs.of_runs(|record| record.state_bytes as f64)?.mean / 1024.0;
        Some(vec![
            Value::text(&method.name),
            Value::number(seconds, format!("{seconds:.2} s")),
            Value::number(state, format!("{state:.0} KiB")),
        ])
    });
    Table {
        caption: format!("{}: what learning takes, {bits} bits", dataset.title),
        columns: ["method", "learning, with the function at the end", "saved state"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        wordy: false,
    }
}

fn curves(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    for dataset in results.datasets(experiment) {
        let (name, measure) = score(dataset);
        let bits = experiment.bits.first().copied().unwrap_or(64);
        let curve = |points: &Points<'_>| -> Vec<Series> {
            let methods = results.plan.methods.iter();
            let series = methods.filter_map(|method| {
                let runs = results.runs(experiment, dataset, &method.spec, bits, None);
                let done = runs.records.iter().filter(|record| record.failed.is_none());
                let lines: Vec<_> = done.map(|record| points(&record.checkpoints)).collect();
                let at = |place: usize| {
                    let of = |part: fn(&(f64, f64)) -> f64| -> Option<Stat> {
                        let values: Option<Vec<f64>> =
                            lines.iter().map(|line| line.get(place).map(part)).collect();
                        Stat::of(&values?)
                    };
                    Some((of(|point| point.0)?, of(|point| point.1)?))
                };
                let found: Vec<(Stat, Stat)> = (0..lines.first()?.len()).filter_map(at).collect();
                Some(Series {
                    name: method.name.clone(),
                    colour: method.colour.clone(),
                    points: found.iter().map(|(x, y)| (x.mean, y.mean)).collect(),
                    band: found.iter().map(|(_, y)| (y.low, y.high)).collect(),
                })
            });
            series.collect()
        };
        let at_end = |points: &[Point]| -> Vec<(f64, f64)> {
            let last = points.last().map(|point| point.precision_at.clone()).unwrap_or_default();
            last.into_iter().map(|(r, precision)| (r as f64, precision)).collect()
        };
        let by_rows = |points: &[Point]| -> Vec<(f64, f64)> {
            points.iter().map(|point| (point.seen as f64, measure(point))).collect()
        };
        let by_seconds = |points: &[Point]| -> Vec<(f64, f64)> {
            points.iter().map(|point| (point.seconds.max(1e-4), measure(point))).collect()
        };
        let title = &dataset.title;
        let (set, score) = (&dataset.name, Axis::new(name));
        for figure in [
            Figure::lines(
                format!("precision-at-r-{set}"),
                format!("{title}: precision at R, {bits} bits"),
                (Axis::new("R"), Axis::new("precision")),
                curve(&at_end),
                "curves",
            ),
            Figure::lines(
                format!("rows-{set}"),
                format!("{title}: {name} against rows seen, {bits} bits"),
                (Axis::new("rows seen"), Axis::new(name)),
                curve(&by_rows),
                "curves",
            ),
            Figure::lines(
                format!("seconds-{set}"),
                format!("{title}: {name} against seconds of learning, {bits} bits"),
                (Axis::log("seconds"), score),
                curve(&by_seconds),
                "curves",
            ),
        ] {
            section.blocks.push(Block::Figure(figure));
        }
    }
}

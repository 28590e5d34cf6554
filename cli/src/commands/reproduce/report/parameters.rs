//! Effects of the parameters of bsodh: its weights, the order of its steps, and the batch size.

use super::super::chart::{Axis, Heat, Series, short};
use super::super::content::{Block, Figure, Section, Table, Value};
use super::super::plan::{Experiment, with};
use super::super::results::{Results, Stat};
use super::{over, score};

/// Shows a grid of two parameters as a heat map, and as a line along each parameter at the paper's
/// value of the other.
pub(super) fn sensitivity(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let axes: Vec<(&String, &Vec<f64>)> = experiment.vary.iter().collect();
    let [(rows, row_values), (columns, column_values)] = axes[..] else { return };
    let id = section.id;
    let Some(spec) = experiment.runs.first() else { return };
    let bits = experiment.bits.first().copied().unwrap_or(64);
    let paper = |name: &str| match name {
        "ridge" => 0.6,
        "fit_weight" => 0.5,
        "similar_weight" => 1.2,
        _ => 0.2,
    };
    let symbol = |name: &str| match name {
        "ridge" => "lambda (ridge)",
        "fit_weight" => "sigma (fit_weight)",
        "similar_weight" => "eta_s (similar_weight)",
        _ => "eta_d (dissimilar_weight)",
    };
    let place = |values: &[f64], wanted: f64| values.iter().position(|value| *value == wanted);
    for dataset in results.datasets(experiment) {
        let stat = |row: f64, column: f64| {
            let spec = with(&with(spec, rows, row), columns, column);
            let runs = results.runs(experiment, dataset, &spec, bits, None);
            runs.at_end(|point| point.radius)
        };
        let value = |row: f64, column: f64| stat(row, column).map_or(f64::NAN, |stat| stat.mean);
        let names = |values: &[f64]| values.iter().map(|value| short(*value)).collect();
        let heat = Heat {
            title: "precision within radius 2",
            columns: (symbol(columns), names(column_values)),
            rows: (symbol(rows), names(row_values)),
            values: row_values
                .iter()
                .map(|&row| column_values.iter().map(|&column| value(row, column)).collect())
                .collect(),
            outlined: place(row_values, paper(rows)).zip(place(column_values, paper(columns))),
        };
        let best = row_values
            .iter()
            .flat_map(|&row| column_values.iter().map(move |&column| (row, column)))
            .max_by(|a, b| {
                let of = |(row, column): &(f64, f64)| value(*row, *column);
                of(a).total_cmp(&of(b))
            });
        let title = &dataset.title;
        if let Some((row, column)) = best {
            section.blocks.push(Block::Text(format!(
                "{title}: the best of the grid is {:.3}, at {} = {} and {} = {}.",
                value(row, column),
                symbol(rows),
                short(row),
                symbol(columns),
                short(column)
            )));
        }
        let mut caption = format!("{title}: precision within radius 2, {bits} bits");
        if heat.outlined.is_some() {
            caption += "; outlined: the paper's choice";
        }
        let name = format!("{id}-{}", dataset.name);
        section.blocks.push(Block::Figure(Figure::heat(name, caption, heat, id)));
        let nearest = |values: &[f64], wanted: f64| {
            let distance = |value: &f64| (value - wanted).abs();
            values.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let Some(row) = nearest(row_values, paper(rows)) else { continue };
        let Some(column) = nearest(column_values, paper(columns)) else { continue };
        let line =
            |name: &str, other: (&str, f64), values: &[f64], stat: &dyn Fn(f64) -> Option<Stat>| {
                let found: Vec<(f64, Stat)> =
                    values.iter().filter_map(|&value| Some((value, stat(value)?))).collect();
                let series = Series {
                    name: format!("{} = {}", symbol(other.0), short(other.1)),
                    colour: "#0072b2".to_owned(),
                    points: found.iter().map(|(x, stat)| (*x, stat.mean)).collect(),
                    band: found.iter().map(|(_, stat)| (stat.low, stat.high)).collect(),
                };
                Figure::lines(
                    format!("{name}-{}", dataset.name),
                    format!("{title}: precision within radius 2 against {}", symbol(name)),
                    (Axis::new(symbol(name)), Axis::new("precision within radius 2")),
                    vec![series],
                    id,
                )
            };
        let along_rows = line(rows, (columns, column), row_values, &|row| stat(row, column));
        let along_columns = line(columns, (rows, row), column_values, &|column| stat(row, column));
        section.blocks.push(Block::Figure(along_rows));
        section.blocks.push(Block::Figure(along_columns));
    }
}

pub(super) fn scaling(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let Some((parameter, values)) = experiment.vary.iter().next() else { return };
    let bits = experiment.bits.first().copied().unwrap_or(64);
    for dataset in results.datasets(experiment) {
        let series = over(results, &experiment.runs, values, &|spec, value| {
            let spec = with(spec, parameter, value);
            let runs = results.runs(experiment, dataset, &spec, bits, None);
            runs.at_end(|point| point.radius)
        });
        section.blocks.push(Block::Figure(Figure::lines(
            format!("scaling-{}", dataset.name),
            format!("{}: precision within radius 2 against sigma, {bits} bits", dataset.title),
            (Axis::log("sigma (fit_weight)"), Axis::new("precision within radius 2")),
            series,
            "scaling",
        )));
    }
    section.blocks.push(Block::Text(
        "The authors' program (bsodh as it is) does not use sigma where it renews the codes of a batch, \
         only in the ridge of W; the order of the paper's text (alternating) uses it in both."
            .to_owned(),
    ));
}

pub(super) fn orders(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    for dataset in results.datasets(experiment) {
        let (name, measure) = score(dataset);
        let columns = experiment.bits.iter().flat_map(|bits| {
            [format!("{name}, {bits} bits"), format!("precision within radius 2, {bits} bits")]
        });
        let rows = experiment.runs.iter().map(|spec| {
            let order = match spec.as_str() {
                "bsodh:order=alternating" => "the paper's text (alternating)",
                "bsodh:order=printed" => "Algorithm 1 (printed)",
                _ => "the authors' program (released)",
            };
            let values = experiment.bits.iter().flat_map(|&bits| {
                let runs = results.runs(experiment, dataset, spec, bits, None);
                let radius = runs.at_end(|point| point.radius);
                [Value::stat(runs.at_end(measure), None), Value::stat(radius, None)]
            });
            std::iter::once(Value::text(order)).chain(values).collect()
        });
        section.blocks.push(Block::Table(Table {
            caption: format!("{}: bsodh by the order of its steps", dataset.title),
            columns: std::iter::once("order".to_owned()).chain(columns).collect(),
            rows: rows.collect(),
            wordy: false,
        }));
    }
}

pub(super) fn batches(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let bits = experiment.bits.first().copied().unwrap_or(64);
    for dataset in results.datasets(experiment) {
        let (name, measure) = score(dataset);
        let sizes: Vec<f64> = experiment.batches.iter().map(|&batch| batch as f64).collect();
        let series = over(results, &experiment.runs, &sizes, &|spec, size| {
            let runs = results.runs(experiment, dataset, spec, bits, Some(size as usize));
            runs.at_end(measure)
        });
        section.blocks.push(Block::Figure(Figure::lines(
            format!("batches-{}", dataset.name),
            format!("{}: {name} against the size of batches, {bits} bits", dataset.title),
            (Axis::log("rows in a batch"), Axis::new(name)),
            series,
            "batches",
        )));
    }
}

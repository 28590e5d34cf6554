//! The sections that look into bsodh: its parameters, its codes, its cost.

use super::super::chart::{Axis, Heat, Series, short};
use super::super::content::{Block, Figure, Section, Table, Value};
use super::super::plan::{DENSE, Experiment, with};
use super::super::results::{Results, Runs, Stat};
use super::super::store::{Point, Record, Taught};
use super::score;

/// A grid of two parameters: a heat map, and a line along each at the paper's value of the other.
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
        let caption = format!("{title}: precision within radius 2, {bits} bits");
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

const LINES: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/// One line per run, over the values of something.
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

pub(super) fn convergence(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let bits = experiment.bits.first().copied().unwrap_or(64);
    for dataset in results.datasets(experiment) {
        type Measure = fn(&Point) -> f64;
        let measures: [(&str, Measure); 2] = [
            ("passes over the codes of a batch", |point| point.iterations as f64),
            ("bits they changed", |point| point.changed_bits.iter().sum::<u64>() as f64),
        ];
        for (name, measure) in measures {
            let stages: Vec<f64> =
                (1..=dataset.rows.div_ceil(dataset.batch)).map(|stage| stage as f64).collect();
            let series = over(results, &experiment.runs, &stages, &|spec, stage| {
                let runs = results.runs(experiment, dataset, spec, bits, None);
                let at = |record: &&Record| record.checkpoints.get(stage as usize - 1).map(measure);
                Stat::of(&runs.records.iter().filter_map(at).collect::<Vec<_>>())
            });
            section.blocks.push(Block::Figure(Figure::lines(
                format!("{}-{}", name.split(' ').next().unwrap_or_default(), dataset.name),
                format!("{}: {name}, by stage, {bits} bits", dataset.title),
                (Axis::new("stage t"), Axis::new(name)),
                series,
                "convergence",
            )));
        }
        for (at, spec) in experiment.runs.iter().enumerate() {
            let runs = results.runs(experiment, dataset, spec, bits, None);
            let name = results.look(spec).0;
            section.blocks.push(Block::Figure(Figure::lines(
                format!("changed-{}-{at}", dataset.name),
                format!(
                    "{}, {name}: share of bits changed by each pass, {bits} bits",
                    dataset.title
                ),
                (Axis::new("pass over the batch"), Axis::new("share of bits changed")),
                by_pass(&runs, dataset.batch * bits),
                "convergence",
            )));
        }
    }
}

/// The share of a batch's bits that each pass changed, a line for some of the stages.
fn by_pass(runs: &Runs<'_>, bits: usize) -> Vec<Series> {
    let stages = runs.records.first().map_or(0, |record| record.checkpoints.len());
    let mut shown = vec![2, 3, 5, stages];
    shown.retain(|stage| (2..=stages).contains(stage));
    shown.dedup();
    let line = |(stage, colour): (usize, &&str)| {
        let passes =
            |record: &&Record| record.checkpoints.get(stage - 1)?.changed_bits.clone().into();
        let passes: Vec<Vec<u64>> = runs.records.iter().filter_map(passes).collect();
        let most = passes.iter().map(Vec::len).max().unwrap_or(0);
        // A run that has settled changes nothing more.
        let share = |pass: usize| {
            let of = |run: &Vec<u64>| *run.get(pass).unwrap_or(&0) as f64 / bits as f64;
            Some(((pass + 1) as f64, Stat::of(&passes.iter().map(of).collect::<Vec<_>>())?))
        };
        let found: Vec<(f64, Stat)> = (0..most).filter_map(share).collect();
        Series {
            name: format!("t = {stage}"),
            colour: (*colour).to_owned(),
            points: found.iter().map(|(x, stat)| (*x, stat.mean)).collect(),
            band: found.iter().map(|(_, stat)| (stat.low, stat.high)).collect(),
        }
    };
    shown.into_iter().zip(&LINES).map(line).collect()
}

pub(super) fn collapse(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let bits = experiment.bits.first().copied().unwrap_or(64);
    for dataset in results.datasets(experiment) {
        let mut rows = Vec::new();
        let (mut figures, mut balance) = (Vec::new(), Vec::new());
        for (at, spec) in experiment.runs.iter().enumerate() {
            let runs = results.runs(experiment, dataset, spec, bits, None);
            let (Some(distinct), Some(first)) =
                (runs.of_runs(|record| record.classes.distinct as f64), runs.records.first())
            else {
                continue;
            };
            let name = results.look(spec).0;
            let constant = runs.of_runs(|record| {
                let stuck = |share: &&f64| **share < 0.01 || **share > 0.99;
                record.classes.balance.iter().filter(stuck).count() as f64
            });
            let number = |stat: Option<Stat>| {
                let mean = stat.map_or(f64::NAN, |stat| stat.mean);
                Value::number(mean, format!("{mean:.1}"))
            };
            let taught = |of: fn(&Taught) -> usize| {
                let of_run = |record: &&Record| Some(of(record.classes.taught.as_ref()?) as f64);
                let found: Vec<f64> = runs.records.iter().filter_map(of_run).collect();
                let none = Value::text("");
                Stat::of(&found).map_or(none, |stat| number(Some(stat)))
            };
            balance.push(Series {
                name: name.clone(),
                colour: LINES[at % LINES.len()].to_owned(),
                points: {
                    let mut shares = first.classes.balance.clone();
                    shares.sort_by(f64::total_cmp);
                    (1..).map(f64::from).zip(shares).collect()
                },
                band: Vec::new(),
            });
            rows.push(vec![
                Value::text(&name),
                taught(|taught| taught.distinct),
                taught(|taught| taught.same_bits),
                number(Some(distinct)),
                Value::number(first.classes.classes as f64, first.classes.classes.to_string()),
                number(constant),
                Value::stat(runs.at_end(|point| point.radius), None),
                Value::stat(runs.at_end(|point| point.map), None),
            ]);
            let classes: Vec<String> =
                (0..first.classes.similarity.len()).map(|class| class.to_string()).collect();
            let heat = Heat {
                title: "the share of equal bits between classes",
                columns: ("class", classes.clone()),
                rows: ("class", classes),
                values: first.classes.similarity.clone(),
            };
            let caption = format!("{}, {name}: equal bits between classes", dataset.title);
            let name = format!("similarity-{}-{at}", dataset.name);
            figures.push(Figure::heat(name, caption, heat, "collapse"));
        }
        let columns = [
            "",
            "different codes in B_e",
            "bits the same in all of B_e",
            "different codes of the function",
            "classes",
            "bits of the function that are always the same",
        ];
        let columns = columns.iter().chain(&["precision within radius 2", "mAP"]);
        section.blocks.push(Block::Table(Table {
            caption: format!(
                "{}: the most frequent code of each class, {bits} bits",
                dataset.title
            ),
            columns: columns.map(|column| (*column).to_owned()).collect(),
            rows,
        }));
        section.blocks.push(Block::Figure(Figure::lines(
            format!("balance-of-bits-{}", dataset.name),
            format!("{}: share of rows in which a bit is set, {bits} bits", dataset.title),
            (Axis::new("bits, in order of their share"), Axis::new("share of rows")),
            balance,
            "collapse",
        )));
        section.blocks.extend(figures.into_iter().map(Block::Figure));
    }
    section.blocks.push(Block::Text(
        "Why (1, 1) does not collapse wholly: B_e = sgn(B_s S) adds up, bit by bit, the codes of a \
         class and takes away those of all others. With weights (1, 1) the nine others win wherever \
         most classes agree, and the bit becomes the same for every class; the rest of the bits still \
         tell the classes apart. So near codes stay pure, which precision within radius 2 \
         measures, while the far ranks, which mAP measures, lose the bits that are gone."
            .to_owned(),
    ));
}

pub(super) fn growing_cost(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let bits = experiment.bits.first().copied().unwrap_or(64);
    section.blocks.push(Block::Text(
        "Dense: all similarities and all codes, as the paper writes it, in plain loops. Its first batch \
         has nothing to compare with. That the two give the same codes is tested."
            .to_owned(),
    ));
    for dataset in results.datasets(experiment) {
        let series = experiment.runs.iter().zip(LINES).filter_map(|(spec, colour)| {
            let runs = results.runs(experiment, dataset, spec, bits, None);
            let record = runs.records.first()?;
            let before = std::iter::once(0.0).chain(record.checkpoints.iter().map(|p| p.seconds));
            let points = record.checkpoints.iter().zip(before);
            let points = points
                .map(|(point, before)| (point.seen as f64, (point.seconds - before).max(1e-6)));
            let name = if spec == DENSE { "dense".to_owned() } else { results.look(spec).0 };
            Some(Series { name, colour: colour.to_owned(), points: points.collect(), band: vec![] })
        });
        section.blocks.push(Block::Figure(Figure::lines(
            format!("cost-{}", dataset.name),
            format!("{}: seconds per batch against rows seen, {bits} bits", dataset.title),
            (Axis::new("rows seen"), Axis::log("seconds per batch")),
            series.collect(),
            "cost",
        )));
    }
}

/// The colours of ten classes, which can be told apart.
const CLASSES: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#777777",
    "#b5a642", "#7f3b08",
];

pub(super) fn tsne(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    for dataset in results.datasets(experiment) {
        for (at, spec) in experiment.runs.iter().enumerate() {
            let bits = experiment.bits.first().copied().unwrap_or(64);
            let runs = results.runs(experiment, dataset, spec, bits, None);
            let Some(record) = runs.records.first() else { continue };
            for (which, drawn) in record.drawn.iter().enumerate() {
                let mut classes = drawn.classes.clone();
                classes.sort_unstable();
                classes.dedup();
                let series = classes.iter().zip(CLASSES.iter().cycle()).map(|(class, colour)| {
                    let of_class = drawn.classes.iter().zip(&drawn.points);
                    let points = of_class.filter(|(of, _)| *of == class).map(|(_, p)| (p[0], p[1]));
                    Series {
                        name: format!("class {class}"),
                        colour: (*colour).to_owned(),
                        points: points.collect(),
                        band: Vec::new(),
                    }
                });
                let caption =
                    format!("{}, {}: {}", dataset.title, results.look(spec).0, drawn.name);
                let name = format!("tsne-{}-{at}-{which}", dataset.name);
                let axes = (Axis::new(""), Axis::new(""));
                let figure = Figure::points(name, caption, axes, series.collect(), "tsne");
                section.blocks.push(Block::Figure(figure));
            }
        }
    }
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

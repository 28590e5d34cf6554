//! The report's sections, derived from results alone.

use super::chart::{Axis, Heat, Series, lines, short};
use super::plan::{DENSE, Dataset, Experiment, with};
use super::results::{Results, Stat};
use super::store::Point;

pub struct Section {
    pub id: &'static str,
    pub title: String,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Text(String),
    Table(Table),
    Figure(Figure),
}

pub struct Table {
    pub caption: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

/// A cell of a table.
pub struct Value {
    pub text: String,
    /// What it is sorted by, if it is a number.
    pub number: Option<f64>,
    /// How far it is from the paper's number, which it is shaded by.
    pub difference: Option<f64>,
}

pub struct Figure {
    /// Unique, for file names.
    pub name: String,
    pub caption: String,
    pub svg: String,
    /// What the legend shows: names and colours.
    pub legend: Vec<(String, String)>,
    pub csv: String,
    pub experiment: &'static str,
}

impl Value {
    pub fn text(text: &str) -> Value {
        Value { text: text.to_owned(), number: None, difference: None }
    }

    fn stat(stat: Option<Stat>, paper: Option<f64>) -> Value {
        let Some(Stat { mean, spread, seeds, .. }) = stat else { return Value::text("") };
        let spread = if seeds > 1 { format!(" ±{spread:.3}") } else { String::new() };
        let printed = paper.map_or(String::new(), |paper| format!(" ({paper:.3})"));
        let difference = paper.map(|paper| mean - paper);
        Value { text: format!("{mean:.3}{spread}{printed}"), number: Some(mean), difference }
    }

    fn number(value: f64, text: String) -> Value {
        Value { text, number: Some(value), difference: None }
    }
}

impl Figure {
    fn lines(
        name: String,
        caption: String,
        (x, y): (Axis, Axis),
        series: Vec<Series>,
        experiment: &'static str,
    ) -> Figure {
        let mut csv = format!("series,{},{},low,high\n", x.label, y.label);
        for series in &series {
            for (at, (x, y)) in series.points.iter().enumerate() {
                let (low, high) = series.band.get(at).copied().unwrap_or((*y, *y));
                csv += &format!("\"{}\",{x},{y},{low},{high}\n", series.name);
            }
        }
        let svg = lines(&caption, &x, &y, &series);
        let legend = series.into_iter().map(|series| (series.name, series.colour)).collect();
        Figure { name, caption, svg, legend, csv, experiment }
    }

    /// Points that no line joins.
    fn points(
        name: String,
        caption: String,
        axes: (Axis, Axis),
        series: Vec<Series>,
        experiment: &'static str,
    ) -> Figure {
        let figure = Figure::lines(name, caption, axes, series, experiment);
        Figure { svg: figure.svg.replace("<polyline", "<polyline class=\"none\""), ..figure }
    }

    fn heat(name: String, caption: String, heat: Heat<'_>, experiment: &'static str) -> Figure {
        let mut csv = format!("{},{},value\n", heat.rows.0, heat.columns.0);
        for (row, values) in heat.rows.1.iter().zip(&heat.values) {
            for (column, value) in heat.columns.1.iter().zip(values) {
                csv += &format!("{row},{column},{value}\n");
            }
        }
        Figure { name, caption, svg: heat.draw(), legend: Vec::new(), csv, experiment }
    }
}

/// All sections there are results for.
pub fn sections(results: &Results<'_>) -> Vec<Section> {
    type Write = fn(&Results<'_>, &Experiment, &mut Section);
    let written: [(&'static str, &str, Write); 11] = [
        ("tables", "Search quality, beside the paper", tables),
        ("curves", "Precision at R, and learning as the stream goes by", curves),
        ("sensitivity", "Sensitivity to lambda and sigma", sensitivity),
        ("balance", "Sensitivity to the balance, eta_s and eta_d", sensitivity),
        ("scaling", "Scaling up sigma, without balance and with it", scaling),
        ("convergence", "Convergence of the batch's codes", convergence),
        ("collapse", "The collapse itself", collapse),
        ("tsne", "The codes by t-SNE, without balance and with it", tsne),
        ("cost", "What a batch costs as the stream grows", growing_cost),
        ("orders", "Three orders of the same steps", orders),
        ("batches", "The size of batches", batches),
    ];
    let mut sections = Vec::new();
    for (id, title, write) in written {
        let Some(experiment) = results.plan.experiment(id) else { continue };
        let mut section = Section { id, title: title.to_owned(), blocks: Vec::new() };
        write(results, experiment, &mut section);
        sections.push(section);
    }
    sections
}

/// The points of a line, from the checkpoints of a run.
type Points<'a> = dyn Fn(&[Point]) -> Vec<(f64, f64)> + 'a;

/// The measure of a data set's main table.
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
                        Some(_) if runs.at_end(measure).is_none() => Value::text("cannot"),
                        _ => Value::stat(runs.at_end(measure), paper),
                    }
                };
                let values: Vec<Value> = experiment.bits.iter().enumerate().map(value).collect();
                let some = values.iter().any(|value| !value.text.is_empty());
                some.then(|| std::iter::once(Value::text(&method.name)).chain(values).collect())
            });
            let caption = format!("{}: {name}", dataset.title);
            let rows = rows.collect();
            section.blocks.push(Block::Table(Table { caption, columns, rows }));
        }
        section.blocks.push(Block::Table(cost(results, experiment, dataset)));
    }
}

/// Over how many seeds the means go.
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

/// What learning takes, which the paper does not print.
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
                let record = runs.records.iter().find(|record| record.failed.is_none())?;
                let (name, colour) = (method.name.clone(), method.colour.clone());
                let points = points(&record.checkpoints);
                Some(Series { name, colour, points, band: Vec::new() })
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

/// A grid of two parameters: a heat map, and a line along each at the paper's value of the other.
fn sensitivity(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
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

fn scaling(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
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

fn convergence(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let bits = experiment.bits.first().copied().unwrap_or(64);
    for dataset in results.datasets(experiment) {
        type Measure = fn(&Point) -> f64;
        let measures: [(&str, Measure); 2] = [
            ("passes over the codes of a batch", |point| point.iterations as f64),
            ("bits they changed", |point| point.changed_bits as f64),
        ];
        for (name, measure) in measures {
            let stages: Vec<f64> =
                (1..=dataset.rows.div_ceil(dataset.batch)).map(|stage| stage as f64).collect();
            let series = over(results, &experiment.runs, &stages, &|spec, stage| {
                let runs = results.runs(experiment, dataset, spec, bits, None);
                let at = |record: &&super::store::Record| {
                    record.checkpoints.get(stage as usize - 1).map(measure)
                };
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
    }
}

fn collapse(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    let bits = experiment.bits.first().copied().unwrap_or(64);
    for dataset in results.datasets(experiment) {
        let mut rows = Vec::new();
        let mut figures = Vec::new();
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
            rows.push(vec![
                Value::text(&name),
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
        let columns = ["", "different codes", "classes", "bits that are always the same"];
        let columns = columns.iter().chain(&["precision within radius 2", "mAP"]);
        section.blocks.push(Block::Table(Table {
            caption: format!(
                "{}: the most frequent code of each class, {bits} bits",
                dataset.title
            ),
            columns: columns.map(|column| (*column).to_owned()).collect(),
            rows,
        }));
        section.blocks.extend(figures.into_iter().map(Block::Figure));
    }
}

fn growing_cost(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
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

fn tsne(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
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

fn orders(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
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

fn batches(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
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

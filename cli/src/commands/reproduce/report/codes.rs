//! The codes of bsodh: their structure, their convergence, and their cost.

use super::super::chart::{Axis, Heat, Series};
use super::super::content::{Block, Figure, Section, Table, Value};
use super::super::plan::{DENSE, Experiment};
use super::super::results::{Results, Runs, Stat};
use super::super::store::{Point, Record, Taught};
use super::{LINES, over};

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

/// Returns the share of a batch's bits that each pass changed, as a line for each of some stages.
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
        // A converged run changes nothing in later passes.
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
            let alike = &first.classes.similarity;
            let named = Named::of(&first.classes.names, alike.len());
            let of = |class: usize, other: usize| alike[class].get(other).copied();
            let row = |&class: &usize| {
                named.order.iter().map(|&other| of(class, other).unwrap_or(f64::NAN)).collect()
            };
            let heat = Heat {
                title: "the share of equal bits between classes",
                columns: ("class", named.in_order()),
                rows: ("class", named.in_order()),
                values: named.order.iter().map(row).collect(),
                outlined: None,
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
            wordy: false,
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

/// Names of classes, and their natural order: numeric, or alphabetical.
struct Named {
    names: Vec<String>,
    order: Vec<usize>,
}

impl Named {
    /// Uses numbers as names if the names are unknown.
    fn of(names: &[String], classes: usize) -> Named {
        let names = match names.len() == classes {
            true => names.to_vec(),
            false => (0..classes).map(|class| class.to_string()).collect(),
        };
        let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
        let mut order: Vec<usize> = (0..classes).collect();
        order.sort_by(|&a, &b| match &numbers {
            Some(numbers) => numbers[a].total_cmp(&numbers[b]),
            None => names[a].cmp(&names[b]),
        });
        Named { names, order }
    }

    fn in_order(&self) -> Vec<String> {
        self.order.iter().map(|&class| self.names[class].clone()).collect()
    }
}

/// Distinguishable colours of ten classes.
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
                let named = Named::of(&drawn.names, classes.len());
                let colours = CLASSES.iter().cycle();
                let series = named.order.iter().zip(colours).map(|(&class, colour)| {
                    let of_class = drawn.classes.iter().zip(&drawn.points);
                    let points = of_class.filter(|(of, _)| **of == classes[class]);
                    Series {
                        name: format!("class {}", named.names[class]),
                        colour: (*colour).to_owned(),
                        points: points.map(|(_, point)| (point[0], point[1])).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_in_the_order_of_their_names() {
        let named = |names: &[&str], classes| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Named::of(&names, classes)
        };
        assert_eq!(named(&["10", "9", "2"], 3).in_order(), ["2", "9", "10"]);
        assert_eq!(named(&["10", "9", "2"], 3).order, [2, 1, 0]);
        assert_eq!(named(&["dog", "cat"], 2).in_order(), ["cat", "dog"]);
        assert_eq!(named(&[], 2).in_order(), ["0", "1"]);
    }
}

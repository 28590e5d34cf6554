//! The paper's claims about its experiments, each checked against the results by a stated rule.

use super::content::{Block, Section, Table, Value};
use super::plan::{Dataset, Experiment, with};
use super::results::Results;
use super::store::Point;

const BSODH: &str = "bsodh";
/// Published methods that BSODH is compared with, as published and in their better variants.
const BASELINES: [&str; 7] = [
    "mihash",
    "mihash:gradient=released",
    "osh:loss=hinge",
    "osh",
    "adapthash",
    "okh",
    "sketchhash",
];
const UNBALANCED: &str = "bsodh:similar_weight=1+dissimilar_weight=1";

struct Verdict {
    verdict: &'static str,
    numbers: String,
}

impl Verdict {
    fn new(holds: bool, in_part: bool, numbers: String) -> Option<Verdict> {
        let verdict = match (holds, in_part) {
            (true, _) => "holds",
            (false, true) => "holds in part",
            (false, false) => "does not hold",
        };
        Some(Verdict { verdict, numbers })
    }
}

type Check = fn(&Results<'_>) -> Option<Verdict>;

/// Each claim, its rule, and its check.
const CLAIMS: [(&str, &str, Check); 15] = [
    (
        "BSODH is better in mAP (mAP@1000) than every method it is compared with, on all sets and at all lengths.",
        "Holds if it has the highest mean in every cell, in part if in half of them.",
        |results| best_everywhere(results, score),
    ),
    ("The same in precision within radius 2.", "As above.", |results| {
        best_everywhere(results, |_, point| point.radius)
    }),
    (
        "It gains 5.11 %, 1.40 % and 6.48 % mAP over MIHash, on CIFAR-10, Places205 and MNIST.",
        "Mean over lengths against the released gradient, with which the paper's numbers were made. Holds if the gain is at least half of that on every set, in part if it is above 0 on some.",
        |results| {
            gains(
                results,
                [("cifar10-cnn", 5.11), ("tinyimagenet-cnn", 1.40), ("mnist", 6.48)],
                score,
            )
        },
    ),
    (
        "It gains 29.97 %, 2.63 % and 9.2 % precision within radius 2 over MIHash.",
        "As above.",
        |results| {
            let paper = [("cifar10-cnn", 29.97), ("tinyimagenet-cnn", 2.63), ("mnist", 9.2)];
            gains(results, paper, |_, point| point.radius)
        },
    ),
    (
        "Precision at R, for R from 1 to 100 at 64 bits, is superior on all three sets.",
        "Holds if it is highest at every R measured on every set, in part if at half of all R.",
        precision_at_r,
    ),
    (
        "Precision within radius 2 is sensitive to lambda and sigma.",
        "Holds if the grid spans more than 0.05, in part if more than 0.02.",
        |results| {
            let grid = grid(results, "sensitivity")?;
            let (low, high) = (grid.first()?.2, grid.last()?.2);
            let span = high - low;
            Verdict::new(span > 0.05, span > 0.02, format!("from {low:.3} to {high:.3}"))
        },
    ),
    (
        "The best of lambda and sigma on MNIST is (0.6, 0.5).",
        "Holds if that is within 0.01 of the best of the grid, in part if within 0.03.",
        |results| at_best(results, "sensitivity", (0.5, 0.6)),
    ),
    (
        "With eta_s of at least 1 and eta_d of at most 0.3 precision within radius 2 is stable.",
        "Holds if it spans at most 0.05 there, in part if at most 0.1; eta_d = 0 left out, which is no dissimilarity at all.",
        |results| {
            let grid = grid(results, "balance")?;
            let within = grid.iter().filter(|(d, s, _)| *s >= 1.0 && *d <= 0.3 && *d > 0.0);
            let values: Vec<f64> = within.map(|(_, _, value)| *value).collect();
            let (low, high) = (values.first()?, values.last()?);
            let span = high - low;
            Verdict::new(span <= 0.05, span <= 0.1, format!("from {low:.3} to {high:.3} there"))
        },
    ),
    (
        "The best of (eta_s, eta_d) on MNIST is (1.2, 0.2).",
        "Holds if that is within 0.01 of the best of the grid, in part if within 0.03.",
        |results| at_best(results, "balance", (0.2, 1.2)),
    ),
    (
        "Balance matters: 0.814 with (1.2, 0.2) against 0.206 with (1, 1), a gain of 295 %.",
        "Holds if balance at least doubles precision within radius 2, in part if it gains a tenth in that or in mAP.",
        |results| {
            let (unbalanced, balanced) =
                (collapse(results, UNBALANCED)?, collapse(results, BSODH)?);
            let gain = |of: fn(&Collapse) -> f64| of(&balanced) / of(&unbalanced).max(1e-9);
            let (radius, map) = (gain(|of| of.radius), gain(|of| of.map));
            let numbers = format!(
                "{:.3} with balance, {:.3} without; mAP {:.3} and {:.3}",
                balanced.radius, unbalanced.radius, balanced.map, unbalanced.map
            );
            Verdict::new(radius >= 2.0, radius >= 1.1 || map >= 1.1, numbers)
        },
    ),
    (
        "Without balance most codes are the same (four clusters for ten classes), with it every class has its own.",
        "Holds if without balance there are fewer different codes than classes, and with it as many; in part if with balance there are more, or without it a quarter of the bits are the same in all codes of B_e.",
        |results| {
            let (unbalanced, balanced) =
                (collapse(results, UNBALANCED)?, collapse(results, BSODH)?);
            let all = |of: &Collapse| of.distinct >= of.classes;
            let holds = !all(&unbalanced) && all(&balanced);
            let numbers = format!(
                "{:.1} different codes without balance, {:.1} with it, {} classes; {:.1} and {:.1} bits are the same in all of B_e",
                unbalanced.distinct,
                balanced.distinct,
                balanced.classes,
                unbalanced.same_bits,
                balanced.same_bits
            );
            let bits = results.plan.experiment("collapse")?.bits[0] as f64;
            let in_part = balanced.distinct > unbalanced.distinct
                || (4.0 * unbalanced.same_bits >= bits && 4.0 * balanced.same_bits < bits);
            Verdict::new(holds, in_part, numbers)
        },
    ),
    (
        "Scaling up sigma is no substitute for balance: at best 0.341, at 10,000, against 0.814.",
        "In the order of the paper's text. Holds if no sigma without balance comes within 0.1 of balance at 0.5, in part if none reaches it.",
        scaling,
    ),
    (
        "Scaling up sigma affects precision within radius 2 quite a lot, so that a value is hard to choose.",
        "As above. Holds if its best and worst differ by more than 0.2, in part if by more than 0.05.",
        |results| {
            let scaled = scaled(results)?;
            let low = scaled.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
            let high = scaled.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let span = high.1 - low.1;
            let numbers =
                format!("from {:.3}, at {}, to {:.3}, at {}", low.1, low.0, high.1, high.0);
            Verdict::new(span > 0.2, span > 0.05, numbers)
        },
    ),
    (
        "SketchHash, with batches of 50 rows, can make codes of 32 bits alone.",
        "Holds if it fails at 64 and 128 bits on every set, in part if on some.",
        |results| {
            let (experiment, datasets) = experiment(results, "tables")?;
            let (mut cells, mut failed) = (0, 0);
            for dataset in datasets {
                for &bits in experiment.bits.iter().filter(|bits| **bits > 32) {
                    let runs = results.runs(experiment, dataset, "sketchhash", bits, None);
                    cells += usize::from(!runs.records.is_empty());
                    failed += usize::from(runs.failure().is_some());
                }
            }
            let numbers = format!(
                "fails in {failed} of {cells} cells: here the sketch is kept between batches and holds more rows than one of them, and that is the limit"
            );
            if cells == 0 { None } else { Verdict::new(failed == cells, failed > 0, numbers) }
        },
    ),
    (
        "A batch's codes settle in two iterations for t <= 2, and in one after that.",
        "In the order of the paper's text, passes that changed something. Holds if the mean is at most 2 and 1, in part if at most 4.",
        passes,
    ),
];

/// Verdict on a claim.
pub struct Judged {
    claim: &'static str,
    rule: &'static str,
    pub verdict: &'static str,
    numbers: String,
}

/// Verdicts, in the order in which they are counted.
pub const VERDICTS: [&str; 5] =
    ["holds", "holds in part", "does not hold", "not judged", "not computed"];

/// Judges all claims. The paper has no results for the built-in digits, so a quick run has numbers
/// but no verdicts.
pub fn judge(results: &Results<'_>) -> Vec<Judged> {
    let judged = CLAIMS.iter().map(|&(claim, rule, check)| {
        let (verdict, numbers) = match check(results) {
            None => ("not computed", String::new()),
            Some(found) if results.plan.quick => ("not judged", found.numbers),
            Some(found) => (found.verdict, found.numbers),
        };
        Judged { claim, rule, verdict, numbers }
    });
    judged.collect()
}

fn score(dataset: &Dataset, point: &Point) -> f64 {
    if dataset.score == "mAP@1000" { point.map_top } else { point.map }
}

pub fn section(results: &Results<'_>, judged: &[Judged]) -> Section {
    let mut text = "Each verdict follows from the numbers by the rule beside it.".to_owned();
    if results.plan.quick {
        text += " Here none is given: the numbers are those of toy digits, of which the paper says \
                 nothing.";
    }
    if judged.iter().any(|judged| judged.verdict == "not computed") {
        text += " Not computed: the runs that it needs are not among the results.";
    }
    let rows = judged.iter().map(|judged| {
        let verdict = Value::verdict(judged.verdict);
        let [claim, numbers, rule] = [judged.claim, &judged.numbers, judged.rule].map(Value::text);
        vec![claim, verdict, numbers, rule]
    });
    let found = if results.plan.quick { "found on the digits" } else { "found here" };
    let table = Table {
        caption: "The claims".to_owned(),
        columns: ["claim", "verdict", found, "rule"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
        wordy: true,
    };
    let blocks = vec![Block::Text(text), Block::Table(table)];
    Section { id: "claims", title: "The paper's claims".to_owned(), blocks }
}

fn experiment<'a>(results: &Results<'a>, name: &str) -> Option<(&'a Experiment, Vec<&'a Dataset>)> {
    let experiment = results.plan.experiment(name)?;
    let datasets = results.datasets(experiment);
    (!datasets.is_empty()).then_some((experiment, datasets))
}

fn best_everywhere(results: &Results<'_>, measure: fn(&Dataset, &Point) -> f64) -> Option<Verdict> {
    let (experiment, datasets) = experiment(results, "tables")?;
    let (mut cells, mut lost) = (0, Vec::new());
    for dataset in datasets {
        for &bits in &experiment.bits {
            let mean = |spec: &str| {
                let runs = results.runs(experiment, dataset, spec, bits, None);
                runs.at_end(|point| measure(dataset, point)).map(|stat| stat.mean)
            };
            let Some(ours) = mean(BSODH) else { continue };
            let others = BASELINES.iter().filter_map(|spec| Some((*spec, mean(spec)?)));
            let Some((spec, best)) = others.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            cells += 1;
            if best > ours {
                let name = results.look(spec).0;
                lost.push(format!("{name} {best:.3} to {ours:.3} ({}, {bits} bits)", dataset.name));
            }
        }
    }
    let won = cells - lost.len();
    let lost_text =
        if lost.is_empty() { String::new() } else { format!("; ahead of it: {}", lost.join("; ")) };
    let numbers = format!("best in {won} of {cells} cells{lost_text}");
    if cells == 0 { None } else { Verdict::new(won == cells, 2 * won >= cells, numbers) }
}

fn gains(
    results: &Results<'_>,
    paper: [(&str, f64); 3],
    measure: fn(&Dataset, &Point) -> f64,
) -> Option<Verdict> {
    let (experiment, datasets) = experiment(results, "tables")?;
    let mut found = Vec::new();
    for (name, printed) in paper {
        let Some(dataset) = datasets.iter().find(|dataset| dataset.name == name) else { continue };
        let mean = |spec: &str| -> Option<f64> {
            let of = |&bits: &usize| {
                let runs = results.runs(experiment, dataset, spec, bits, None);
                runs.at_end(|point| measure(dataset, point)).map(|stat| stat.mean)
            };
            let values: Option<Vec<f64>> = experiment.bits.iter().map(of).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        if let (Some(ours), Some(theirs)) = (mean(BSODH), mean("mihash:gradient=released")) {
            found.push((name, printed, 100.0 * (ours / theirs - 1.0)));
        }
    }
    let numbers: Vec<String> =
        found.iter().map(|(name, _, gain)| format!("{name} {gain:+.1} %")).collect();
    let holds = found.iter().all(|(_, printed, gain)| *gain >= printed / 2.0);
    let in_part = found.iter().any(|(_, _, gain)| *gain > 0.0);
    if found.is_empty() { None } else { Verdict::new(holds, in_part, numbers.join(", ")) }
}

fn precision_at_r(results: &Results<'_>) -> Option<Verdict> {
    let (experiment, datasets) = experiment(results, "curves")?;
    let (mut all, mut won, mut parts) = (0, 0, Vec::new());
    for dataset in datasets {
        let bits = *experiment.bits.first()?;
        let curve = |spec: &str| -> Option<Vec<(usize, f64)>> {
            let runs = results.runs(experiment, dataset, spec, bits, None);
            runs.records.first()?.last().map(|point| point.precision_at.clone())
        };
        let Some(ours) = curve(BSODH) else { continue };
        let others: Vec<_> = BASELINES.iter().filter_map(|spec| curve(spec)).collect();
        let best = |at: usize| {
            others.iter().filter_map(|other| Some(other.get(at)?.1)).fold(0.0, f64::max)
        };
        let here = (0..ours.len()).filter(|&at| ours[at].1 >= best(at)).count();
        all += ours.len();
        won += here;
        parts.push(format!("{}: {here} of {}", dataset.name, ours.len()));
    }
    if all == 0 { None } else { Verdict::new(won == all, 2 * won >= all, parts.join(", ")) }
}

/// Returns the grid of an experiment with two parameters. Each element holds the two parameters, in
/// the order of their names, and the precision within radius 2.
fn grid(results: &Results<'_>, name: &str) -> Option<Vec<(f64, f64, f64)>> {
    let (experiment, datasets) = experiment(results, name)?;
    let axes: Vec<_> = experiment.vary.iter().collect();
    let [(rows, row_values), (columns, column_values)] = axes[..] else { return None };
    let (spec, bits) = (experiment.runs.first()?, *experiment.bits.first()?);
    let mut found = Vec::new();
    for (&row, &column) in row_values.iter().flat_map(|r| column_values.iter().map(move |c| (r, c)))
    {
        let spec = with(&with(spec, rows, row), columns, column);
        let runs = results.runs(experiment, datasets[0], &spec, bits, None);
        if let Some(stat) = runs.at_end(|point| point.radius) {
            found.push((row, column, stat.mean));
        }
    }
    found.sort_by(|a, b| a.2.total_cmp(&b.2));
    Some(found)
}

fn at_best(results: &Results<'_>, name: &str, wanted: (f64, f64)) -> Option<Verdict> {
    let grid = grid(results, name)?;
    let best = grid.last()?;
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let (_, _, there) = grid.iter().find(|(r, c, _)| near(*r, wanted.0) && near(*c, wanted.1))?;
    let numbers =
        format!("{there:.3} there; the best is {:.3}, at ({}, {})", best.2, best.1, best.0);
    Verdict::new(best.2 - there <= 0.01, best.2 - there <= 0.03, numbers)
}

/// Measures that show whether the codes collapsed.
struct Collapse {
    radius: f64,
    map: f64,
    distinct: f64,
    classes: f64,
    same_bits: f64,
}

fn collapse(results: &Results<'_>, spec: &str) -> Option<Collapse> {
    let (experiment, datasets) = experiment(results, "collapse")?;
    let runs = results.runs(experiment, datasets[0], spec, *experiment.bits.first()?, None);
    Some(Collapse {
        radius: runs.at_end(|point| point.radius)?.mean,
        map: runs.at_end(|point| point.map)?.mean,
        distinct: runs.of_runs(|record| record.classes.distinct as f64)?.mean,
        classes: runs.records.first()?.classes.classes as f64,
        same_bits: runs
            .of_runs(|record| record.classes.taught.as_ref().map_or(0.0, |t| t.same_bits as f64))?
            .mean,
    })
}

/// Returns sigma and precision within radius 2, without balance.
fn scaled(results: &Results<'_>) -> Option<Vec<(f64, f64)>> {
    let (experiment, datasets) = experiment(results, "scaling")?;
    let bits = *experiment.bits.first()?;
    let (parameter, values) = experiment.vary.iter().next()?;
    let spec = "bsodh:order=alternating+similar_weight=1+dissimilar_weight=1";
    let mean = |&value: &f64| {
        let runs = results.runs(experiment, datasets[0], &with(spec, parameter, value), bits, None);
        Some((value, runs.at_end(|point| point.radius)?.mean))
    };
    Some(values.iter().filter_map(mean).collect())
}

fn scaling(results: &Results<'_>) -> Option<Verdict> {
    let scaled = scaled(results)?;
    let best = scaled.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let balanced = collapse(results, BSODH)?.radius;
    let numbers = format!("at best {:.3}, at {}, against {balanced:.3}", best.1, best.0);
    Verdict::new(best.1 <= balanced - 0.1, best.1 < balanced, numbers)
}

fn passes(results: &Results<'_>) -> Option<Verdict> {
    let (experiment, datasets) = experiment(results, "convergence")?;
    let bits = *experiment.bits.first()?;
    let runs = results.runs(experiment, datasets[0], "bsodh:order=alternating", bits, None);
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for record in &runs.records {
        for (stage, point) in (1..).zip(&record.checkpoints) {
            // The codes of the first batch are given. The last pass only confirms that nothing
            // changes.
            let passes = point.iterations.saturating_sub(1) as f64;
            match stage {
                1 => {}
                2 => early.push(passes),
                _ => late.push(passes),
            }
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (early, late) = (mean(&early), mean(&late));
    let numbers = format!("{early:.1} passes at t = 2, {late:.1} after that");
    Verdict::new(early <= 2.0 && late <= 1.0, early.max(late) <= 4.0, numbers)
}

//! The first section of the page: the verdicts, a picture of all methods, and the best of them.

use super::super::chart::{Ranked, Ranking};
use super::super::claims::{Judged, VERDICTS};
use super::super::content::{Block, Count, Figure, Section, Table, Value};
use super::super::plan::{Dataset, Entrant, Experiment};
use super::super::results::Results;
use super::super::store::Point;
use super::{LINES, score};

/// Code length of this section.
const BITS: usize = 64;

pub fn section(results: &Results<'_>, judged: &[Judged]) -> Section {
    let mut blocks = Vec::new();
    if results.plan.quick {
        blocks.push(Block::Notice(
            "This was a quick run. Toy digits judge nothing: the numbers below come from 1,797 images of \
             8 x 8 pixels that the program carries (and from one run on MNIST, if that is at hand). Easy \
             methods do well on them, and the paper reports nothing of them. They show that everything \
             runs, and what the full page looks like. For findings run: hashbrook reproduce --data DIRECTORY"
                .to_owned(),
        ));
    } else {
        let count = |verdict| judged.iter().filter(|judged| judged.verdict == verdict).count();
        let counts = VERDICTS.map(|verdict| (verdict, count(verdict)));
        let counts = counts.into_iter().filter(|(_, count)| *count > 0).map(in_plural);
        blocks.push(Block::Text(format!(
            "The paper's {} claims, each judged by a stated rule on what was measured here:",
            judged.len()
        )));
        blocks.push(Block::Verdicts(counts.collect()));
    }
    let tables = results.plan.experiment("tables");
    let shown = tables.map(|experiment| (experiment, results.datasets(experiment)));
    match shown.filter(|(_, datasets)| !datasets.is_empty()) {
        Some((experiment, datasets)) => {
            let here = Here { results, experiment };
            if !results.plan.quick {
                blocks.push(Block::Text(here.in_a_sentence(&datasets)));
            }
            blocks.push(Block::Figure(here.picture(&datasets)));
            blocks.push(Block::Table(here.best(&datasets)));
            let other = datasets.iter().filter(|dataset| dataset.note.is_some());
            let other: Vec<&str> = other.map(|dataset| dataset.title.as_str()).collect();
            if !other.is_empty() {
                blocks.push(Block::Text(format!(
                    "* The paper's numbers beside {} are of other features or other images: see the \
                     notes at the tables.",
                    other.join(" and ")
                )));
            }
        }
        None => blocks.push(Block::Text(
            "Which methods are best is told by the runs of: hashbrook reproduce --only tables"
                .to_owned(),
        )),
    }
    Section { id: "found", title: "What was found".to_owned(), blocks }
}

/// Returns the count of a verdict, with the verdict in the singular or plural.
fn in_plural((verdict, count): (&'static str, usize)) -> Count {
    let said = match (verdict, count) {
        ("holds", 2..) => "hold",
        ("holds in part", 2..) => "hold in part",
        ("does not hold", 2..) => "do not hold",
        _ => verdict,
    };
    Count { verdict, said, count }
}

struct Here<'a> {
    results: &'a Results<'a>,
    experiment: &'a Experiment,
}

type Measure = fn(&Point) -> f64;

impl Here<'_> {
    fn mean(&self, dataset: &Dataset, method: &Entrant, measure: Measure) -> Option<f64> {
        let runs = self.results.runs(self.experiment, dataset, &method.spec, BITS, None);
        runs.at_end(measure).map(|stat| stat.mean)
    }

    /// Returns the value that the paper prints for a method.
    fn paper(&self, dataset: &Dataset, method: &Entrant, main: bool) -> Option<f64> {
        let at = self.experiment.bits.iter().position(|bits| *bits == BITS)?;
        let row = self.results.plan.paper.get(&dataset.name)?.get(method.paper.as_ref()?)?;
        (if main { &row.score } else { &row.radius }).get(at).copied()
    }

    /// Returns the best of the `wanted` methods, and its score.
    fn best_of<'m>(
        &'m self,
        dataset: &Dataset,
        measure: Measure,
        wanted: impl Fn(&Entrant) -> bool,
    ) -> Option<(&'m str, f64)> {
        let methods = self.results.plan.methods.iter().filter(|method| wanted(method));
        let scores = methods.filter_map(|method| {
            Some((method.name.as_str(), self.mean(dataset, method, measure)?))
        });
        scores.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn in_a_sentence(&self, datasets: &[&Dataset]) -> String {
        let best = datasets.iter().filter_map(|dataset| {
            let (name, measure) = score(dataset);
            let (method, mean) = self.best_of(dataset, measure, |_| true)?;
            Some(format!("{} on {} ({name} {mean:.3})", method, dataset.title))
        });
        let best: Vec<String> = best.collect();
        format!("The best of all methods with {BITS} bits: {}.", best.join(", "))
    }

    fn picture(&self, datasets: &[&Dataset]) -> Figure {
        let plan = self.results.plan;
        let mean = |dataset: &Dataset, method| self.mean(dataset, method, score(dataset).1);
        let mut methods: Vec<(&Entrant, f64)> = plan
            .methods
            .iter()
            .filter_map(|method| {
                let found: Vec<f64> = datasets.iter().filter_map(|set| mean(set, method)).collect();
                let count = found.len() as f64;
                (count > 0.0).then(|| (method, found.iter().sum::<f64>() / count))
            })
            .collect();
        methods.sort_by(|a, b| b.1.total_cmp(&a.1));
        let scores: Vec<Ranked> = datasets
            .iter()
            .zip(LINES)
            .map(|(dataset, colour)| Ranked {
                name: dataset.title.clone(),
                colour: colour.to_owned(),
                points: methods
                    .iter()
                    .map(|(method, _)| (mean(dataset, method), self.paper(dataset, method, true)))
                    .collect(),
            })
            .collect();
        let mut measures: Vec<&str> = datasets.iter().map(|dataset| score(dataset).0).collect();
        measures.dedup();
        let mut caption = format!("All methods with {BITS} bits, the best above");
        if scores.iter().flat_map(|score| &score.points).any(|(_, paper)| paper.is_some()) {
            caption += ". Filled: measured here; hollow: printed in the paper";
        }
        let ranking = Ranking {
            title: caption.clone(),
            label: measures.join(" or "),
            rows: methods.iter().map(|(method, _)| method.name.clone()).collect(),
            scores,
        };
        Figure::ranking("methods".to_owned(), caption, ranking, "tables")
    }

    fn best(&self, datasets: &[&Dataset]) -> Table {
        let mut rows = Vec::new();
        for dataset in datasets {
            let (name, measure) = score(dataset);
            let measures: [(&str, Measure, bool); 2] =
                [(name, measure, true), ("precision within radius 2", |point| point.radius, false)];
            for (name, measure, main) in measures {
                let named = |found: Option<(&str, f64)>| match found {
                    Some((method, mean)) => Value::number(mean, format!("{mean:.3} {method}")),
                    None => Value::text(""),
                };
                let published = |method: &Entrant| !method.spec.starts_with("brook");
                let bsodh = self.results.plan.method("bsodh");
                let ours = bsodh.and_then(|method| self.mean(dataset, method, measure));
                let printed = bsodh.and_then(|method| self.paper(dataset, method, main));
                let star = if dataset.note.is_some() { " *" } else { "" };
                let number = |value: Option<f64>, star: &str| match value {
                    Some(value) => Value::number(value, format!("{value:.3}{star}")),
                    None => Value::text(""),
                };
                rows.push(vec![
                    Value::text(&format!("{}, {name}", dataset.title)),
                    named(self.best_of(dataset, measure, |_| true)),
                    named(self.best_of(dataset, measure, published)),
                    number(ours, ""),
                    number(printed, star),
                ]);
            }
        }
        let columns =
            ["", "best", "best but for brook", "bsodh, the paper's method", "bsodh in the paper"];
        Table {
            caption: format!("The best methods with {BITS} bits"),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            wordy: false,
        }
    }
}

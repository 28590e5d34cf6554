//! Results beyond the paper: a table for each other protocol and data set.

use super::super::content::{Block, Section, Table, Value};
use super::super::plan::Experiment;
use super::super::results::Results;

pub(super) fn protocols(results: &Results<'_>, experiment: &Experiment, section: &mut Section) {
    section.blocks.push(Block::Text(
        "The paper rewards one thing: the same label, among classes that were all learned. Codes are \
         searched for more. Beside the methods stand random projections (lsh), principal directions \
         with a rotation (itq), which know no labels, and the cosine of the vectors themselves."
            .to_owned(),
    ));
    for protocol in experiment.all_protocols() {
        let mut tables = Vec::new();
        for dataset in results.datasets(experiment) {
            let columns = protocol.columns(1000, 100);
            let bits = experiment.bits.first().copied().unwrap_or(64);
            let rows = experiment.specs(results.plan).into_iter().filter_map(|spec| {
                let runs = results.runs_by(protocol, experiment, dataset, &spec, bits);
                let value = |name: &str| match runs.failure() {
                    Some(why) => Value::cannot(why),
                    None => Value::stat(runs.of_protocol(name), None),
                };
                let values: Vec<Value> = columns.iter().map(|column| value(&column.name)).collect();
                let some = values.iter().any(|value| !value.text.is_empty());
                let name = Value::text(&results.look(&spec).0);
                some.then(|| std::iter::once(name).chain(values).collect())
            });
            let rows: Vec<Vec<Value>> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let titles = columns.iter().map(|column| column.title.clone());
            tables.push(Block::Table(Table {
                caption: format!("{}: {}, {bits} bits", dataset.title, protocol.title()),
                columns: std::iter::once("method".to_owned()).chain(titles).collect(),
                rows,
                wordy: false,
            }));
        }
        if !tables.is_empty() {
            section.blocks.extend(protocol.remark().map(|remark| Block::Text(remark.to_owned())));
            section.blocks.append(&mut tables);
        }
    }
}

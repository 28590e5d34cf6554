//! The results, for people and for programs.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::cell::{Cell, Found};
use crate::console;

pub fn print(json: bool, csv: bool, cells: &[Cell<'_>], found: &[Found]) -> Result<()> {
    match (json, csv) {
        (true, _) => print_json(cells, found),
        (_, true) => print_csv(cells, found),
        _ => print_table(cells, found),
    }
}

/// One group of runs that differ in their seed only.
struct Group<'a> {
    cell: &'a Cell<'a>,
    found: Vec<&'a Found>,
}

fn groups<'a>(cells: &'a [Cell<'a>], found: &'a [Found]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (cell, found) in cells.iter().zip(found) {
        let same = |group: &&mut Group<'_>| {
            group.cell.contender.name == cell.contender.name && group.cell.bits == cell.bits
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.found.push(found),
            None => groups.push(Group { cell, found: vec![found] }),
        }
    }
    groups
}

impl Group<'_> {
    fn values(&self, measure: &str) -> Vec<f64> {
        self.found.iter().filter_map(|found| found.get(measure)?.as_f64()).collect()
    }

    /// The mean, and by how much runs differ from it (their standard deviation).
    fn mean(&self, measure: &str) -> (f64, Option<f64>) {
        let values = self.values(measure);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()))
    }
}

fn print_json(cells: &[Cell<'_>], found: &[Found]) -> Result<()> {
    for group in groups(cells, found) {
        let mut object = Map::new();
        object.insert("method".to_owned(), json!(group.cell.contender.name));
        object.insert("parameters".to_owned(), json!(group.cell.contender.method.table()));
        object.insert("bits".to_owned(), json!(group.cell.bits));
        object.insert("seeds".to_owned(), json!(group.found.len()));
        for measure in &group.cell.measures {
            let (mean, spread) = group.mean(measure);
            let value = json!({ "mean": mean, "spread": spread, "each": group.values(measure) });
            object.insert(measure.clone(), value);
        }
        console::line(Value::Object(object))?;
    }
    Ok(())
}

fn print_csv(cells: &[Cell<'_>], found: &[Found]) -> Result<()> {
    let Some(first) = cells.first() else { return Ok(()) };
    console::line(format_args!("method,bits,seed,{}", first.measures.join(",")))?;
    for (cell, found) in cells.iter().zip(found) {
        let value = |measure: &String| found.get(measure).map(Value::to_string).unwrap_or_default();
        let values: Vec<String> = cell.measures.iter().map(value).collect();
        let (name, bits, seed) = (&cell.contender.name, cell.bits, cell.seed);
        console::line(format_args!("{name},{bits},{seed},{}", values.join(",")))?;
    }
    Ok(())
}

fn print_table(cells: &[Cell<'_>], found: &[Found]) -> Result<()> {
    let groups = groups(cells, found);
    let Some(first) = groups.first() else { return Ok(()) };
    let width =
        groups.iter().map(|group| group.cell.contender.name.len()).max().unwrap_or(0).max(6);
    let titles = [
        "mAP",
        first.cell.measures[1].as_str(),
        "P@100",
        "P r<=2",
        first.cell.measures[4].as_str(),
        "learn, s",
        "encode, rows/s",
        "state, KiB",
    ];
    let titles = titles.map(|title| format!("{title:>15}")).concat();
    console::line(format_args!("{:width$} bits{titles}", "method"))?;
    let mut bits = first.cell.bits;
    for group in &groups {
        if group.cell.bits != bits {
            bits = group.cell.bits;
            console::line("")?;
        }
        let mut line = format!("{:width$} {bits:>4}", group.cell.contender.name);
        for (at, measure) in group.cell.measures.iter().enumerate() {
            let (mean, spread) = group.mean(measure);
            let text = match at {
                0..5 => match spread {
                    Some(spread) => format!("{mean:.3} ±{spread:.3}"),
                    None => format!("{mean:.3}"),
                },
                5 if mean < 0.1 => format!("{mean:.4}"),
                5 => format!("{mean:.2}"),
                6 => console::count(mean as u64),
                _ => console::count((mean / 1024.0).ceil() as u64),
            };
            line += &format!("{text:>15}");
        }
        console::line(line)?;
    }
    if first.found.len() > 1 {
        console::line(format_args!(
            "\nMeans of {} seeds, and the standard deviation between them.",
            first.found.len()
        ))?;
    }
    Ok(())
}

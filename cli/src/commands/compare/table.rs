//! Tables of the results, as text and as JSON.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Args;
use super::cell::{Cell, Found};
use super::protocol::{Column, Kind};
use crate::console;

pub fn print(args: &Args, cells: &[Cell<'_>], found: &[Found]) -> Result<()> {
    match (args.json, args.csv) {
        (true, _) => print_json(cells, found),
        (_, true) => print_csv(cells, found),
        _ => print_table(cells, found, args.protocol.remark()),
    }
}

/// Runs that differ only in their seed.
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

    /// Returns the mean over the runs, and their standard deviation.
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
        let codes = !group.cell.contender.by_vectors;
        let parameters =
            codes.then(|| crate::commands::parameters_of(&group.cell.contender.method));
        object.insert("parameters".to_owned(), json!(parameters));
        object.insert("bits".to_owned(), json!(codes.then_some(group.cell.bits)));
        object.insert("seeds".to_owned(), json!(group.found.len()));
        for column in &group.cell.columns {
            let (mean, spread) = group.mean(&column.name);
            let each = group.values(&column.name);
            let value = json!({ "mean": mean, "spread": spread, "each": each });
            object.insert(column.name.clone(), value);
        }
        console::line(Value::Object(object))?;
    }
    Ok(())
}

fn print_csv(cells: &[Cell<'_>], found: &[Found]) -> Result<()> {
    let Some(first) = cells.first() else { return Ok(()) };
    let names: Vec<&str> = first.columns.iter().map(|column| column.name.as_str()).collect();
    console::line(format_args!("method,bits,seed,{}", names.join(",")))?;
    for (cell, found) in cells.iter().zip(found) {
        let number = |name: &String| found.get(name).filter(|value| !value.is_null());
        let value = |name: &String| number(name).map(Value::to_string).unwrap_or_default();
        let values: Vec<String> = cell.columns.iter().map(|column| value(&column.name)).collect();
        let (name, bits, seed) = (&cell.contender.name, bits(cell), cell.seed);
        console::line(format_args!("{name},{bits},{seed},{}", values.join(",")))?;
    }
    Ok(())
}

/// Returns the code length as a string, empty for a contender that ranks by vectors.
fn bits(cell: &Cell<'_>) -> String {
    if cell.contender.by_vectors { String::new() } else { cell.bits.to_string() }
}

fn print_table(cells: &[Cell<'_>], found: &[Found], remark: Option<&str>) -> Result<()> {
    let groups = groups(cells, found);
    let Some(first) = groups.first() else { return Ok(()) };
    let width =
        groups.iter().map(|group| group.cell.contender.name.len()).max().unwrap_or(0).max(6);
    let title = |column: &Column| format!("{:>15}", column.title);
    let titles: String = first.cell.columns.iter().map(title).collect();
    console::line(format_args!("{:width$} bits{titles}", "method"))?;
    let mut last = first.cell.bits;
    for group in &groups {
        if group.cell.bits != last {
            last = group.cell.bits;
            console::line("")?;
        }
        let mut line = format!("{:width$} {:>4}", group.cell.contender.name, bits(group.cell));
        for column in &group.cell.columns {
            let (mean, spread) = group.mean(&column.name);
            let text = match (column.kind, spread) {
                _ if mean.is_nan() => "-".to_owned(),
                (Kind::Score, Some(spread)) => format!("{mean:.3} ±{spread:.3}"),
                (Kind::Score, None) => format!("{mean:.3}"),
                (Kind::Seconds, _) if mean < 0.1 => format!("{mean:.4}"),
                (Kind::Seconds, _) => format!("{mean:.2}"),
                (Kind::Rate, _) => console::count(mean as u64),
                (Kind::Bytes, _) => console::count((mean / 1024.0).ceil() as u64),
            };
            line += &format!("{text:>15}");
        }
        console::line(line)?;
    }
    if let Some(remark) = remark {
        console::line(format_args!("\n{remark}"))?;
    }
    if first.found.len() > 1 {
        console::line(format_args!(
            "\nMeans of {} seeds, and the standard deviation between them.",
            first.found.len()
        ))?;
    }
    Ok(())
}

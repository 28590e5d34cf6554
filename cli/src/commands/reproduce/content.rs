//! What a report is made of, before it is HTML or Markdown.

use super::chart::{Axis, Heat, Series, lines};
use super::results::Stat;

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

    pub fn stat(stat: Option<Stat>, paper: Option<f64>) -> Value {
        let Some(Stat { mean, spread, seeds, .. }) = stat else { return Value::text("") };
        let spread = if seeds > 1 { format!(" ±{spread:.3}") } else { String::new() };
        let printed = paper.map_or(String::new(), |paper| format!(" ({paper:.3})"));
        let difference = paper.map(|paper| mean - paper);
        Value { text: format!("{mean:.3}{spread}{printed}"), number: Some(mean), difference }
    }

    pub fn number(value: f64, text: String) -> Value {
        Value { text, number: Some(value), difference: None }
    }
}

impl Figure {
    pub fn lines(
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
    pub fn points(
        name: String,
        caption: String,
        axes: (Axis, Axis),
        series: Vec<Series>,
        experiment: &'static str,
    ) -> Figure {
        let figure = Figure::lines(name, caption, axes, series, experiment);
        Figure { svg: figure.svg.replace("<polyline", "<polyline class=\"none\""), ..figure }
    }

    pub fn heat(name: String, caption: String, heat: Heat<'_>, experiment: &'static str) -> Figure {
        let mut csv = format!("{},{},value\n", heat.rows.0, heat.columns.0);
        for (row, values) in heat.rows.1.iter().zip(&heat.values) {
            for (column, value) in heat.columns.1.iter().zip(values) {
                csv += &format!("{row},{column},{value}\n");
            }
        }
        Figure { name, caption, svg: heat.draw(), legend: Vec::new(), csv, experiment }
    }
}

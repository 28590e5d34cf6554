//! Content of a report, before it is rendered as HTML or Markdown.

use super::chart::{Axis, HEIGHT, Heat, Ranking, Series, lines};
use super::results::Stat;

pub struct Section {
    pub id: &'static str,
    pub title: String,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Text(String),
    /// A highlighted text.
    Notice(String),
    /// Number of claims per verdict.
    Verdicts(Vec<Count>),
    Table(Table),
    Figure(Figure),
}

/// Number of claims with a verdict.
pub struct Count {
    pub verdict: &'static str,
    /// The verdict, in the singular or the plural.
    pub said: &'static str,
    pub count: usize,
}

pub struct Table {
    pub caption: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// True if the cells are sentences, false if they are numbers.
    pub wordy: bool,
}

/// A cell of a table.
pub struct Value {
    pub text: String,
    /// Sort key, if the cell is a number.
    pub number: Option<f64>,
    /// Difference from the paper's number, which sets the shade of the cell.
    pub difference: Option<f64>,
    /// Reason for the value, shown on hover.
    pub why: Option<String>,
    /// True if the cell is a verdict, which is shown as a badge.
    pub verdict: bool,
}

pub struct Figure {
    /// Unique name, used for file names.
    pub name: String,
    pub caption: String,
    pub svg: String,
    /// Height of the drawing; the width is the same for all drawings.
    pub height: f64,
    /// Names and colours of the legend.
    pub legend: Vec<(String, String)>,
    pub csv: String,
    pub experiment: &'static str,
}

impl Value {
    pub fn text(text: &str) -> Value {
        let text = text.to_owned();
        Value { text, number: None, difference: None, why: None, verdict: false }
    }

    /// Returns a cell without a number, with the reason.
    pub fn cannot(why: &str) -> Value {
        Value { why: Some(why.to_owned()), ..Value::text("cannot") }
    }

    pub fn verdict(verdict: &str) -> Value {
        Value { verdict: true, ..Value::text(verdict) }
    }

    pub fn stat(stat: Option<Stat>, paper: Option<f64>) -> Value {
        let Some(Stat { mean, spread, seeds, .. }) = stat else { return Value::text("") };
        let spread = if seeds > 1 { format!(" ±{spread:.3}") } else { String::new() };
        let printed = paper.map_or(String::new(), |paper| format!(" ({paper:.3})"));
        let difference = paper.map(|paper| mean - paper);
        let text = format!("{mean:.3}{spread}{printed}");
        Value { difference, ..Value::number(mean, text) }
    }

    pub fn number(value: f64, text: String) -> Value {
        Value { number: Some(value), ..Value::text(&text) }
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
        Figure { name, caption, svg, height: HEIGHT, legend, csv, experiment }
    }

    /// Builds a figure of points without lines.
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
        let (svg, height) = heat.draw();
        Figure { name, caption, svg, height, legend: Vec::new(), csv, experiment }
    }

    pub fn ranking(
        name: String,
        caption: String,
        ranking: Ranking,
        experiment: &'static str,
    ) -> Figure {
        let mut csv = format!("method,data set,{},in the paper\n", ranking.label);
        let text = |value: &Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for score in &ranking.scores {
            for (row, (here, paper)) in ranking.rows.iter().zip(&score.points) {
                csv += &format!("\"{row}\",\"{}\",{},{}\n", score.name, text(here), text(paper));
            }
        }
        let (svg, height) = ranking.draw();
        let scores = ranking.scores.into_iter();
        let legend = scores.map(|score| (score.name, score.colour)).collect();
        Figure { name, caption, svg, height, legend, csv, experiment }
    }
}

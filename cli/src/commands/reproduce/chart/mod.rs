//! Plots as SVG: lines with bands, heat maps, and rankings. The page's style sets the colours of
//! axes and text, so that one drawing serves light and dark pages. Values are shown on hover.

mod heat;
mod lines;
mod ranking;

pub use self::heat::Heat;
pub use self::lines::lines;
pub use self::ranking::{Ranked, Ranking};

pub const WIDTH: f64 = 640.0;
pub const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// Points of one line.
pub struct Series {
    pub name: String,
    pub colour: String,
    pub points: Vec<(f64, f64)>,
    /// Minimum and maximum at each point; empty if there is only one value.
    pub band: Vec<(f64, f64)>,
}

pub struct Axis {
    pub label: String,
    pub log: bool,
}

impl Axis {
    pub fn new(label: &str) -> Axis {
        Axis { label: label.to_owned(), log: false }
    }

    pub fn log(label: &str) -> Axis {
        Axis { label: label.to_owned(), log: true }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.log { value.max(1e-12).log10() } else { value }
    }
}

/// Maps values of an axis to positions on the drawing.
struct Scale<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl<'a> Scale<'a> {
    fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(|value| axis.scaled(value)).filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        let room = if high > low { (high - low) * 0.04 } else { 0.5 };
        Scale { axis, low: low - room, high: high + room, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (self.axis.scaled(value) - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Returns about six round values in the range of the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.axis.log {
            let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
            let step = ((last - first) / 8 + 1).max(1);
            return (first..=last).step_by(step as usize).map(|power| 10f64.powi(power)).collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * unit);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(unit);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }
}

/// Formats a number, with an exponent if it is very small or very large.
pub fn short(value: f64) -> String {
    if value != 0.0 && (value.abs() < 0.001 || value.abs() >= 1e6) {
        return format!("{value:e}");
    }
    let text = format!("{value:.3}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn open(svg: &mut String, title: &str, height: f64) {
    let title = escape(title);
    svg.push_str(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\"><title>{title}</title>"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.5, 10.0, 0.0, 1234.0].map(short), ["0.5", "10", "0", "1234"]);
        assert_eq!([0.0001, 1e6].map(short), ["1e-4", "1e6"]);
    }
}

//! Plots as SVG: lines with bands, and heat maps. Colours of axes and text come from the page's
//! style, so that one drawing serves light and dark; values show when pointed at.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// Points that belong together.
pub struct Series {
    pub name: String,
    pub colour: String,
    pub points: Vec<(f64, f64)>,
    /// The least and the most at each point; empty where there is one value only.
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

/// Maps values of an axis to places on the drawing.
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

    /// Round values within reach, about six of them.
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

/// A number as people write it.
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
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\"><title>{title}</title>"
    );
}

fn axes(svg: &mut String, x: &Scale<'_>, y: &Scale<'_>) {
    for tick in y.ticks() {
        let at = y.place(tick);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            short(tick)
        );
    }
    for tick in x.ticks() {
        let at = x.place(tick);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{:.1}\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 17.0,
            short(tick)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0,
        escape(&x.axis.label),
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(&y.axis.label)
    );
}

/// Lines over two axes.
pub fn lines(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|series| &series.points);
    let bands = series.iter().flat_map(|series| series.band.iter().flat_map(|(l, h)| [*l, *h]));
    let across = Scale::new(x, all().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let up = Scale::new(y, all().map(|p| p.1).chain(bands), HEIGHT - BOTTOM, TOP);
    let mut svg = String::new();
    open(&mut svg, title, HEIGHT);
    axes(&mut svg, &across, &up);
    for series in series {
        let (name, colour) = (escape(&series.name), &series.colour);
        let _ = write!(svg, "<g data-series=\"{name}\" style=\"color:{colour}\">");
        if series.band.len() == series.points.len() && series.points.len() > 1 {
            let corner = |(point, value): (&(f64, f64), f64)| {
                format!("{:.1},{:.1}", across.place(point.0), up.place(value))
            };
            let low = series.points.iter().zip(series.band.iter().map(|band| band.0));
            let high = series.points.iter().zip(series.band.iter().map(|band| band.1)).rev();
            let outline: Vec<String> = low.chain(high).map(corner).collect();
            let _ = write!(svg, "<polygon class=\"band\" points=\"{}\"/>", outline.join(" "));
        }
        let place = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", across.place(*x), up.place(*y));
        let points: Vec<String> = series.points.iter().map(place).collect();
        let _ = write!(svg, "<polyline points=\"{}\"/>", points.join(" "));
        for (x, y) in &series.points {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{name}: {} at {}</title></circle>",
                across.place(*x),
                up.place(*y),
                short(*y),
                short(*x)
            );
        }
        svg += "</g>";
    }
    svg += "</svg>";
    svg
}

/// A grid of values, from dark (low) to light (high).
pub struct Heat<'a> {
    pub title: &'a str,
    pub columns: (&'a str, Vec<String>),
    pub rows: (&'a str, Vec<String>),
    /// By row.
    pub values: Vec<Vec<f64>>,
}

impl Heat<'_> {
    pub fn draw(&self) -> String {
        let (columns, rows) = (self.columns.1.len().max(1), self.rows.1.len().max(1));
        let (left, bottom) = (LEFT + 10.0, 40.0);
        let width = (WIDTH - left - RIGHT) / columns as f64;
        let tall = (340.0 / rows as f64).min(width).max(18.0);
        let height = TOP + tall * rows as f64 + bottom;
        let known = || self.values.iter().flatten().copied().filter(|value| value.is_finite());
        let (low, high) = known().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        let mut svg = String::new();
        open(&mut svg, self.title, height);
        for (r, (name, values)) in self.rows.1.iter().zip(&self.values).enumerate() {
            let y = TOP + tall * (rows - 1 - r) as f64;
            let middle = y + tall / 2.0 + 4.0;
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                escape(name)
            );
            for (c, value) in values.iter().enumerate() {
                let x = left + width * c as f64;
                let share = if high > low { (value - low) / (high - low) } else { 0.5 };
                let ink = if share > 0.55 { "#111" } else { "#fff" };
                let _ = write!(
                    svg,
                    "<g><title>{}: {}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{tall:.1}\" fill=\"{}\"/><text class=\"in\" x=\"{:.1}\" \
                     y=\"{middle:.1}\" text-anchor=\"middle\" fill=\"{ink}\">{}</text></g>",
                    escape(&format!(
                        "{} {}, {} {name}",
                        self.columns.0, self.columns.1[c], self.rows.0
                    )),
                    short(*value),
                    colour(share),
                    x + width / 2.0,
                    if value.is_finite() { format!("{value:.2}") } else { String::new() }
                );
            }
        }
        for (c, name) in self.columns.1.iter().enumerate() {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                left + width * (c as f64 + 0.5),
                height - bottom + 16.0,
                escape(name)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text></svg>",
            (left + WIDTH - RIGHT) / 2.0,
            height - 6.0,
            escape(self.columns.0),
            TOP + tall * rows as f64 / 2.0,
            escape(self.rows.0)
        );
        svg
    }
}

/// From violet over green to yellow, evenly bright for every eye: points of the viridis map.
fn colour(share: f64) -> String {
    const STOPS: [[f64; 3]; 6] = [
        [68.0, 1.0, 84.0],
        [65.0, 68.0, 135.0],
        [42.0, 120.0, 142.0],
        [34.0, 168.0, 132.0],
        [122.0, 209.0, 81.0],
        [253.0, 231.0, 37.0],
    ];
    if !share.is_finite() {
        return "#888".to_owned();
    }
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let (below, rest) = ((at as usize).min(STOPS.len() - 2), at.fract());
    let rest = if at as usize > below { 1.0 } else { rest };
    let mix = |i: usize| (STOPS[below][i] * (1.0 - rest) + STOPS[below + 1][i] * rest).round();
    format!("#{:02x}{:02x}{:02x}", mix(0) as u8, mix(1) as u8, mix(2) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_within_the_frame() {
        let points = vec![(0.01, 0.2), (1.0, 0.8), (1e6, 0.5)];
        let band = points.iter().map(|(_, y)| (y - 0.1, y + 0.1)).collect();
        let series =
            Series { name: "a <b>".to_owned(), colour: "#123456".to_owned(), points, band };
        let svg = lines("t", &Axis::log("x"), &Axis::new("y"), &[series]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("a &lt;b&gt;: 0.8 at 1") && !svg.contains("NaN"), "{svg}");
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn nothing_to_draw_is_drawn_too() {
        let svg = lines("t", &Axis::new("x"), &Axis::new("y"), &[]);
        assert!(svg.ends_with("</svg>") && !svg.contains("NaN"));
        let heat = Heat {
            title: "t",
            columns: ("c", vec!["1".to_owned()]),
            rows: ("r", vec!["2".to_owned()]),
            values: vec![vec![f64::NAN]],
        };
        assert!(heat.draw().ends_with("</svg>"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.5, 10.0, 0.0, 1234.0].map(short), ["0.5", "10", "0", "1234"]);
        assert_eq!([0.0001, 1e6].map(short), ["1e-4", "1e6"]);
    }
}

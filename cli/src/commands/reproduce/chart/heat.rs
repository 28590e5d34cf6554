//! Heat maps.

use super::{LEFT, RIGHT, TOP, WIDTH, escape, open, short};

/// A grid of values as colours from dark (low) to light (high), with the numbers in the cells.
pub struct Heat<'a> {
    pub title: &'a str,
    pub columns: (&'a str, Vec<String>),
    pub rows: (&'a str, Vec<String>),
    /// Values by row.
    pub values: Vec<Vec<f64>>,
    /// Row and column of the cell to outline.
    pub outlined: Option<(usize, usize)>,
}

/// Height of the colour scale above the grid.
const SCALE: f64 = 24.0;
const STEPS: usize = 32;

impl Heat<'_> {
    /// Returns the drawing and its height.
    pub fn draw(&self) -> (String, f64) {
        let (columns, rows) = (self.columns.1.len().max(1), self.rows.1.len().max(1));
        let (left, bottom, top) = (LEFT, 40.0, TOP + SCALE);
        let width = (WIDTH - left - RIGHT) / columns as f64;
        let tall = (340.0 / rows as f64).min(width).max(18.0);
        let height = top + tall * rows as f64 + bottom;
        let known = || self.values.iter().flatten().copied().filter(|value| value.is_finite());
        let (low, high) = known().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        // Two decimals do not distinguish values that are close together.
        let decimals = if high - low < 0.2 { 3 } else { 2 };
        let mut svg = String::new();
        open(&mut svg, self.title, height);
        if low <= high {
            scale(&mut svg, low, high, decimals);
        }
        for (r, (name, values)) in self.rows.1.iter().zip(&self.values).enumerate() {
            let y = top + tall * (rows - 1 - r) as f64;
            let middle = y + tall / 2.0 + 4.0;
            svg.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                escape(name)
            ));
            for (c, value) in values.iter().enumerate() {
                let x = left + width * c as f64;
                let share = if high > low { (value - low) / (high - low) } else { 0.5 };
                let fill = colour(share);
                svg.push_str(&format!(
                    "<g><title>{}: {}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{tall:.1}\" fill=\"{}\"/><text class=\"{}\" x=\"{:.1}\" \
                     y=\"{middle:.1}\" text-anchor=\"middle\">{}</text></g>",
                    escape(&format!(
                        "{} {}, {} {name}",
                        self.columns.0, self.columns.1[c], self.rows.0
                    )),
                    short(*value),
                    hex(fill),
                    ink(fill),
                    x + width / 2.0,
                    if value.is_finite() { format!("{value:.decimals$}") } else { String::new() }
                ));
                if self.outlined == Some((r, c)) {
                    svg.push_str(&format!(
                        "<rect class=\"outline {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                         height=\"{:.1}\"/>",
                        ink(fill),
                        x + 2.0,
                        y + 2.0,
                        width - 4.0,
                        tall - 4.0
                    ));
                }
            }
        }
        for (c, name) in self.columns.1.iter().enumerate() {
            svg.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                left + width * (c as f64 + 0.5),
                height - bottom + 16.0,
                escape(name)
            ));
        }
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text></svg>",
            (left + WIDTH - RIGHT) / 2.0,
            height - 6.0,
            escape(self.columns.0),
            top + tall * rows as f64 / 2.0,
            escape(self.rows.0)
        ));
        (svg, height)
    }
}

/// Draws the colour scale, from the lowest to the highest value.
fn scale(svg: &mut String, low: f64, high: f64, decimals: usize) {
    let (from, to, y) = (WIDTH - RIGHT - 250.0, WIDTH - RIGHT - 50.0, 6.0);
    let step = (to - from) / STEPS as f64;
    svg.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{low:.decimals$}</text>\
         <text x=\"{:.1}\" y=\"{:.1}\">{high:.decimals$}</text>",
        from - 6.0,
        y + 11.0,
        to + 6.0,
        y + 11.0
    ));
    for at in 0..STEPS {
        let share = at as f64 / (STEPS - 1) as f64;
        svg.push_str(&format!(
            "<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"12\" \
             shape-rendering=\"crispEdges\" fill=\"{}\"/>",
            from + step * at as f64,
            step + 0.3,
            hex(colour(share))
        ));
    }
}

/// Returns the colour of a share from 0 to 1, interpolated between points of the viridis map. The
/// map runs from violet over green to yellow, and its brightness is perceptually uniform.
fn colour(share: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 6] = [
        [68.0, 1.0, 84.0],
        [65.0, 68.0, 135.0],
        [42.0, 120.0, 142.0],
        [34.0, 168.0, 132.0],
        [122.0, 209.0, 81.0],
        [253.0, 231.0, 37.0],
    ];
    if !share.is_finite() {
        return [136; 3];
    }
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let (below, rest) = ((at as usize).min(STOPS.len() - 2), at.fract());
    let rest = if at as usize > below { 1.0 } else { rest };
    [0, 1, 2].map(|i| (STOPS[below][i] * (1.0 - rest) + STOPS[below + 1][i] * rest).round() as u8)
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the class of text on a colour. The page's own text colour would not be readable on all
/// of them.
fn ink(ground: [u8; 3]) -> &'static str {
    // Chooses black or white, whichever has more contrast by the rule of WCAG 2.
    let light = luminance(ground);
    if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 { "on-dark" } else { "on-light" }
}

/// Returns the relative luminance of WCAG 2: 0 for black, 1 for white.
fn luminance(colour: [u8; 3]) -> f64 {
    let linear = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(values: Vec<Vec<f64>>) -> String {
        let names = |count: usize| (0..count).map(|at| at.to_string()).collect();
        let (rows, columns) = (names(values.len()), names(values[0].len()));
        let outlined = Some((0, 0));
        Heat { title: "t", columns: ("c", columns), rows: ("r", rows), values, outlined }.draw().0
    }

    #[test]
    fn nothing_to_draw_is_drawn_too() {
        let svg = heat(vec![vec![f64::NAN]]);
        assert!(svg.ends_with("</svg>") && !svg.contains(">NaN<"), "{svg}");
    }

    #[test]
    fn numbers_can_be_read_on_every_colour() {
        for step in 0..=1000 {
            let ground = colour(f64::from(step) / 1000.0);
            let light = luminance(ground);
            let contrast = match ink(ground) {
                "on-dark" => 1.05 / (light + 0.05),
                _ => (light + 0.05) / 0.05,
            };
            // 4.5 is the minimum contrast that WCAG 2 requires.
            assert!(contrast >= 4.5, "{ground:?}: {contrast}");
        }
        let svg = heat(vec![vec![0.0, 1.0]]);
        assert!(
            svg.contains("<text class=\"on-dark\"") && svg.contains("<text class=\"on-light\"")
        );
    }

    #[test]
    fn close_values_are_told_apart() {
        let svg = heat(vec![vec![0.751, 0.749]]);
        assert!(svg.contains(">0.751<") && svg.contains(">0.749<"), "{svg}");
        assert_eq!(svg.matches("class=\"outline").count(), 1);
    }
}

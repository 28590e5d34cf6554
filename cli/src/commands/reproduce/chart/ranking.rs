//! Rankings: the scores of many methods, one row each.

use super::{Axis, RIGHT, Scale, TOP, WIDTH, escape, open, short};

/// A row for each name, with a point for each of several scores.
pub struct Ranking {
    pub title: String,
    /// Label of the axis, which starts at 0.
    pub label: String,
    pub rows: Vec<String>,
    pub scores: Vec<Ranked>,
}

/// Scores of one kind for all rows.
pub struct Ranked {
    pub name: String,
    pub colour: String,
    /// Score of each row, and the value to compare it with.
    pub points: Vec<(Option<f64>, Option<f64>)>,
}

/// Width for the longest name, also in the larger letters of a phone.
const NAMES: f64 = 166.0;
const ROW: f64 = 25.0;
const BOTTOM: f64 = 42.0;

impl Ranking {
    /// Returns the drawing and its height.
    pub fn draw(&self) -> (String, f64) {
        let height = TOP + ROW * self.rows.len() as f64 + BOTTOM;
        let axis = Axis::new(&self.label);
        let values = self.scores.iter().flat_map(|score| &score.points);
        let values = values.flat_map(|(here, other)| [*here, *other]).flatten();
        let across = Scale::new(&axis, values.chain([0.0]), NAMES, WIDTH - RIGHT);
        let mut svg = String::new();
        open(&mut svg, &self.title, height);
        for tick in across.ticks() {
            let at = across.place(tick);
            svg.push_str(&format!(
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{:.1}\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                height - BOTTOM,
                height - BOTTOM + 16.0,
                short(tick)
            ));
        }
        for (row, name) in self.rows.iter().enumerate() {
            let y = TOP + ROW * (row as f64 + 0.5);
            svg.push_str(&format!(
                "<path class=\"grid\" d=\"M{NAMES} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                NAMES - 8.0,
                y + 4.0,
                escape(name)
            ));
        }
        for (at, score) in self.scores.iter().enumerate() {
            // Points are shifted slightly, so that equal scores do not hide each other.
            let shift = 6.0 * (at as f64 - (self.scores.len() - 1) as f64 / 2.0);
            self.draw_scores(&mut svg, score, &across, shift);
        }
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></svg>",
            (NAMES + WIDTH - RIGHT) / 2.0,
            height - 7.0,
            escape(&self.label)
        ));
        (svg, height)
    }

    fn draw_scores(&self, svg: &mut String, score: &Ranked, across: &Scale<'_>, shift: f64) {
        let (name, colour) = (escape(&score.name), &score.colour);
        svg.push_str(&format!("<g data-series=\"{name}\" style=\"color:{colour}\">"));
        for (row, (here, other)) in score.points.iter().enumerate() {
            let y = TOP + ROW * (row as f64 + 0.5) + shift;
            if let (Some(here), Some(other)) = (here, other) {
                let (from, to) = (across.place(*here), across.place(*other));
                svg.push_str(&format!("<path class=\"between\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>"));
            }
            for (value, class, what) in
                [(other, " class=\"hollow\"", ", in the paper"), (here, "", "")]
            {
                let Some(value) = value else { continue };
                svg.push_str(&format!(
                    "<circle{class} cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}, {name}{what}: \
                     {}</title></circle>",
                    across.place(*value),
                    self.rows.get(row).map_or(String::new(), |row| escape(row)),
                    short(*value)
                ));
            }
        }
        *svg += "</g>";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_score_is_a_point_within_the_frame() {
        let ranking = Ranking {
            title: "t".to_owned(),
            label: "mAP".to_owned(),
            rows: vec!["a".to_owned(), "b".to_owned()],
            scores: vec![Ranked {
                name: "set".to_owned(),
                colour: "#123456".to_owned(),
                points: vec![(Some(0.9), Some(0.7)), (Some(0.2), None)],
            }],
        };
        let (svg, _) = ranking.draw();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!((svg.matches("\"hollow\"").count(), svg.matches("\"between\"").count()), (1, 1));
        assert!(svg.contains("a, set, in the paper: 0.7"), "{svg}");
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((NAMES..=WIDTH - RIGHT).contains(&x), "{x}");
        }
        let empty = Ranking { rows: Vec::new(), scores: Vec::new(), ..ranking };
        assert!(empty.draw().0.ends_with("</svg>") && !empty.draw().0.contains("NaN"));
    }
}

//! Line charts over two axes, with bands.

use super::{Axis, BOTTOM, HEIGHT, LEFT, RIGHT, Scale, Series, TOP, WIDTH, escape, open, short};

fn axes(svg: &mut String, x: &Scale<'_>, y: &Scale<'_>) {
    for tick in y.ticks() {
        let at = y.place(tick);
        svg.push_str(&format!(
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            short(tick)
        ));
    }
    for tick in x.ticks() {
        let at = x.place(tick);
        svg.push_str(&format!(
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{:.1}\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 17.0,
            short(tick)
        ));
    }
    svg.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0,
        escape(&x.axis.label),
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(&y.axis.label)
    ));
}

/// Draws lines over two axes.
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
        svg.push_str(&format!("<g data-series=\"{name}\" style=\"color:{colour}\">"));
        if series.band.len() == series.points.len() && series.points.len() > 1 {
            let corner = |(point, value): (&(f64, f64), f64)| {
                format!("{:.1},{:.1}", across.place(point.0), up.place(value))
            };
            let low = series.points.iter().zip(series.band.iter().map(|band| band.0));
            let high = series.points.iter().zip(series.band.iter().map(|band| band.1)).rev();
            let outline: Vec<String> = low.chain(high).map(corner).collect();
            svg.push_str(&format!("<polygon class=\"band\" points=\"{}\"/>", outline.join(" ")));
        }
        let place = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", across.place(*x), up.place(*y));
        let points: Vec<String> = series.points.iter().map(place).collect();
        svg.push_str(&format!("<polyline points=\"{}\"/>", points.join(" ")));
        for (x, y) in &series.points {
            svg.push_str(&format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{name}: {} at {}</title></circle>",
                across.place(*x),
                up.place(*y),
                short(*y),
                short(*x)
            ));
        }
        svg += "</g>";
    }
    svg += "</svg>";
    svg
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
    }
}

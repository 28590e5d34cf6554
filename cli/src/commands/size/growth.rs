//! Growth of the time per item with the number of items.

use serde::Serialize;

/// Number of interpolation points.
const POINTS: usize = 4;

/// Seconds per operation on one core, as a function of the number of items.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Growth {
    /// Numbers of items, ascending, and the seconds at each.
    points: [(f64, f64); POINTS],
    /// Exponent of the power law beyond the last point.
    beyond: f64,
}

impl Growth {
    pub const fn new(points: [(f64, f64); POINTS], beyond: f64) -> Growth {
        Growth { points, beyond }
    }

    /// Returns a power law of the number of items, given the seconds at a million.
    pub fn power(at_million: f64, exponent: f64) -> Growth {
        let at = |items: f64| (items, at_million * (items / 1e6).powf(exponent));
        Growth::new([at(1e5), at(1e6), at(1e7), at(1e8)], exponent)
    }

    /// Returns the growth slowed down by a factor.
    pub fn times(self, factor: f64) -> Growth {
        Growth { points: self.points.map(|(items, seconds)| (items, factor * seconds)), ..self }
    }

    /// Returns the seconds at `items` items. Interpolates by powers between the points; below the
    /// first point it extrapolates from the first two.
    pub fn at(self, items: f64) -> f64 {
        let [.., last] = self.points;
        if items >= last.0 {
            return last.1 * (items / last.0).powf(self.beyond);
        }
        let below = self.points.partition_point(|point| point.0 <= items).clamp(1, POINTS - 1);
        let (low, high) = (self.points[below - 1], self.points[below]);
        let exponent = (high.1 / low.1).ln() / (high.0 / low.0).ln();
        low.1 * (items / low.0).powf(exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_goes_through_its_points_and_on() {
        let growth = Growth::new([(1e6, 1.0), (1e8, 10.0), (1e9, 20.0), (2e9, 20.0)], 1.0);
        let root = 10f64.sqrt();
        for (items, expected) in [
            (1e4, 0.1),
            (1e6, 1.0),
            (1e7, root),
            (1e8, 10.0),
            (1e9, 20.0),
            (1.5e9, 20.0),
            (6e9, 60.0),
        ] {
            let found = growth.at(items);
            assert!((found / expected - 1.0).abs() < 1e-9, "{items}: {found}");
        }
        assert!((growth.times(3.0).at(1e7) / growth.at(1e7) - 3.0).abs() < 1e-9);
        let power = Growth::power(2.0, 0.5);
        assert!((power.at(4e9) / power.at(1e9) - 2.0).abs() < 1e-9);
        assert!((power.at(1e6) - 2.0).abs() < 1e-9);
    }
}

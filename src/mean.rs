//! [`Mean`] and [`Spread`]: the mean and the deviations of the vectors of a stream.

use crate::{Features, Result};

/// Mean of vectors that arrive in pieces. The result does not depend on how the vectors are divided
/// into pieces.
#[derive(Clone, Debug)]
pub struct Mean {
    sums: Vec<f64>,
    rows: u64,
}

impl Mean {
    /// Starts with no vectors; their dimension is `dim`.
    pub fn new(dim: usize) -> Self {
        Mean { sums: vec![0.0; dim], rows: 0 }
    }

    /// Adds vectors.
    ///
    /// # Errors
    /// When the vectors have another dimension.
    pub fn add(&mut self, features: Features<'_>) -> Result<()> {
        features.expect_dim(self.sums.len())?;
        for row in features.values().chunks_exact(self.sums.len()) {
            self.sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        self.rows += features.len() as u64;
        Ok(())
    }

    /// Returns the mean of the vectors added so far; zeros if there are none.
    pub fn value(&self) -> Vec<f32> {
        let rows = self.rows.max(1) as f64;
        self.sums.iter().map(|sum| (sum / rows) as f32).collect()
    }
}

/// Standard deviations of the columns of a stream that arrives in pieces. The result does not
/// depend on how the rows are divided into pieces.
#[derive(Clone, Debug)]
pub struct Spread {
    rows: u64,
    means: Vec<f64>,
    /// Sum of the squared differences from the mean for each column.
    squares: Vec<f64>,
}

impl Spread {
    /// Starts with no vectors; their dimension is `dim`.
    pub fn new(dim: usize) -> Self {
        Spread { rows: 0, means: vec![0.0; dim], squares: vec![0.0; dim] }
    }

    /// Adds vectors.
    ///
    /// # Errors
    /// When the vectors have another dimension.
    pub fn add(&mut self, features: Features<'_>) -> Result<()> {
        features.expect_dim(self.means.len())?;
        for row in features.values().chunks_exact(self.means.len()) {
            self.rows += 1;
            let share = 1.0 / self.rows as f64;
            for ((mean, square), &value) in self.means.iter_mut().zip(&mut self.squares).zip(row) {
                // Welford's algorithm, in which large means do not cancel small deviations.
                let before = f64::from(value) - *mean;
                *mean += before * share;
                *square += before * (f64::from(value) - *mean);
            }
        }
        Ok(())
    }

    /// Returns the standard deviation of each column: the square root of the mean squared
    /// difference from the column's mean. The result is 0 for a column that is constant up to the
    /// rounding of its numbers.
    pub fn deviations(&self) -> Vec<f64> {
        let rows = self.rows.max(1) as f64;
        let deviation = |(square, mean): (&f64, &f64)| {
            let deviation = (square / rows).sqrt();
            let rounding = mean.abs() * f64::from(f32::EPSILON);
            if deviation > rounding.max(f64::from(f32::MIN_POSITIVE)) { deviation } else { 0.0 }
        };
        self.squares.iter().zip(&self.means).map(deviation).collect()
    }

    /// Returns the factors that give columns a deviation of 1; 0 for constant columns.
    pub(crate) fn factors(&self) -> Vec<f32> {
        let factor = |deviation: f64| if deviation > 0.0 { (1.0 / deviation) as f32 } else { 0.0 };
        self.deviations().into_iter().map(factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_of(dim: usize, values: &[f32], cut: usize) -> Spread {
        let mut spread = Spread::new(dim);
        for piece in values.chunks(cut * dim) {
            spread.add(Features::new(piece, dim).unwrap()).unwrap();
        }
        spread
    }

    #[test]
    fn deviations_are_those_of_two_passes_however_the_rows_are_cut() {
        let values: Vec<f32> =
            (0..300).map(|at| 1e4 * (at % 3) as f32 + ((at * at) % 97) as f32).collect();
        let deviations = spread_of(3, &values, 100).deviations();
        for (column, deviation) in deviations.iter().enumerate() {
            let column = || values.iter().skip(column).step_by(3).map(|&v| f64::from(v));
            let mean = column().sum::<f64>() / 100.0;
            let squares = column().map(|v| (v - mean).powi(2)).sum::<f64>();
            assert!((deviation - (squares / 100.0).sqrt()).abs() < 1e-9 * deviation);
        }
        assert_eq!(spread_of(3, &values, 7).deviations(), deviations);
    }

    #[test]
    fn factors_are_finite_and_leave_out_what_is_constant() {
        // One column of each kind: constant; constant up to rounding; tiny; huge; ordinary.
        let rows = |sign: f32| [0.1, 1e6 + sign * 0.06, sign * 1e-42, sign * 3e38, sign * 2.0];
        let values: Vec<f32> = (0..10).flat_map(|at| rows([1.0, -1.0][at % 2])).collect();
        let factors = spread_of(5, &values, 10).factors();
        assert_eq!(factors[..3], [0.0; 3]);
        assert!(factors[3] > 0.0 && factors[3] < 1e-38);
        assert_eq!(factors[4], 0.5);
        assert_eq!(Spread::new(2).factors(), [0.0, 0.0]);
    }
}

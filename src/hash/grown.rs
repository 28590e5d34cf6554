//! Adding anchors to lifts.

use super::compact::Compact;
use super::lift::{Lift, Lifter};
use crate::linalg::product;
use crate::{Features, Mean, Result};

impl Lift {
    /// Returns the lift with the rows of `more` as additional anchors, and for each of them the
    /// mean similarity to `rows`, which the caller subtracts. A compact lift subtracts the means
    /// itself, so no means are returned.
    pub(crate) fn with_anchors(
        &self,
        more: Features<'_>,
        rows: Features<'_>,
    ) -> Result<(Lift, Vec<f32>)> {
        let dim = more.dim();
        let center = |lift: Lift| -> Result<Vec<f32>> {
            let lifter = Lifter::new(lift, dim)?;
            let mut mean = Mean::new(lifter.width());
            mean.add(Features::new(&lifter.lift_rows(rows.values()), lifter.width())?)?;
            Ok(mean.value())
        };
        Ok(match self {
            Lift::Identity => (Lift::Identity, Vec::new()),
            Lift::Rbf { anchors, gamma } => {
                let center = center(Lift::Rbf { anchors: more.values().to_vec(), gamma: *gamma })?;
                let anchors = [anchors, more.values()].concat();
                (Lift::Rbf { anchors, gamma: *gamma }, center)
            }
            Lift::Compact(compact) => {
                let directions = compact.directions.clone();
                let added = Compact::new(more.values(), directions, dim, compact.gamma)?;
                let center = center(Lift::Compact(added.clone()))?;
                let added = added.centered(&center);
                let all = Compact {
                    directions: added.directions,
                    anchors: [&compact.anchors[..], &added.anchors].concat(),
                    steps: [&compact.steps[..], &added.steps].concat(),
                    squared_norms: [&compact.squared_norms[..], &added.squared_norms].concat(),
                    center: [&compact.center[..], &added.center].concat(),
                    gamma: compact.gamma,
                };
                (Lift::Compact(all), Vec::new())
            }
        })
    }

    /// Returns whether `other` is this lift, possibly with additional anchors.
    pub(crate) fn begins(&self, other: &Lift) -> bool {
        match (self, other) {
            (Lift::Rbf { anchors: a, gamma: g }, Lift::Rbf { anchors: b, gamma: h }) => {
                g == h && b.starts_with(a)
            }
            (Lift::Compact(a), Lift::Compact(b)) => {
                a.gamma == b.gamma
                    && a.directions == b.directions
                    && b.anchors.starts_with(&a.anchors)
                    && b.steps.starts_with(&a.steps)
                    && b.squared_norms.starts_with(&a.squared_norms)
                    && b.center.starts_with(&a.center)
            }
            (a, b) => a == b,
        }
    }

    /// Returns the similarities between the chosen anchors, row-major, before centring. Returns
    /// nothing for a lift without anchors.
    pub(crate) fn between_anchors(&self, dim: usize, chosen: &[usize]) -> Vec<f64> {
        let (rows, squared_norms, gamma): (Vec<f64>, Vec<f64>, f32) = match self {
            Lift::Identity => return Vec::new(),
            Lift::Rbf { anchors, gamma } => {
                let row = |&at: &usize| &anchors[at * dim..(at + 1) * dim];
                let rows: Vec<f64> = chosen.iter().flat_map(row).map(|&v| f64::from(v)).collect();
                let norm = |anchor: &[f64]| anchor.iter().map(|v| v * v).sum();
                let norms = rows.chunks_exact(dim).map(norm).collect();
                (rows, norms, *gamma)
            }
            Lift::Compact(compact) => {
                let depth = compact.anchors.len() / compact.steps.len();
                let row = |&at: &usize| {
                    let anchor = compact.anchors[at * depth..(at + 1) * depth].iter();
                    let step = f64::from(compact.steps[at]);
                    anchor.map(move |&value| f64::from(value) * step)
                };
                let norm = |&at: &usize| f64::from(compact.squared_norms[at]);
                let rows = chosen.iter().flat_map(row).collect();
                (rows, chosen.iter().map(norm).collect(), compact.gamma)
            }
        };
        let (count, depth) = (squared_norms.len(), rows.len() / squared_norms.len());
        let mut transposed = vec![0.0; rows.len()];
        for (at, row) in rows.chunks_exact(depth).enumerate() {
            row.iter().enumerate().for_each(|(j, value)| transposed[j * count + at] = *value);
        }
        let mut between = product(&rows, depth, &transposed, count);
        for (row, norm) in between.chunks_exact_mut(count).zip(&squared_norms) {
            for (value, other) in row.iter_mut().zip(&squared_norms) {
                *value = (-f64::from(gamma) * (norm + other - 2.0 * *value).max(0.0)).exp();
            }
        }
        between
    }
}

//! Discriminant bits: bits along directions in which labels differ most, relative to the
//! differences within a label.
//!
//! `B` is the scatter between the means of labels, `W` the covariance within labels. Both come from
//! exact sums of the original vectors. The directions are the leading eigenvectors of `B` after `W`
//! is whitened: linear discriminant analysis (R. A. Fisher, 1936; C. R. Rao, 1948). Each direction
//! is weighted by how much it separates labels beyond chance. A rotation as in
//! [`itq`](crate::learners::itq) then makes bits of the directions. The means of labels with few
//! rows scatter by chance; this scatter is subtracted.

use super::learned::{MAX_PLAIN, Plain};
use super::sums::{Class, Sums};
use crate::learners::directions::Directions;
use crate::linalg::{Positive, eigen_of_symmetric, product, symmetric_eigen, transposed_product};
use crate::memory::{NoRoom, expect_room};

/// Value added to each variance within labels, as a share of their mean.
const SHRINKAGE: f64 = 0.05;

/// Number of labels whose means are in memory at the same time. At least the largest number of
/// dimensions.
const AT_ONCE: usize = 2048;
const _: () = assert!(AT_ONCE >= MAX_PLAIN);

/// Returns at most `most` directions; `None` if labels do not differ beyond chance.
pub(super) fn directions(
    sums: &Sums,
    classes: &[Class<'_>],
    plain: &Plain,
    most: usize,
) -> Result<Option<Directions>, NoRoom> {
    let (rows, dim, total) = (sums.rows(), sums.width(), sums.total());
    let steps: Vec<f64> = plain.embedding.steps().iter().map(|&step| f64::from(step)).collect();
    // A row with several labels counts in equal parts for them.
    let labels_per_row = sums.labels_per_row();
    let labels = classes.len();
    if labels == 0 {
        return Ok(None);
    }
    expect_room(3 * labels.min(AT_ONCE) * dim + 4 * dim * dim)?;
    let mut means = Vec::new();
    let mut between = vec![0.0; dim * dim];
    for classes in classes.chunks(AT_ONCE) {
        means.clear();
        for class in classes {
            let root = (class.rows / labels_per_row).sqrt() / class.rows;
            let share = class.rows / rows;
            let centred = class.sum().zip(total).zip(&steps);
            means.extend(centred.map(|((sum, total), step)| root * step * (sum - share * total)));
        }
        let part = transposed_product(&means, dim, &means, dim);
        between.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    let free = rows - labels as f64 / labels_per_row;
    if free < 1.0 {
        return Ok(None);
    }
    let within = |i: usize, j: usize| {
        let scatter = (sums.gram().row(i)[j] - total[i] * total[j] / rows) * steps[i] * steps[j];
        (scatter - between[i * dim + j]) / free
    };
    let mean_variance = (0..dim).map(|i| within(i, i)).sum::<f64>() / dim as f64;
    if !(mean_variance > 0.0 && mean_variance.is_finite()) {
        return Ok(None);
    }
    let shrunk =
        |i: usize, j: usize| within(i, j) + if i == j { SHRINKAGE * mean_variance } else { 0.0 };
    let Some(factor) = Positive::factor(dim, shrunk)? else { return Ok(None) };
    // Eigenvectors of the whitened B, computed from the labels x labels matrix if it is smaller,
    // else directly.
    let (values, vectors) = if labels < dim {
        let whitened = factor.solve_lower(&transposed(&means, dim), labels)?;
        let Some((values, vectors)) = symmetric_eigen(&transposed(&whitened, labels), dim)? else {
            return Ok(None);
        };
        let scaled: Vec<f64> = (0..labels)
            .flat_map(|label| values.iter().enumerate().map(move |at| (label, at)))
            .map(|(label, (at, value))| vectors[(label, at)] / value.max(f64::MIN_POSITIVE).sqrt())
            .collect();
        (values, product(&whitened, labels, &scaled, labels))
    } else {
        let half = factor.solve_lower(&between, dim)?;
        let whitened = factor.solve_lower(&transposed(&half, dim), dim)?;
        let Some((values, vectors)) = eigen_of_symmetric(&whitened)? else { return Ok(None) };
        let places = (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j)));
        (values, places.map(|at| vectors[at]).collect())
    };
    let of_all = values.len();
    let chance = labels as f64 / (labels_per_row * rows);
    let least = 1e-9 * values.first().copied().unwrap_or(0.0) / rows;
    let beyond: Vec<f64> = values.iter().map(|value| value / rows - chance).collect();
    let count = beyond.iter().take(most).take_while(|&&e| e > least && e > 0.0).count();
    if count == 0 {
        return Ok(None);
    }
    let weighed: Vec<f64> = vectors
        .chunks_exact(of_all)
        .flat_map(|row| {
            row.iter().zip(&beyond).take(count).map(|(v, e)| v * (e / (1.0 + e)).sqrt())
        })
        .collect();
    let axes = factor.solve_upper(&weighed, count)?;
    let mean: Vec<f32> =
        total.iter().zip(&steps).map(|(total, step)| (total * step / rows) as f32).collect();
    match axes.iter().all(|value| value.is_finite()) {
        true => Ok(Some(Directions::along_axes(mean, axes, &plain.first))),
        false => Ok(None),
    }
}

fn transposed(matrix: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| matrix[column..].iter().step_by(columns)).copied().collect()
}

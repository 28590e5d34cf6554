//! Detail bits: the last bits of a code, which keep what is near by the vectors themselves.
//!
//! They come from the warm-up alone: the signs of its first principal directions, evened out and turned
//! so that least is lost. So they do not move as the stream goes on, and add nothing to the sums.

use super::params::{Params, StartFrom};
use crate::learners::directions::{Directions, Projection};
use crate::memory::NoRoom;
use crate::{Features, HashParts, Lift};

/// How many times signs and rotation are improved in turn.
const ITERATIONS: usize = 50;

/// How far the directions are evened out: halfway to where all count the same.
const EVENED: f64 = 0.25;

/// The smallest and the largest share of bits that is given to detail without being asked for.
const LEAST: f64 = 1.0 / 32.0;
const MOST: f64 = 1.0 / 4.0;

/// How many label bits come before detail gets more than the least, times the root of the number of
/// classes; and what part of the bits beyond those is for detail.
const LABEL_BITS: f64 = 5.0;
const OF_OTHERS: f64 = 1.0 / 3.0;

/// The directions that detail bits can be made of, if any may be wanted.
pub(super) fn directions(
    params: &Params,
    bits: usize,
    first: Features<'_>,
) -> Result<Option<Directions>, NoRoom> {
    let most = count(bits, params.detail.or(|| MOST));
    if most == 0 || first.is_empty() {
        return Ok(None);
    }
    Directions::of(first, most).map(Some)
}

/// How many of the bits tell labels, where `classes` are told apart, with rare ones counting less.
pub(super) fn label_bits(params: &Params, bits: usize, classes: f64) -> usize {
    let others = || 1.0 - LABEL_BITS * classes.sqrt() / bits as f64;
    bits - count(bits, params.detail.or(|| (OF_OTHERS * others()).clamp(LEAST, MOST)))
}

/// A share of the bits, of which one at least tells labels.
fn count(bits: usize, share: f64) -> usize {
    ((bits as f64 * share).floor() as usize).min(bits - 1)
}

/// What the detail bits are the signs of.
pub(super) fn projection(
    params: &Params,
    directions: &Directions,
    bits: usize,
    seed: u64,
) -> Projection {
    if params.start == StartFrom::Seeded {
        return directions.rotated(bits, EVENED, ITERATIONS, seed);
    }
    // Those of all directions, so that bits stay what they are when there are fewer of them.
    let all = directions.count().max(bits);
    let turned = directions.rotated(all, EVENED, ITERATIONS, seed);
    let last = |values: &[f32]| -> Vec<f32> {
        values.chunks_exact(all).flat_map(|row| &row[all - bits..]).copied().collect()
    };
    Projection { weights: last(&turned.weights), offset: last(&turned.offset) }
}

/// A function from the weights and offsets of its label bits, and of its detail bits.
pub(super) fn parts(
    (dim, bits, label_bits): (usize, usize, usize),
    lift: Lift,
    (weights, offset): (&[f32], &[f32]),
    detail: Option<&Projection>,
) -> HashParts {
    let detail_bits = bits - label_bits;
    // Rows of both kinds of bits, where one of them may have none.
    let side_by_side = |label: &[f32], detail: &[f32]| -> Vec<f32> {
        let rows =
            (label.len() / label_bits).max(detail.len().checked_div(detail_bits).unwrap_or(0));
        let part = |values: &[f32], width: usize, row: usize| -> Vec<f32> {
            let zeros = || vec![0.0; width];
            values.get(row * width..(row + 1) * width).map_or_else(zeros, <[f32]>::to_vec)
        };
        let row = |row| [part(label, label_bits, row), part(detail, detail_bits, row)].concat();
        (0..rows).flat_map(row).collect()
    };
    let none = Projection { weights: Vec::new(), offset: Vec::new() };
    let detail = detail.unwrap_or(&none);
    let offset = Some(side_by_side(offset, &detail.offset));
    // What is not lifted is one projection; else there are two.
    let (weights, linear_weights) = match lift {
        Lift::Identity => (side_by_side(weights, &detail.weights), None),
        _ if detail_bits == 0 => (weights.to_vec(), None),
        _ => (side_by_side(weights, &[]), Some(side_by_side(&[], &detail.weights))),
    };
    HashParts { lift, offset, linear_weights, label_bits, ..HashParts::linear(dim, bits, weights) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::brook::Choice;

    #[test]
    fn few_classes_leave_bits_for_detail_and_many_hardly_any() {
        let auto = Params::default();
        let detail = |bits: usize, classes: f64| bits - label_bits(&auto, bits, classes);
        assert_eq!(detail(64, 10.0), 16);
        assert_eq!(detail(64, 202.0), 2);
        assert_eq!(detail(128, 202.0), 18);
        assert_eq!(detail(128, 10.0), 32);
        assert_eq!(detail(32, 10.0), 5);
        assert_eq!(detail(8, 10.0), 0);
        assert_eq!(detail(1, 1.0), 0);
        let fixed = |share: f64| Params { detail: Choice::Fixed(share), ..Params::default() };
        assert_eq!(label_bits(&fixed(0.0), 64, 10.0), 64);
        assert_eq!(label_bits(&fixed(0.5), 64, 1000.0), 32);
        assert_eq!(label_bits(&fixed(1.0), 64, 10.0), 1, "some bit tells labels");
    }
}

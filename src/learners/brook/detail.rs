//! Detail bits: the last bits of a code, which preserve similarity of the vectors themselves.
//!
//! Detail bits come from the warm-up alone. They are the signs along its first principal
//! directions, which are partly whitened and rotated to minimize the loss from taking signs. Detail
//! bits therefore do not change as the stream continues, and add nothing to the sums.

use super::params::{Params, StartFrom};
use crate::learners::directions::{Directions, Projection};
use crate::memory::NoRoom;
use crate::{Features, HashParts, Lift};

/// Number of alternating updates of signs and rotation.
const ITERATIONS: usize = 50;

/// Exponent of the whitening: halfway to equal weights of all directions.
const EVENED: f64 = 0.25;

/// Bounds on the share of detail bits, if it is chosen automatically.
const LEAST: f64 = 1.0 / 32.0;
const MOST: f64 = 1.0 / 4.0;

/// Rule for the automatic share. `LABEL_BITS`, times the root of the number of classes, is the
/// number of label bits from which detail bits get more than the least share. `OF_OTHERS` is the
/// share of detail bits among the bits beyond this number.
const LABEL_BITS: f64 = 5.0;
const OF_OTHERS: f64 = 1.0 / 3.0;

/// Returns the directions for detail bits, or `None` if no detail bits can be needed.
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

/// Returns the number of label bits for `classes` classes, of which rare ones count less.
pub(super) fn label_bits(params: &Params, bits: usize, classes: f64) -> usize {
    let others = || 1.0 - LABEL_BITS * classes.sqrt() / bits as f64;
    bits - count(bits, params.detail.or(|| (OF_OTHERS * others()).clamp(LEAST, MOST)))
}

/// Returns the number of bits of this share, leaving at least one label bit.
fn count(bits: usize, share: f64) -> usize {
    ((bits as f64 * share).floor() as usize).min(bits - 1)
}

/// Returns the projection whose signs are the detail bits.
pub(super) fn projection(
    params: &Params,
    directions: &Directions,
    bits: usize,
    seed: u64,
) -> Projection {
    if params.start == StartFrom::Seeded {
        return directions.rotated(bits, EVENED, ITERATIONS, seed);
    }
    // All directions are rotated, so that the remaining bits stay the same if bits are removed.
    let all = directions.count().max(bits);
    let turned = directions.rotated(all, EVENED, ITERATIONS, seed);
    let last = |values: &[f32]| -> Vec<f32> {
        values.chunks_exact(all).flat_map(|row| &row[all - bits..]).copied().collect()
    };
    Projection { weights: last(&turned.weights), offset: last(&turned.offset) }
}

/// Returns the parts of a function from the weights and offsets of its label bits and detail bits.
pub(super) fn parts(
    (dim, bits, label_bits): (usize, usize, usize),
    lift: Lift,
    (weights, offset): (&[f32], &[f32]),
    detail: Option<&Projection>,
) -> HashParts {
    let detail_bits = bits - label_bits;
    // Rows with the columns of both kinds of bits. Either kind may have no rows.
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
    // Without a lift, one projection suffices; with a lift there are two.
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

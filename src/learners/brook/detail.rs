//! Detail bits: the last bits of a code keep what is near by the vectors themselves.

use super::Params;
use crate::learners::directions::{Directions, Projection};
use crate::memory::NoRoom;
use crate::{Features, HashParts, Lift};

/// How many times signs and rotation of the detail bits are improved in turn.
const ITERATIONS: usize = 50;

/// The largest share of bits that is given to detail without being asked for.
const MOST: f64 = 0.25;

/// How many label bits it takes to tell twice as many classes apart, before detail gets any.
const BITS_PER_DOUBLING: f64 = 14.0;

/// The directions that detail bits can be made of, if any may be wanted.
pub(super) fn directions(
    params: &Params,
    bits: usize,
    seed: u64,
    first: Features<'_>,
) -> Result<Option<Directions>, NoRoom> {
    let share = params.detail.or(|| MOST);
    let most = (bits as f64 * if params.blend > 0.0 { 1.0 } else { share }).ceil() as usize;
    if most == 0 || first.is_empty() {
        return Ok(None);
    }
    Directions::of(first, most, seed).map(Some)
}

/// How many of the bits tell labels, where `classes` are told apart, with rare ones counting less.
pub(super) fn label_bits(params: &Params, bits: usize, classes: f64) -> usize {
    let rule = || {
        let needed = BITS_PER_DOUBLING * classes.max(1.0).log2();
        (1.0 - needed / bits as f64).clamp(0.0, MOST)
    };
    let detail = (bits as f64 * params.detail.or(rule)).round() as usize;
    (bits - detail.min(bits)).max(1)
}

/// What is projected linearly, beside the lift: the detail bits, and what label bits are blended with.
pub(super) fn projection(
    params: &Params,
    directions: Option<&Directions>,
    bits: usize,
    label_bits: usize,
    seed: u64,
) -> Option<Projection> {
    let directions = directions.filter(|_| label_bits < bits || params.blend > 0.0)?;
    let detail = directions.rotated(bits - label_bits, ITERATIONS, seed);
    let mut blend = match params.blend > 0.0 {
        true => directions.rotated(label_bits, ITERATIONS, seed),
        false => Projection {
            weights: vec![0.0; directions.dim() * label_bits],
            offset: vec![0.0; label_bits],
        },
    };
    let all = blend.weights.iter_mut().chain(&mut blend.offset);
    all.for_each(|value| *value *= params.blend as f32);
    let join = |label: &[f32], detail: &[f32]| -> Vec<f32> {
        match bits - label_bits {
            0 => label.to_vec(),
            size => {
                let rows = label.chunks_exact(label_bits).zip(detail.chunks_exact(size));
                rows.flat_map(|(label, detail)| label.iter().chain(detail).copied()).collect()
            }
        }
    };
    Some(Projection {
        weights: join(&blend.weights, &detail.weights),
        offset: join(&blend.offset, &detail.offset),
    })
}

/// A function from the weights and offsets of label bits, and what is projected linearly.
pub(super) fn parts(
    (dim, bits, label_bits): (usize, usize, usize),
    lift: Lift,
    (weights, offset): (&[f32], &[f32]),
    linear: Option<&Projection>,
) -> HashParts {
    let widened = |values: &[f32]| -> Vec<f32> {
        let padding = std::iter::repeat_n(0.0, bits - label_bits);
        let row = |row: &[f32]| row.iter().copied().chain(padding.clone()).collect::<Vec<_>>();
        values.chunks_exact(label_bits).flat_map(row).collect()
    };
    let (mut weights, mut offset) = (widened(weights), widened(offset));
    let add = |sum: &mut [f32], values: &[f32]| {
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    };
    let mut linear_weights = None;
    if let Some(linear) = linear {
        add(&mut offset, &linear.offset);
        match lift {
            Lift::Identity => add(&mut weights, &linear.weights),
            _ => linear_weights = Some(linear.weights.clone()),
        }
    }
    HashParts {
        lift,
        offset: Some(offset),
        linear_weights,
        label_bits,
        ..HashParts::linear(dim, bits, weights)
    }
}

//! [`Compact`]: similarity to anchors in integer arithmetic, in a fraction of the time.
//!
//! A vector is projected onto the directions of largest variance, and rounded to integers from -127
//! to 127; each vector has its own step size. The anchors are projected and rounded in the same
//! way. The products of vectors and anchors are exact on all instruction sets. Lengths are those of
//! the full vectors: the components of two vectors outside the directions are assumed to be
//! orthogonal, as they are on average. Similarities are rounded to 2048 steps, and each bit's
//! weights to 2047 steps of the bit's largest weight, so the second product uses integers, too.
//!
//! # How is the lift fast?
//!
//! A vector is projected onto 128 or 256 directions if these hold 93 % of the warm-up rows' squared
//! length (`learners/subspace.rs`), and rounded to 127 steps of its largest number; so are the
//! anchors. `kernel/whole/` multiplies them: bytes with AVX-512 VNNI, pairs of 16-bit numbers
//! elsewhere. All variants are exact, so the results agree. Similarities are rounded to 1/2048, the
//! same integers that brook sums. The second product uses integers as well. `HashParts` stores the
//! weights as they were solved; they are rounded when the function is built.

use serde::{Deserialize, Serialize};

use super::rows::{LiftScratch, ROWS_AT_ONCE, check_gamma};
use crate::kernel::{
    LARGEST, LARGEST_BYTE, Panels, Similarities, WholePanels, nearest, round_row, squared_norm,
    whole_similarities,
};
use crate::tensors::Tensors;
use crate::{Error, Features, Result};

/// Number of steps in a similarity of 1.
pub(super) const UNIT: f32 = LARGEST as f32 + 1.0;

/// Similarity to anchors, `exp(-gamma ||x - a||^2) - center`, in integer arithmetic.
///
/// Like all functions, a function with this lift gives the same codes on every machine. The weights
/// of each bit are rounded to 2047 steps of the bit's largest weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Compact {
    /// Directions onto which vectors and anchors are projected, row-major, with the dimension of
    /// the vectors. If there are no directions, vectors are not projected.
    #[serde(skip)]
    pub directions: Vec<f32>,
    /// Anchors, row-major: an integer from -127 to 127 for each direction, or for each dimension if
    /// there are no directions.
    #[serde(skip)]
    pub anchors: Vec<i8>,
    /// Value of the integer 1 in each anchor.
    #[serde(skip)]
    pub steps: Vec<f32>,
    /// Squared length of each anchor before projection.
    #[serde(skip)]
    pub squared_norms: Vec<f32>,
    /// Value subtracted from the similarity to each anchor: a multiple of 1/2048 from 0 to below 1.
    #[serde(skip)]
    pub center: Vec<f32>,
    /// Rate at which similarity falls with squared distance.
    pub gamma: f32,
}

impl Compact {
    /// Builds a lift from anchors as in [`Lift::Rbf`](super::Lift::Rbf), and orthogonal directions
    /// of unit length (or none). Nothing is subtracted from the similarities.
    ///
    /// # Errors
    /// When anchors or directions are not rows of `dim` finite numbers each, there is no anchor, or
    /// gamma is not above 0.
    pub fn new(anchors: &[f32], directions: Vec<f32>, dim: usize, gamma: f32) -> Result<Self> {
        Features::new(anchors, dim)?;
        Features::new(&directions, dim)?;
        let projection = Projection::new(&directions, dim);
        let count = anchors.len() / dim;
        let mut compact = Compact {
            squared_norms: anchors.chunks_exact(dim).map(|a| squared_norm(a) as f32).collect(),
            center: vec![0.0; count],
            steps: Vec::with_capacity(count),
            anchors: Vec::new(),
            directions,
            gamma,
        };
        let (mut reduced, mut whole) = (Vec::new(), Vec::new());
        for anchor in anchors.chunks_exact(dim) {
            whole.clear();
            let anchor = projection.apply(anchor, dim, &mut reduced);
            compact.steps.push(round_row(anchor, &mut whole));
            compact.anchors.extend(whole.iter().map(|&value| value as i8));
        }
        compact.check(dim)?;
        Ok(compact)
    }

    /// Returns the same lift, subtracting these values, rounded, from the similarities.
    pub fn centered(self, center: &[f32]) -> Self {
        let rounded = |value: &f32| f32::from(nearest(value * UNIT).clamp(0, LARGEST)) / UNIT;
        Compact { center: center.iter().map(rounded).collect(), ..self }
    }

    pub(super) fn width(&self) -> usize {
        self.steps.len()
    }

    /// Returns the number of integers in an anchor.
    fn depth(&self, dim: usize) -> usize {
        if self.directions.is_empty() { dim } else { self.directions.len() / dim.max(1) }
    }

    pub(super) fn check(&self, dim: usize) -> Result<()> {
        let Compact { directions, anchors, steps, squared_norms, center, .. } = self;
        check_gamma(self.gamma)?;
        Features::new(directions, dim)?;
        let (count, depth) = (self.width(), self.depth(dim));
        if count == 0 {
            return Err(Error::parameter("anchors", "at least one", 0));
        }
        if Some(anchors.len()) != count.checked_mul(depth) {
            return Err(Error::Shape { values: anchors.len(), dim: depth });
        }
        if anchors.contains(&i8::MIN) {
            let expected = format!("from -{LARGEST_BYTE} to {LARGEST_BYTE}");
            return Err(Error::parameter("anchors", expected, i8::MIN));
        }
        for values in [steps, squared_norms, center] {
            if values.len() != count {
                return Err(Error::Shape { values: values.len(), dim: count });
            }
            Features::new(values, count)?;
        }
        for (name, values) in [("steps", steps), ("squared_norms", squared_norms)] {
            if let Some(value) = values.iter().find(|value| **value < 0.0) {
                return Err(Error::parameter(name, "not below 0", value));
            }
        }
        let whole = |value: f32| (0.0..1.0).contains(&value) && (value * UNIT).fract() == 0.0;
        match center.iter().find(|value| !whole(**value)) {
            Some(value) => {
                Err(Error::parameter("center", "multiples of 1/2048 from 0 to below 1", value))
            }
            None => Ok(()),
        }
    }

    pub(super) fn put_arrays(&self, prefix: &str, dim: usize, arrays: &mut Tensors) {
        let name = |name: &str| format!("{prefix}compact.{name}");
        let count = self.width();
        arrays.put(&name("directions"), dim, &self.directions);
        arrays.put(&name("anchors"), self.depth(dim), &self.anchors);
        arrays.put(&name("steps"), count, &self.steps);
        arrays.put(&name("squared_norms"), count, &self.squared_norms);
        arrays.put(&name("center"), count, &self.center);
    }

    /// Returns whether the arrays contain a compact lift.
    pub(super) fn is_in(prefix: &str, arrays: &Tensors) -> bool {
        arrays.contains(&format!("{prefix}compact.anchors"))
    }

    pub(super) fn take_arrays(
        &mut self,
        prefix: &str,
        dim: usize,
        arrays: &mut Tensors,
    ) -> std::result::Result<(), String> {
        let name = |name: &str| format!("{prefix}compact.{name}");
        self.directions = arrays.take(&name("directions"), dim)?;
        let depth = self.depth(dim);
        self.anchors = arrays.take(&name("anchors"), depth)?;
        let count = self.anchors.len().checked_div(depth).unwrap_or(0);
        self.steps = arrays.take_rows(&name("steps"), 1, count)?;
        self.squared_norms = arrays.take_rows(&name("squared_norms"), 1, count)?;
        self.center = arrays.take_rows(&name("center"), 1, count)?;
        Ok(())
    }
}

/// Projection onto the directions, if any.
#[derive(Clone, Debug)]
struct Projection(Option<(Panels, usize)>);

impl Projection {
    fn new(directions: &[f32], dim: usize) -> Self {
        let count = directions.len() / dim;
        Projection((count > 0).then(|| (Panels::pack_transposed(directions, dim), count)))
    }

    /// Returns the projected rows, or the rows themselves without directions.
    fn apply<'a>(&self, rows: &'a [f32], dim: usize, out: &'a mut Vec<f32>) -> &'a [f32] {
        let Some((panels, count)) = &self.0 else { return rows };
        let (width, count) = (panels.width(), *count);
        out.resize(rows.len() / dim * width, 0.0);
        panels.multiply(rows, out);
        if width != count {
            // Remove the padding of the panels.
            for row in 1..rows.len() / dim {
                out.copy_within(row * width..row * width + count, row * count);
            }
            out.truncate(rows.len() / dim * count);
        }
        out
    }
}

/// Compact lift packed for matrix products.
#[derive(Clone, Debug)]
pub(crate) struct CompactPanels {
    projection: Projection,
    depth: usize,
    anchors: WholePanels,
    steps: Vec<f32>,
    squared_norms: Vec<f32>,
    center: Vec<i16>,
    gamma: f32,
}

impl CompactPanels {
    /// Packs a lift that was checked before.
    pub(super) fn new(compact: &Compact, dim: usize) -> Self {
        let depth = compact.depth(dim);
        CompactPanels {
            projection: Projection::new(&compact.directions, dim),
            depth,
            anchors: WholePanels::pack_bytes(&compact.anchors, depth),
            steps: compact.steps.clone(),
            squared_norms: compact.squared_norms.clone(),
            center: compact.center.iter().map(|value| nearest(value * UNIT)).collect(),
            gamma: compact.gamma,
        }
    }

    /// Lifts at most [`ROWS_AT_ONCE`] rows into `scratch.whole`.
    pub(super) fn lift(&self, rows: &[f32], dim: usize, scratch: &mut LiftScratch) {
        let LiftScratch { floats, products, rows: whole_rows, whole, words } = scratch;
        let count = rows.len() / dim;
        let reduced = self.projection.apply(rows, dim, floats);
        whole_rows.clear();
        let mut steps = [0.0; ROWS_AT_ONCE];
        debug_assert!(count <= steps.len());
        for (row, step) in reduced.chunks_exact(self.depth).zip(&mut steps) {
            *step = round_row(row, whole_rows);
        }
        let width = self.anchors.width();
        products.resize(count * width, 0.0);
        self.anchors.multiply(whole_rows, words, products);
        whole.resize(count * self.steps.len(), 0);
        let out = whole.chunks_exact_mut(self.steps.len());
        let given = rows.chunks_exact(dim).zip(steps).zip(products.chunks_exact(width));
        for (((row, step), products), out) in given.zip(out) {
            let given = Similarities {
                steps: &self.steps,
                squared_norms: &self.squared_norms,
                center: &self.center,
                gamma: self.gamma,
                step,
                squared_norm: squared_norm(row) as f32,
            };
            whole_similarities(products, &given, out);
        }
    }
}

/// Weights rounded to integers, for products with rows of integers.
#[derive(Clone, Debug)]
pub(super) struct WholeWeights {
    panels: WholePanels,
    /// Value of an integer step of each bit, including padding columns.
    steps: Vec<f32>,
}

impl WholeWeights {
    /// Rounds each bit's weights to integers; each bit has its own step size.
    pub(super) fn new(weights: &[f32], depth: usize, bits: usize) -> Self {
        let most = f32::from(LARGEST);
        let mut largest = vec![0.0f32; bits];
        for row in weights.chunks_exact(bits) {
            largest.iter_mut().zip(row).for_each(|(most, weight)| *most = most.max(weight.abs()));
        }
        let whole = |(weight, largest): (&f32, &f32)| match *largest < f32::MIN_POSITIVE {
            true => 0,
            false => nearest((weight / largest * most).clamp(-most, most)),
        };
        let rows = weights.chunks_exact(bits);
        let rounded: Vec<i16> = rows.flat_map(|row| row.iter().zip(&largest).map(whole)).collect();
        let panels = WholePanels::pack(&rounded, depth, bits);
        let mut steps: Vec<f32> = largest.iter().map(|largest| largest / most / UNIT).collect();
        steps.resize(panels.width(), 0.0);
        WholeWeights { panels, steps }
    }

    pub(super) fn width(&self) -> usize {
        self.panels.width()
    }

    /// Projects lifted rows into `out`.
    pub(super) fn multiply(&self, rows: &[i16], words: &mut Vec<i32>, out: &mut [f32]) {
        self.panels.multiply(rows, words, out);
        for row in out.chunks_exact_mut(self.width()) {
            row.iter_mut().zip(&self.steps).for_each(|(value, step)| *value *= step);
        }
    }
}

//! [`Lift`]: definition, application and storage.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::compact::{Compact, CompactPanels, UNIT};
use super::rows::{LiftScratch, ROWS_AT_ONCE, check_gamma};
use crate::kernel::{Panels, exp_in_place, squared_norm};
use crate::tensors::Tensors;
use crate::{Error, Features, Result};

/// Map applied to vectors before the projection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Lift {
    /// No lift: the vectors themselves.
    #[default]
    Identity,
    /// `x` becomes `exp(-gamma ||x - a||^2)` for each anchor `a`.
    Rbf {
        /// Anchors, row-major, with the dimension of the vectors.
        #[serde(skip)]
        anchors: Vec<f32>,
        /// Rate at which similarity falls with squared distance.
        gamma: f32,
    },
    /// Approximation of [`Rbf`](Lift::Rbf) in a fraction of the time: in integer arithmetic, and in
    /// fewer dimensions.
    Compact(Compact),
}

impl Lift {
    /// Returns the length of a lifted vector, given vectors of `dim` dimensions.
    pub fn width(&self, dim: usize) -> usize {
        match self {
            Lift::Identity => dim,
            Lift::Rbf { anchors, .. } => anchors.len() / dim.max(1),
            Lift::Compact(compact) => compact.width(),
        }
    }

    /// Fails unless the lift can be applied to vectors of `dim` dimensions.
    pub(crate) fn check(&self, dim: usize) -> Result<()> {
        match self {
            Lift::Identity => Ok(()),
            Lift::Rbf { anchors, gamma } => {
                check_gamma(*gamma)?;
                match Features::new(anchors, dim)?.is_empty() {
                    true => Err(Error::parameter("anchors", "at least one", 0)),
                    false => Ok(()),
                }
            }
            Lift::Compact(compact) => compact.check(dim),
        }
    }

    /// Adds the lift's arrays under names that begin with `prefix`.
    pub(crate) fn put_arrays(&self, prefix: &str, dim: usize, arrays: &mut Tensors) {
        match self {
            Lift::Identity => {}
            Lift::Rbf { anchors, .. } => arrays.put(&format!("{prefix}anchors"), dim, anchors),
            Lift::Compact(compact) => compact.put_arrays(prefix, dim, arrays),
        }
    }

    /// Takes the lift's arrays out of `arrays`. Returns a description of the problem if they are
    /// missing or invalid.
    pub(crate) fn take_arrays(
        &mut self,
        prefix: &str,
        dim: usize,
        arrays: &mut Tensors,
    ) -> std::result::Result<(), String> {
        match self {
            Lift::Identity => {}
            Lift::Rbf { anchors, .. } => {
                let name = format!("{prefix}anchors");
                if !arrays.contains(&name) {
                    return Err("it has lost its anchors".to_owned());
                }
                *anchors = arrays.take(&name, dim)?;
            }
            Lift::Compact(compact) => compact.take_arrays(prefix, dim, arrays)?,
        }
        Ok(())
    }
}

/// Lift packed for matrix products.
#[derive(Clone, Debug)]
pub(crate) enum Packed {
    Identity,
    Rbf(Anchors),
    Compact(CompactPanels),
}

/// Output of a lift.
pub(crate) enum Lifted<'a> {
    Floats(&'a [f32]),
    /// Multiples of 1/2048.
    Whole(&'a [i16]),
}

impl Packed {
    /// Packs a lift that was checked.
    pub(crate) fn new(lift: &Lift, dim: usize) -> Self {
        match lift {
            Lift::Identity => Packed::Identity,
            Lift::Rbf { anchors, gamma } => Packed::Rbf(Anchors::new(anchors, dim, *gamma)),
            Lift::Compact(compact) => Packed::Compact(CompactPanels::new(compact, dim)),
        }
    }

    /// Lifts a few rows of finite numbers.
    pub(crate) fn lift<'s>(
        &self,
        rows: &'s [f32],
        dim: usize,
        scratch: &'s mut LiftScratch,
    ) -> Lifted<'s> {
        match self {
            Packed::Identity => Lifted::Floats(rows),
            Packed::Rbf(anchors) => {
                anchors.lift(rows, dim, &mut scratch.products, &mut scratch.floats);
                Lifted::Floats(&scratch.floats)
            }
            Packed::Compact(panels) => {
                panels.lift(rows, dim, scratch);
                Lifted::Whole(&scratch.whole)
            }
        }
    }
}

/// Lift of a learner, in original and in packed form.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    lift: Lift,
    dim: usize,
    packed: Packed,
}

impl PartialEq for Lifter {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim && self.lift == other.lift
    }
}

impl Lifter {
    /// Fails unless the lift can be applied to vectors of `dim` dimensions.
    pub(crate) fn new(lift: Lift, dim: usize) -> Result<Self> {
        lift.check(dim)?;
        let packed = Packed::new(&lift, dim);
        Ok(Lifter { lift, dim, packed })
    }

    /// Returns the lift as a part of a hash function.
    pub(crate) fn lift(&self) -> &Lift {
        &self.lift
    }

    /// Returns the dimension of the input vectors.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the length of a lifted vector.
    pub(crate) fn width(&self) -> usize {
        self.lift.width(self.dim)
    }

    /// Lifts all rows, in parallel.
    pub(crate) fn lift_rows(&self, rows: &[f32]) -> Vec<f32> {
        lift_rows(&self.packed, rows, self.dim, self.width())
    }

    /// Lifts all rows to integers, in parallel. Returns `None` if the lift computes floats.
    pub(crate) fn whole_rows(&self, rows: &[f32]) -> Option<Vec<i16>> {
        let Packed::Compact(panels) = &self.packed else { return None };
        let mut out = vec![0; rows.len() / self.dim * self.width()];
        out.par_chunks_mut(ROWS_AT_ONCE * self.width())
            .zip(rows.par_chunks(ROWS_AT_ONCE * self.dim))
            .for_each_init(LiftScratch::default, |scratch, (out, rows)| {
                panels.lift(rows, self.dim, scratch);
                out.copy_from_slice(&scratch.whole);
            });
        Some(out)
    }

    /// Adds the lift to the state of a learner.
    pub(crate) fn save(&self, method: &str, state: &mut Tensors) {
        let gamma = match &self.lift {
            Lift::Identity => return,
            Lift::Rbf { gamma, .. } => *gamma,
            Lift::Compact(compact) => compact.gamma,
        };
        let prefix = format!("{method}.");
        self.lift.put_arrays(&prefix, self.dim, state);
        state.put(&format!("{prefix}gamma"), 1, &[gamma]);
    }

    /// Loads the lift that was saved, if any.
    pub(crate) fn load(
        method: &str,
        dim: usize,
        state: &mut Tensors,
    ) -> std::result::Result<Option<Self>, String> {
        let prefix = format!("{method}.");
        let rbf = state.contains(&format!("{prefix}anchors"));
        if !rbf && !Compact::is_in(&prefix, state) {
            return Ok(None);
        }
        let gamma = state.take_rows::<f32>(&format!("{prefix}gamma"), 1, 1)?[0];
        let mut lift = match rbf {
            true => Lift::Rbf { anchors: Vec::new(), gamma },
            false => Lift::Compact(Compact { gamma, ..Compact::default() }),
        };
        lift.take_arrays(&prefix, dim, state)?;
        let lifter = Lifter::new(lift, dim);
        lifter.map(Some).map_err(|problem| format!("its lift makes no sense: {problem}"))
    }
}

/// Lifts rows of finite numbers, in parallel.
pub(super) fn lift_rows(packed: &Packed, rows: &[f32], dim: usize, width: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows.len() / dim * width];
    out.par_chunks_mut(ROWS_AT_ONCE * width)
        .zip(rows.par_chunks(ROWS_AT_ONCE * dim))
        .for_each_init(LiftScratch::default, |scratch, (out, rows)| {
            match packed.lift(rows, dim, scratch) {
                Lifted::Floats(values) => out.copy_from_slice(values),
                Lifted::Whole(values) => {
                    let values = out.iter_mut().zip(values);
                    values.for_each(|(out, &value)| *out = f32::from(value) / UNIT);
                }
            }
        });
    out
}

/// Anchors of an RBF lift.
#[derive(Clone, Debug)]
pub(crate) struct Anchors {
    panels: Panels,
    squared_norms: Vec<f32>,
    gamma: f32,
}

impl Anchors {
    fn new(anchors: &[f32], dim: usize, gamma: f32) -> Self {
        let squared_norms =
            anchors.chunks_exact(dim).map(|anchor| squared_norm(anchor) as f32).collect();
        Anchors { panels: Panels::pack_transposed(anchors, dim), squared_norms, gamma }
    }

    /// Computes `||x - a||^2 = ||x||^2 + ||a||^2 - 2 x . a`, clamped to at least zero, and converts
    /// these distances to similarities.
    fn lift(&self, rows: &[f32], dim: usize, products: &mut Vec<f32>, lifted: &mut Vec<f32>) {
        products.resize(rows.len() / dim * self.panels.width(), 0.0);
        self.panels.multiply(rows, products);
        lifted.clear();
        for (row, products) in
            rows.chunks_exact(dim).zip(products.chunks_exact(self.panels.width()))
        {
            let norm = squared_norm(row) as f32;
            lifted.extend(
                products.iter().zip(&self.squared_norms).map(|(product, anchor)| {
                    -self.gamma * (norm + anchor - 2.0 * product).max(0.0)
                }),
            );
        }
        exp_in_place(lifted);
    }
}

//! Streams processed in pairs of rows.

use crate::similarity::share_a_label;
use crate::tensors::Tensors;
use crate::{Features, Labels};

use crate::learner::Loaded;

/// The row that is buffered until the next row arrives, for methods that learn from pairs. The
/// pairs do not depend on the batch sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    waiting: Option<(Vec<f32>, Vec<u32>)>,
}

impl Pairs {
    /// Calls `each` for every pair that is now complete, with both rows and whether they are
    /// similar.
    pub(crate) fn take(
        &mut self,
        features: Features<'_>,
        labels: Labels<'_>,
        mut each: impl FnMut(&[f32], &[f32], bool),
    ) {
        for row in 0..features.len() {
            let (x, own) = (features.row(row), labels.row(row));
            match self.waiting.take() {
                None => self.waiting = Some((x.to_vec(), own.to_vec())),
                Some((first, others)) => each(&first, x, share_a_label(&others, own)),
            }
        }
    }

    pub(crate) fn save(&self, name: &str, dim: usize, state: &mut Tensors) {
        if let Some((row, labels)) = &self.waiting {
            state.put(&format!("{name}.row"), dim, row);
            state.put(&format!("{name}.labels"), 1, labels);
        }
    }

    pub(crate) fn load(name: &str, dim: usize, state: &mut Tensors) -> Loaded<Self> {
        let (row, labels) = (format!("{name}.row"), format!("{name}.labels"));
        if !state.contains(&row) {
            return Ok(Pairs::default());
        }
        let values: Vec<f32> = state.take_rows(&row, 1, dim)?;
        Features::new(&values, dim).map_err(|error| format!("array {row:?}: {error}"))?;
        Ok(Pairs { waiting: Some((values, state.take(&labels, 1)?)) })
    }
}

//! Rows of a stream that are buffered until the warm-up ends.
//!
//! Some values must be known before learning: the centre; the scale, if requested; anchors and
//! bandwidth for `brook` and `okh`; the first points of the reservoir for `mihash`. All come from
//! the first `warmup` rows of the stream. `Model` buffers these rows, fixes the preparation from
//! exactly them, then learns them in the batches in which they arrived. So the preparation does not
//! depend on how the stream was split, or on later rows. Buffered rows are saved with the model.
//! The command `learn` shortens the warm-up only if the complete data has fewer rows, and ends it
//! early only at the end of that data. If `--rows` ends a run during the warm-up, the saved model
//! is still warming up. A run that continues from it ends with the same model as one run.
//!
//! A scale divides each column by its deviation, after centring and before scaling to unit length.
//! A column that is constant in the warm-up gets the factor 0: its deviation is unknown, and with
//! any other factor the column might later outweigh all others.

use crate::labels::LabelList;
use crate::tensors::Tensors;
use crate::{Batch, Features, Labels, Result};

/// Buffered batches.
#[derive(Clone, Debug, Default)]
pub(super) struct WarmUp {
    pub(super) features: Vec<f32>,
    pub(super) labels: Option<LabelList>,
    /// Number of rows up to the end of each batch.
    pub(super) ends: Vec<usize>,
}

impl WarmUp {
    pub(super) fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(super) fn push(&mut self, batch: Batch<'_>) {
        self.ends.push(self.rows() + batch.len());
        self.features.extend_from_slice(batch.features().values());
        if let Some(labels) = batch.labels() {
            self.labels.get_or_insert_default().extend(labels);
        }
    }

    /// Returns all batches as one batch.
    pub(super) fn view(&self, dim: usize) -> Result<Batch<'_>> {
        let features = Features::new(&self.features, dim)?;
        match &self.labels {
            Some(labels) => Batch::new(features, labels.view()),
            None => Ok(Batch::unlabelled(features)),
        }
    }

    pub(super) fn batches(&self, dim: usize) -> Result<Vec<Batch<'_>>> {
        let all = self.view(dim)?;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        Ok(starts.zip(&self.ends).map(|(start, &end)| all.slice(start..end)).collect())
    }

    pub(super) fn save(&self, dim: usize, state: &mut Tensors) {
        state.put("held.features", dim, &self.features);
        state.put_places("held.ends", &self.ends);
        if let Some(labels) = &self.labels {
            let (ends, values) = labels.to_lists();
            state.put_places("held.labels.ends", &ends);
            state.put("held.labels", 1, &values);
        }
    }

    pub(super) fn load(dim: usize, state: &mut Tensors) -> std::result::Result<WarmUp, String> {
        let features: Vec<f32> = state.take("held.features", dim)?;
        let ends = state.take_places("held.ends")?;
        let rows = Features::new(&features, dim).map_err(|error| error.to_string())?.len();
        if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != rows {
            return Err("the batches held back do not add up".to_owned());
        }
        let labels = match state.contains("held.labels") {
            false => None,
            true => {
                let label_ends = state.take_places("held.labels.ends")?;
                let values: Vec<u32> = state.take("held.labels", 1)?;
                let labels = Labels::sets(&label_ends, &values);
                let labels = labels.map_err(|error| error.to_string())?;
                let mut list = LabelList::default();
                list.extend(labels);
                Some(list)
            }
        };
        if labels.as_ref().is_some_and(|labels| labels.len() != rows) {
            return Err("the labels held back are not as many as the rows".to_owned());
        }
        Ok(WarmUp { features, labels, ends })
    }
}

/// Returns the first `count` rows of the batches, or all rows if there are fewer.
pub(super) fn first_rows(batches: &[Batch<'_>], count: usize) -> WarmUp {
    let mut first = WarmUp::default();
    for batch in batches {
        let rows = batch.len().min(count - first.rows());
        first.push(batch.slice(0..rows));
    }
    first
}

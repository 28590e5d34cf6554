//! Items with the places of their vectors, for an index whose owner stores the vectors.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::snapshot::{Snapshot, labels_of_set};
use super::state::State;
use crate::Result;

/// Item with the place of its vector.
pub(crate) struct Placed<'a> {
    pub(crate) id: u64,
    pub(crate) code: &'a [u64],
    pub(crate) labels: &'a [u32],
    pub(crate) place: u64,
}

impl Snapshot {
    /// Returns the place of an item's vector, or `None` if the item does not exist.
    pub(crate) fn place(&self, id: u64) -> Result<Option<u64>> {
        self.reading(|state| place(state, id))
    }

    /// Returns the places of the vectors of items, with `None` for items that do not exist.
    pub(crate) fn places(&self, ids: &[u64]) -> Result<Vec<Option<u64>>> {
        self.reading(|state| ids.iter().map(|&id| place(state, id)).collect())
    }

    /// Calls `call` with each id and its item, or `None` if the item does not exist.
    pub(crate) fn look_up(
        &self,
        ids: &[u64],
        mut call: impl FnMut(u64, Option<Placed<'_>>),
    ) -> Result<()> {
        self.reading(|state| {
            let mut code = vec![0; state.layout.code_words()];
            for &id in ids {
                let Some((segment, slot)) = state.find(id)? else {
                    call(id, None);
                    continue;
                };
                let columns = state.segments[segment].segment.columns();
                columns.code(slot, &mut code)?;
                let labels = labels_of_set(state, columns.label_set(slot)?);
                let place = number(columns.vector(slot)?);
                call(id, Some(Placed { id, code: &code, labels, place }));
            }
            Ok(())
        })
    }

    /// Returns the ids of about `count` items spread over the index. The same index yields the same
    /// ids.
    pub(crate) fn sample(&self, count: usize) -> Result<Vec<u64>> {
        self.reading(|state| {
            let step = state.len().div_ceil(count.max(1)).max(1);
            let (mut ids, mut random) = (Vec::new(), ChaCha8Rng::seed_from_u64(0));
            for searched in &state.segments {
                let (segment, columns) = (&searched.segment, searched.segment.columns());
                for start in (0..columns.len()).step_by(step) {
                    // A random slot of each stretch avoids bias where, for example, every tenth
                    // item has the same label.
                    let slot = start + random.random_range(0..step);
                    if slot < columns.len() && segment.is_live(slot) {
                        ids.push(columns.id(slot)?);
                    }
                }
            }
            Ok(ids)
        })
    }

    /// Calls `call` with all items, in ascending order of ids.
    pub(crate) fn each_placed(&self, mut call: impl FnMut(Placed<'_>) -> Result<()>) -> Result<()> {
        let once = self.to_read_once()?;
        self.reading(|_| {
            once.each_in_order(|item| {
                let labels = labels_of_set(&once, item.label_set);
                call(Placed { id: item.id, code: item.code, labels, place: number(item.vector) })
            })
        })
    }
}

fn place(state: &State, id: u64) -> Result<Option<u64>> {
    let Some((segment, slot)) = state.find(id)? else { return Ok(None) };
    Ok(Some(number(state.segments[segment].segment.columns().vector(slot)?)))
}

/// Returns the place in the bytes of its column; 0 for empty bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

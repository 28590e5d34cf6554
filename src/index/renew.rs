//! Re-encoding under a newer function, from given vectors or from vectors that the index stores.

use super::Index;
use super::file::Contents;
use super::segment::{Beside, Item, NewItems, Shape};
use super::state::{Encoded, State};
use crate::kernel::{Layout, VectorRows};
use crate::{Codes, Error, Features, HashFunction, Result};

/// Re-encoding. A search reads either only old codes or only new codes.
impl Index {
    /// Re-encodes all items under a newer function. `ids` and `features` are those of all items, in
    /// any order. An index that stores vectors stores `features` from now on.
    ///
    /// # Errors
    /// When the ids are not those of the index, or the file cannot be written; the index is then
    /// unchanged.
    pub fn renew(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        features: Features<'_>,
    ) -> Result<()> {
        let beside = self.now.state.vectors.map(|beside| match beside {
            Beside::Vectors(rows) => Beside::Vectors(function.vector_rows(rows.format)),
            Beside::Places => Beside::Places,
        });
        let encoded = Encoded::by(&function, beside, features)?;
        self.renew_items(function, encoded.items(ids, None))
    }

    /// Like [`renew`](Index::renew), with codes already made by the newer function, so that vectors
    /// that do not fit in memory can be encoded in parts. An index that stores vectors keeps its
    /// present vectors.
    ///
    /// # Errors
    /// As for [`renew`](Index::renew), when the codes have another length than the function's, and
    /// when the index stores vectors that this function would prepare differently.
    pub fn renew_codes(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        codes: &Codes,
    ) -> Result<()> {
        if self.vector_format().is_some() {
            self.check_preparation(&function)?;
        }
        codes.expect_bits(function.bits())?;
        self.renew_items(function, NewItems { ids, codes, labels: None, vectors: None })
    }

    /// Re-encodes all items under a newer function, from the vectors that the index
    /// [stores](Index::with_vectors). Re-encoding needs the memory of a few thousand items.
    ///
    /// Stored vectors are rounded. Where rounding changes the sign of a projection, a bit differs
    /// from the code of the original vector.
    ///
    /// # Errors
    /// When the index stores no vectors; when the function prepares vectors differently from the
    /// present function (other dimension, centre, scale, or unit length), so that it cannot use the
    /// stored vectors; when the file is damaged or cannot be written. The index is then unchanged.
    pub fn renew_kept(&mut self, function: HashFunction) -> Result<()> {
        let wanted = "to re-encode";
        let rows = self.now.state.vectors.and_then(Beside::vectors);
        let rows = rows.ok_or(Error::VectorsNotKept { wanted })?;
        self.check_preparation(&function)?;
        let now = self.now.clone();
        let once = now.to_read_once()?;
        let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| {
            now.reading(|_| {
                let mut part = Part::default();
                once.each_in_order(|item| {
                    part.push(item);
                    if part.ids.len() == AT_ONCE {
                        part.encode(&function, rows, call)
                    } else {
                        Ok(())
                    }
                })?;
                part.encode(&function, rows, call)
            })
        };
        let shape = now.reading(State::shape)?;
        let shape = Shape { layout: Layout::new(function.bits()), ..shape };
        let (state, count) = (&now.state, now.len());
        self.replace(Contents { state, function: Some(&function), shape, count, each: &each })
    }

    /// Fails if `function` prepares vectors differently from the function of the stored vectors.
    fn check_preparation(&self, function: &HashFunction) -> Result<()> {
        let differs = self.function().ok_or(Error::NoFunction)?.prepares_otherwise(function);
        differs.map_or(Ok(()), |differs| Err(Error::OtherPreparation { differs }))
    }

    /// Replaces all items; the ids must be those of the index. Stored vectors stay if `items` has
    /// none.
    fn renew_items(&mut self, function: HashFunction, items: NewItems<'_>) -> Result<()> {
        let (ids, order) = (items.ids, items.order()?);
        if ids.len() != self.len() {
            let problem = format!("{} ids for {} items", ids.len(), self.len());
            return Err(Error::NotRenewed { problem });
        }
        let now = self.now.clone();
        now.reading(|state| {
            for &id in ids {
                if state.find(id)?.is_none() {
                    return Err(Error::NotRenewed { problem: format!("there is no item {id}") });
                }
            }
            Ok(())
        })?;
        let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| {
            now.reading(|state| {
                for &at in &order {
                    let Some(place) = state.find(ids[at])? else { continue };
                    let mut item = items.item(at, state.label_set(place)?);
                    if items.vectors.is_none() {
                        item.vector = state.segments[place.0].segment.columns().vector(place.1)?;
                    }
                    call(item)?;
                }
                Ok(())
            })
        };
        let shape = now.reading(State::shape)?;
        let vectors = items.vectors.map(|(rows, _)| rows).or(shape.vectors);
        let shape = Shape { layout: Layout::new(function.bits()), vectors, ..shape };
        let (state, count) = (&now.state, ids.len());
        self.replace(Contents { state, function: Some(&function), shape, count, each: &each })
    }
}

/// Number of items that are encoded together.
const AT_ONCE: usize = 1 << 12;

/// Batch of items that are re-encoded from their stored vectors.
#[derive(Default)]
struct Part {
    ids: Vec<u64>,
    label_sets: Vec<u32>,
    vectors: Vec<u8>,
}

impl Part {
    fn push(&mut self, item: Item<'_>) {
        self.ids.push(item.id);
        self.label_sets.push(item.label_set);
        self.vectors.extend_from_slice(item.vector);
    }

    /// Encodes the batch, calls `call` with each item, and empties the batch.
    fn encode(
        &mut self,
        function: &HashFunction,
        rows: VectorRows,
        call: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut values = vec![0.0; self.ids.len() * rows.dim];
        let vectors = || self.vectors.chunks_exact(rows.bytes());
        vectors().zip(values.chunks_exact_mut(rows.dim)).for_each(|(v, out)| rows.decode(v, out));
        let codes = function.encode_prepared(&values);
        let items = self.ids.iter().zip(&self.label_sets).zip(codes.iter().zip(vectors()));
        for ((&id, &label_set), (code, vector)) in items {
            call(Item { id, code, label_set, vector })?;
        }
        *self = Part::default();
        Ok(())
    }
}

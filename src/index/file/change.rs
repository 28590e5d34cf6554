//! Changes as stored in the records of a log.

use std::sync::Arc;

use super::header::number;
use crate::index::segment::NewItems;
use crate::index::state::State;
use crate::{Codes, Error, LabelNames, Labels, Result};

/// Change as stored in a record.
pub(super) enum Change {
    Names(LabelNames),
    Put(Put),
    Remove(Vec<u64>),
}

/// Items as stored in a record.
pub(super) struct Put {
    ids: Vec<u64>,
    codes: Codes,
    ends: Option<Vec<usize>>,
    labels: Vec<u32>,
    /// Bytes of the vectors or places, if the index stores them.
    vectors: Option<Vec<u8>>,
}

const PUT: u64 = 1;
const REMOVE: u64 = 2;
const NAMES: u64 = 3;
const PUT_WITH_VECTORS: u64 = 4;

/// Reason why a change could not be decoded.
pub(super) enum Undecoded {
    /// The kind of the change is known only to a newer version.
    Unknown(u64),
    /// The bytes are not those of a change.
    Nonsense,
}

impl Change {
    pub(super) fn encode_put(items: NewItems<'_>) -> Vec<u8> {
        let NewItems { ids, codes, labels, vectors } = items;
        let kind = if vectors.is_some() { PUT_WITH_VECTORS } else { PUT };
        let mut numbers = vec![kind, ids.len() as u64, u64::from(labels.is_some())];
        numbers.extend_from_slice(ids);
        numbers.extend_from_slice(codes.words());
        let mut values = Vec::new();
        if let Some(labels) = labels {
            for row in 0..labels.len() {
                values.extend_from_slice(labels.row(row));
                numbers.push(values.len() as u64);
            }
        }
        let vectors = vectors.map_or(&[][..], |(_, bytes)| bytes);
        let mut record: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        record.extend_from_slice(vectors);
        record.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        record
    }

    pub(super) fn encode_remove(ids: &[u64]) -> Vec<u8> {
        let numbers = [REMOVE, ids.len() as u64];
        numbers.iter().chain(ids).flat_map(|number| number.to_le_bytes()).collect()
    }

    pub(super) fn encode_names(names: &LabelNames) -> Result<Vec<u8>> {
        let names = serde_json::to_vec(names).map_err(|problem| {
            Error::parameter("names of labels", "such as JSON can hold", problem)
        })?;
        Ok(NAMES.to_le_bytes().into_iter().chain(names).collect())
    }

    /// Decodes a change whose checksum matches.
    pub(super) fn decode(state: &State, bytes: &[u8]) -> std::result::Result<Change, Undecoded> {
        let known = match number(bytes, 0) {
            _ if bytes.len() < 8 => None,
            kind @ (PUT | REMOVE | PUT_WITH_VECTORS) => Change::decode_items(kind, state, bytes),
            NAMES => serde_json::from_slice(&bytes[8..]).ok().map(Change::Names),
            unknown => return Err(Undecoded::Unknown(unknown)),
        };
        known.ok_or(Undecoded::Nonsense)
    }

    fn decode_items(kind: u64, state: &State, bytes: &[u8]) -> Option<Change> {
        let bits = state.layout.bits();
        let count = usize::try_from(number(bytes, 8)).ok()?;
        let mut rest = bytes;
        let mut take = |numbers: usize| -> Option<Vec<u64>> {
            let size = numbers.checked_mul(8).filter(|&size| size <= rest.len())?;
            let (head, tail) = rest.split_at(size);
            rest = tail;
            Some(head.chunks_exact(8).map(|bytes| number(bytes, 0)).collect())
        };
        match kind {
            REMOVE => {
                take(2)?;
                Some(Change::Remove(take(count)?))
            }
            _ => {
                let labelled = take(3)?[2] == 1;
                let ids = take(count)?;
                let mut codes = Codes::new(bits).ok()?;
                let words = take(count.checked_mul(bits.div_ceil(64))?)?;
                for code in words.chunks_exact(bits.div_ceil(64)) {
                    codes.push(code).ok()?;
                }
                let ends = if labelled { Some(take(count)?) } else { None };
                let ends = ends.map(|ends| ends.iter().map(|&end| end as usize).collect());
                let mut vectors = None;
                if kind == PUT_WITH_VECTORS {
                    let size = count.checked_mul(state.vectors?.bytes())?;
                    let (head, tail) = rest.split_at_checked(size)?;
                    (vectors, rest) = (Some(head.to_vec()), tail);
                }
                let value = |bytes: &[u8]| number(bytes, 0) as u32;
                let labels = rest.chunks_exact(4).map(value).collect();
                Some(Change::Put(Put { ids, codes, ends, labels, vectors }))
            }
        }
    }

    /// Applies the change to the state in memory.
    pub(super) fn apply(self, state: &mut State) -> Result<()> {
        match self {
            Change::Names(names) => {
                state.names = Arc::new(names);
                Ok(())
            }
            Change::Remove(ids) => state.remove(&ids).map(drop),
            Change::Put(Put { ids, codes, ends, labels, vectors }) => {
                let labels = match &ends {
                    Some(ends) => Some(Labels::sets(ends, &labels)?),
                    None => None,
                };
                let vectors = state.vectors.zip(vectors.as_deref());
                let items = NewItems { ids: &ids, codes: &codes, labels, vectors };
                items.check(state.layout, state.vectors)?;
                let order = items.order()?;
                state.remove(&ids)?;
                state.put(items, &order)
            }
        }
    }
}

//! Changes that are durable and are applied to the index.

use std::collections::HashSet;
use std::sync::PoisonError;

use crate::store::journal::Row;
use crate::store::shared::Shared;
use crate::{Features, Index, LabelList, Result};

/// Change to be applied to the index.
pub(super) enum Applied {
    Put {
        ids: Vec<u64>,
        vectors: Vec<f32>,
        labels: LabelList,
        places: Vec<u64>,
    },
    Remove(Vec<u64>),
    /// Names of labels; the first name has this number.
    LabelNames(u32, Vec<String>),
    /// Strings that ids stand for, in order of the numbers that they get.
    Texts(Vec<String>),
}

impl Applied {
    /// Creates a change from rows and their positions.
    pub(super) fn of_rows(rows: Vec<(u64, Row)>) -> Applied {
        let (mut ids, mut vectors) = (Vec::new(), Vec::new());
        let (mut labels, mut places) = (LabelList::new(), Vec::new());
        for (place, row) in rows {
            ids.push(row.id);
            vectors.extend(row.vector);
            labels.push_set(&row.labels);
            places.push(place);
        }
        Applied::Put { ids, vectors, labels, places }
    }

    /// Returns the ids of the items that the change affects.
    pub(super) fn ids(&self) -> &[u64] {
        match self {
            Applied::Put { ids, .. } | Applied::Remove(ids) => ids,
            Applied::LabelNames(..) | Applied::Texts(_) => &[],
        }
    }

    /// Applies the change; returns the number of its rows. With `shared`, the items are encoded on
    /// the store's encoder threads.
    pub(super) fn make(self, index: &mut Index, shared: Option<&Shared>) -> Result<u64> {
        match self {
            Applied::Put { ids, vectors, labels, places } => {
                if ids.is_empty() {
                    return Ok(0);
                }
                let features = Features::new(&vectors, vectors.len() / ids.len())?;
                let codes = match shared {
                    Some(shared) => shared.encoders.run(|| index.encode(features))?,
                    None => index.encode(features)?,
                };
                index.put_places(&ids, &codes, labels.view(), &places)?;
                Ok(ids.len() as u64)
            }
            Applied::Remove(ids) => index.remove(&ids).map(|_| 0),
            Applied::LabelNames(first, new) => index.add_label_names(first, &new).map(|()| 0),
            Applied::Texts(new) => {
                if let Some(shared) = shared {
                    let mut texts = shared.texts.write().unwrap_or_else(PoisonError::into_inner);
                    for text in &new {
                        texts.number(text);
                    }
                }
                Ok(0)
            }
        }
    }
}

/// Merges consecutive puts, as long as no id occurs twice in one of them.
pub(super) fn together(changes: Vec<Applied>) -> Vec<Applied> {
    let mut fewer: Vec<Applied> = Vec::new();
    let mut seen = HashSet::new();
    for change in changes {
        let new = change.ids().iter().all(|id| !seen.contains(id));
        if !new {
            seen.clear();
        }
        seen.extend(change.ids().iter().copied());
        match (fewer.last_mut(), change) {
            (
                Some(Applied::Put { ids, vectors, labels, places }),
                Applied::Put { ids: more, vectors: v, labels: l, places: p },
            ) if new => {
                ids.extend(more);
                vectors.extend(v);
                labels.append(&l);
                places.extend(p);
            }
            (_, change) => fewer.push(change),
        }
    }
    fewer
}

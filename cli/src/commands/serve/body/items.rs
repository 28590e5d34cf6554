//! Items to insert, in JSON, and their insertion into the store.

use hashbrook::store::{Acknowledged, ItemId, Put};
use hashbrook::{Features, Store};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::errors::Problem;
use super::super::limits::Limits;
use super::json::{Id, Names};
use super::parse;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    items: Vec<WrittenItem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenItem {
    id: Id,
    vector: Vec<f32>,
    #[serde(default)]
    labels: Names,
    payload: Option<Box<RawValue>>,
}

/// Items, column by column.
#[derive(Debug, Default)]
pub struct Items {
    pub ids: Vec<ItemId>,
    pub dim: usize,
    pub values: Vec<f32>,
    /// Labels of each item; empty if no item has labels.
    pub labels: Vec<Vec<String>>,
    /// Payload of each item; empty if no item has a payload.
    pub payloads: Vec<Vec<u8>>,
}

impl Items {
    pub fn from_json(bytes: &[u8], limits: &Limits) -> Result<Items, Problem> {
        let Written { items: written } = parse(bytes)?;
        limits.check_items(written.len())?;
        let dim = written.first().map_or(0, |first| first.vector.len());
        let mut items = Items { dim, ..Items::default() };
        for (at, item) in written.into_iter().enumerate() {
            let Id(id) = item.id;
            if item.vector.len() != dim {
                return Err(Problem::unprocessable(format!(
                    "item {at}, id {id}, has a vector of {} numbers, the first one of {dim}",
                    item.vector.len()
                )));
            }
            items.ids.push(id);
            items.values.extend(item.vector);
            items.labels.push(item.labels.0);
            let payload = item.payload.map(Box::<str>::from);
            items
                .payloads
                .push(payload.map_or(Vec::new(), |text| text.into_boxed_bytes().into_vec()));
        }
        Ok(items)
    }

    /// Returns the vectors of the items.
    pub fn features(&self) -> Result<Features<'_>, Problem> {
        if self.ids.is_empty() {
            return Err(Problem::unprocessable("there are no items"));
        }
        if self.dim == 0 {
            return Err(Problem::unprocessable("vectors have at least one number"));
        }
        Ok(Features::new(&self.values, self.dim)?)
    }

    /// Inserts the items into a store.
    pub fn put(&self, store: &Store) -> Result<Acknowledged, Problem> {
        let mut put = Put::new(&self.ids, self.features()?)?;
        if self.labels.iter().any(|labels| !labels.is_empty()) {
            put = put.labels(&self.labels)?;
        }
        if self.payloads.iter().any(|payload| !payload.is_empty()) {
            put = put.payloads(&self.payloads)?;
        }
        Ok(store.put(put)?)
    }
}

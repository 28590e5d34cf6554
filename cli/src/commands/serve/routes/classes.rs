//! The codes of the classes: what most items of a label have in common.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use hashbrook::store::{IdKind, ItemId, Reader};
use hashbrook::{HashFunction, Store};
use serde::Serialize;

use super::super::app::App;
use super::super::body::json_response;
use super::super::errors::{Problem, is_unreadable};
use super::super::hex;

/// Items that are looked at.
const SAMPLE: usize = 4096;

/// They are taken from so many places, evenly spread over ids that are numbers.
const PLACES: u64 = 16;

/// Labels that are told of.
const LABELS: usize = 64;

/// How long an answer stays good.
const LASTS: Duration = Duration::from_secs(3);

/// The last answer, and when it was made.
#[derive(Default)]
pub struct Classes(Mutex<Option<(Instant, Bytes)>>);

#[derive(Serialize)]
struct Told {
    version: u64,
    bits: usize,
    /// How many of the bits tell of labels: the first; the others tell of details.
    label_bits: usize,
    /// Items that were looked at.
    sample: usize,
    classes: Vec<Class>,
}

#[derive(Serialize)]
struct Class {
    label: String,
    /// Of the items that were looked at.
    items: usize,
    /// Each bit is what it is in most of them.
    code: String,
    /// The mean share of the bits in which they agree with it.
    agreement: f64,
}

pub async fn classes(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let last = app.classes.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((_, bytes)) = last.filter(|(made, _)| made.elapsed() < LASTS) {
        return Ok(json_response(StatusCode::OK, bytes));
    }
    let made = app.work(Some(app.limits.timeout), |app| {
        let told = match app.collection.store() {
            Some(store) => told(store)?,
            None => Told { version: 0, bits: 0, label_bits: 0, sample: 0, classes: Vec::new() },
        };
        let bytes = Bytes::from(serde_json::to_vec(&told).unwrap_or_default());
        let mut last = app.classes.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), bytes.clone()));
        Ok(bytes)
    });
    Ok(json_response(StatusCode::OK, made.await?))
}

/// How many items have a label, and each of the bits.
struct Counts {
    items: usize,
    ones: Vec<u32>,
}

fn told(store: &Store) -> Result<Told, Problem> {
    let bits = store.description().bits;
    let reader = store.reader();
    let mut of_label: HashMap<String, Counts> = HashMap::new();
    let ids = sample(&reader, store.description().ids)?;
    for id in &ids {
        let item = match reader.get(id) {
            // The sample omits a damaged item.
            Err(error) if is_unreadable(&error) => continue,
            item => item?,
        };
        let Some(item) = item else { continue };
        for label in item.labels {
            let counts =
                of_label.entry(label).or_insert_with(|| Counts { items: 0, ones: vec![0; bits] });
            counts.items += 1;
            for (bit, ones) in counts.ones.iter_mut().enumerate() {
                *ones += (item.code[bit / 64] >> (bit % 64) & 1) as u32;
            }
        }
    }
    let mut labels: Vec<(String, Counts)> = of_label.into_iter().collect();
    labels.sort_by(|(name, counts), (other, others)| {
        others.items.cmp(&counts.items).then_with(|| name.cmp(other))
    });
    labels.truncate(LABELS);
    // In an order that stays while items come in.
    labels.sort_by(|(name, _), (other, _)| {
        name.len().cmp(&other.len()).then_with(|| name.cmp(other))
    });
    let classes = labels.into_iter().map(|(label, counts)| class(label, &counts)).collect();
    let label_bits = reader.index().function().map_or(bits, HashFunction::label_bits);
    Ok(Told { version: reader.version(), bits, label_bits, sample: ids.len(), classes })
}

fn class(label: String, counts: &Counts) -> Class {
    let bits = counts.ones.len();
    let mut code = vec![0u64; bits.div_ceil(64)];
    let mut agreeing = 0;
    for (bit, &ones) in counts.ones.iter().enumerate() {
        let ones = ones as usize;
        if 2 * ones > counts.items {
            code[bit / 64] |= 1 << (bit % 64);
        }
        agreeing += ones.max(counts.items - ones);
    }
    let agreement = agreeing as f64 / (counts.items * bits).max(1) as f64;
    Class { label, items: counts.items, code: hex::encode(&code, bits), agreement }
}

/// Ids from several places; from the beginning, where they are texts.
fn sample(reader: &Reader, kind: IdKind) -> Result<Vec<ItemId>, Problem> {
    let last = match kind {
        IdKind::Texts => return Ok(reader.ids(None, SAMPLE)?),
        IdKind::Numbers => reader.index().last_id()?.unwrap_or(0),
    };
    let mut ids = Vec::new();
    for place in 0..PLACES {
        let after = (place > 0).then(|| ItemId::Number(last / PLACES * place));
        ids.extend(reader.ids(after.as_ref(), SAMPLE / PLACES as usize)?);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_class_is_that_of_most() {
        let told =
            class("cat".to_owned(), &Counts { items: 4, ones: vec![4, 3, 2, 1, 0, 0, 0, 0, 4] });
        assert_eq!((told.code.as_str(), told.items), ("0301", 4));
        assert!((told.agreement - (4 + 3 + 2 + 3 + 4 * 5) as f64 / 36.0).abs() < 1e-9);
    }
}

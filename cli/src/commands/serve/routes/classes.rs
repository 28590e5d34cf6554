//! Codes of the classes: the majority bits of the items of each label.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use hashbrook::store::Reader;
use hashbrook::{HashFunction, Item, Store};
use serde::{Deserialize, Serialize};

use super::super::app::App;
use super::super::body::answer;
use super::super::errors::Problem;
use super::super::hex;

/// Number of items to sample.
const SAMPLE: usize = 20_000;

/// Number of labels of an answer, by default and at most.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1000;

/// Time for which a sample is reused, unless all items are re-encoded in that time.
const LASTS: Duration = Duration::from_secs(3);

/// Cache of the last sample.
#[derive(Default)]
pub struct Classes(Mutex<Option<Arc<Sample>>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Substring that labels must contain, in upper or lower case.
    #[serde(default)]
    contains: String,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

#[derive(Default, Serialize)]
struct Listed {
    version: u64,
    bits: usize,
    /// Number of label bits, which come first; the others are detail bits.
    label_bits: usize,
    /// Number of sampled items.
    sample: usize,
    /// Number of matching labels on all pages.
    total: usize,
    classes: Vec<Class>,
}

#[derive(Serialize)]
struct Class {
    label: String,
    /// Number of the sampled items that have the label.
    items: usize,
    /// Majority value of each bit over the `items`; `None` if there are none.
    code: Option<String>,
    /// Share of bits that are equal in `code` and in an item's code, on average over the `items`.
    agreement: Option<f64>,
}

pub async fn classes(
    State(app): State<Arc<App>>,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(page) = page?;
    let limit = page.limit.unwrap_or(PAGE);
    if limit > LARGEST_PAGE {
        return Err(Problem::unprocessable(format!(
            "limit: {limit} is more than the {LARGEST_PAGE} that are given at once"
        )));
    }
    let listed = app.work(Some(app.limits.timeout), move |app| {
        let Some(store) = app.collection.store() else { return Ok(Listed::default()) };
        Ok(app.classes.sample(store)?.list(&page.contains, page.offset, limit))
    });
    answer(&listed.await?)
}

impl Classes {
    /// Returns the last sample if it is recent enough, or takes a new one.
    fn sample(&self, store: &Store) -> Result<Arc<Sample>, Problem> {
        let reader = store.reader();
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |last: &&Arc<Sample>| last.version == reader.version() && last.made.elapsed() < LASTS;
        if let Some(sample) = last().as_ref().filter(fits) {
            return Ok(sample.clone());
        }
        let sample = Arc::new(Sample::take(&reader, store.description().bits)?);
        *last() = Some(sample.clone());
        Ok(sample)
    }
}

/// Codes and labels of some items, and the labels of all.
struct Sample {
    made: Instant,
    version: u64,
    bits: usize,
    label_bits: usize,
    items: Vec<Item>,
    /// For each label: its number, its name, and its count of sampled items. Inserting items does
    /// not change the order.
    labels: Vec<(u32, String, usize)>,
}

impl Sample {
    fn take(reader: &Reader, bits: usize) -> Result<Sample, Problem> {
        let items = reader.sample(SAMPLE)?;
        let names = reader.index().label_names();
        let mut of_label: HashMap<u32, usize> = HashMap::new();
        if items.len() < reader.len() {
            // Items outside the sample may have labels that no sampled item has.
            of_label.extend((0..names.len() as u32).map(|label| (label, 0)));
        }
        for label in items.iter().flat_map(|item| &item.labels) {
            *of_label.entry(*label).or_insert(0) += 1;
        }
        let named = |(label, items): (u32, usize)| {
            let name = names.name(label).map_or_else(|| label.to_string(), str::to_owned);
            (label, name, items)
        };
        let mut labels: Vec<(u32, String, usize)> = of_label.into_iter().map(named).collect();
        labels.sort_unstable_by(|(_, name, _), (_, other, _)| {
            name.len().cmp(&other.len()).then_with(|| name.cmp(other))
        });
        let label_bits = reader.index().function().map_or(bits, HashFunction::label_bits);
        let version = reader.version();
        Ok(Sample { made: Instant::now(), version, bits, label_bits, items, labels })
    }

    /// Returns a page of the labels that contain a string, with their codes.
    fn list(&self, contains: &str, offset: usize, limit: usize) -> Listed {
        let contains = contains.to_lowercase();
        let fits = |label: &&(u32, String, usize)| label.1.to_lowercase().contains(&contains);
        let fitting: Vec<&(u32, String, usize)> = self.labels.iter().filter(fits).collect();
        let page: Vec<_> = fitting.iter().skip(offset).take(limit).collect();
        let rows: HashMap<u32, usize> =
            page.iter().enumerate().map(|(row, (label, ..))| (*label, row)).collect();
        let mut counts: Vec<Counts> = page
            .iter()
            .map(|(.., items)| Counts { items: *items, ones: vec![0; self.bits] })
            .collect();
        for item in &self.items {
            for row in item.labels.iter().filter_map(|label| rows.get(label)) {
                for (bit, ones) in counts[*row].ones.iter_mut().enumerate() {
                    *ones += (item.code[bit / 64] >> (bit % 64) & 1) as u32;
                }
            }
        }
        let named = page.iter().zip(&counts);
        Listed {
            version: self.version,
            bits: self.bits,
            label_bits: self.label_bits,
            sample: self.items.len(),
            total: fitting.len(),
            classes: named.map(|((_, name, _), counts)| class(name.clone(), counts)).collect(),
        }
    }
}

/// Number of items of a label, and the number of items in which each bit is set.
struct Counts {
    items: usize,
    ones: Vec<u32>,
}

fn class(label: String, counts: &Counts) -> Class {
    if counts.items == 0 {
        return Class { label, items: 0, code: None, agreement: None };
    }
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
    let code = Some(hex::encode(&code, bits));
    Class { label, items: counts.items, code, agreement: Some(agreement) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_class_is_that_of_most() {
        let told =
            class("cat".to_owned(), &Counts { items: 4, ones: vec![4, 3, 2, 1, 0, 0, 0, 0, 4] });
        assert_eq!((told.code.as_deref(), told.items), (Some("0301"), 4));
        assert!((told.agreement.unwrap() - (4 + 3 + 2 + 3 + 4 * 5) as f64 / 36.0).abs() < 1e-9);
        let none = class("dog".to_owned(), &Counts { items: 0, ones: vec![0; 9] });
        assert_eq!((none.code, none.agreement), (None, None));
    }
}

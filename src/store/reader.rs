//! [`Reader`]: a snapshot of a store.

use std::sync::{Arc, PoisonError};

use super::answer::{Answer, Found, Queries, Search};
use super::item::{ItemId, StoredItem};
use super::journal::NOWHERE;
use super::shared::{Moment, Shared};
use super::writer::find;

use crate::{
    Codes, Error, Features, Filter, Hit, Hits, Item, Result, Snapshot, VectorMetric, View,
};

/// Snapshot of a store: one version of the function, and the codes that this function made. A
/// reader does not change for as long as it is held, and never waits for the writer.
#[derive(Clone)]
pub struct Reader {
    shared: Arc<Shared>,
    moment: Arc<Moment>,
}

/// Items that a search returns.
#[derive(Clone, Copy)]
enum Goal {
    Nearest(usize),
    Within(u32),
}

/// Queries that are compared with the codes.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Vectors(Features<'a>),
    Codes(&'a Codes),
}

impl Asked<'_> {
    /// Returns the hits by code. Fails if a query has more than `most` hits within a radius.
    fn hits(self, view: &View<'_>, goal: Goal, most: Option<usize>) -> Result<Hits> {
        let hits = match (self, goal) {
            (Asked::Vectors(features), Goal::Nearest(k)) => view.search(features, k)?,
            (Asked::Codes(codes), Goal::Nearest(k)) => view.search_codes(codes, k)?,
            (Asked::Vectors(features), Goal::Within(radius)) => view.within(features, radius)?,
            (Asked::Codes(codes), Goal::Within(radius)) => view.within_codes(codes, radius)?,
        };
        let found = hits.iter().map(<[Hit]>::len).max().unwrap_or(0);
        match most {
            Some(most) if matches!(goal, Goal::Within(_)) && found > most => {
                Err(Error::TooManyHits { found, most })
            }
            _ => Ok(hits),
        }
    }
}

impl Reader {
    pub(super) fn new(shared: Arc<Shared>) -> Reader {
        let moment = shared.moment();
        Reader { shared, moment }
    }

    /// Returns the version of the function that made all codes of the snapshot.
    pub fn version(&self) -> u64 {
        self.moment.version
    }

    /// Returns the index of codes and labels. In the index, ids are numbers; a store with string
    /// ids assigns a number to each string.
    pub fn index(&self) -> &Snapshot {
        &self.moment.index
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.index().len()
    }

    /// Returns whether the snapshot has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the `k` nearest items to each query.
    ///
    /// # Errors
    /// Fails if queries have another dimension or code length, if an item used as a query does not
    /// exist, or if the stored data is damaged.
    pub fn search(&self, queries: Queries<'_>, k: usize, search: &Search) -> Result<Answer> {
        self.run(queries, Goal::Nearest(k), search)
    }

    /// Returns all items up to and including a distance from each query. With a dial, the distance
    /// is the weighted distance.
    ///
    /// # Errors
    /// Same as [`search`](Reader::search).
    pub fn within(&self, queries: Queries<'_>, radius: u32, search: &Search) -> Result<Answer> {
        self.run(queries, Goal::Within(radius), search)
    }

    /// Returns an item, if it exists.
    ///
    /// # Errors
    /// Fails if the stored data is damaged.
    pub fn get(&self, id: &ItemId) -> Result<Option<StoredItem>> {
        let Some(number) = find(id, &self.shared)? else { return Ok(None) };
        let (Some(item), Some(place)) = (self.index().get(number)?, self.index().place(number)?)
        else {
            return Ok(None);
        };
        let row = self.shared.files.row(place)?;
        if row.id != number {
            let path = self.shared.directory.clone();
            let problem = format!("is damaged: where item {id} should stand there is another");
            return Err(Error::Damaged { path, problem });
        }
        Ok(Some(StoredItem {
            id: id.clone(),
            vector: row.vector,
            labels: self.names(&item.labels),
            payload: row.payload,
            code: item.code,
            version: self.version(),
        }))
    }

    /// Returns up to `most` ids in ascending order, starting after `after` if it is given, to
    /// iterate over all items in pages. String ids are in the order in which they were first
    /// inserted.
    ///
    /// # Errors
    /// Fails if the stored data is damaged.
    pub fn ids(&self, after: Option<&ItemId>, most: usize) -> Result<Vec<ItemId>> {
        let first = match after {
            None => Some(0),
            Some(id) => find(id, &self.shared)?.and_then(|number| number.checked_add(1)),
        };
        let Some(first) = first else { return Ok(Vec::new()) };
        let ids = self.index().ids_from(first, most)?;
        Ok(ids.into_iter().map(|number| self.id(number)).collect())
    }

    /// Returns the codes and labels of about `count` items from all over the store, or of all items
    /// if there are fewer. Labels are numbers, which the [index](Reader::index) names. No vector is
    /// read.
    ///
    /// # Errors
    /// Fails if the stored data is damaged.
    pub fn sample(&self, count: usize) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        self.index().look_up(&self.index().sample(count)?, |_, item| {
            let item = item.map(|item| (item.code.to_vec(), item.labels.to_vec()));
            items.extend(item.map(|(code, labels)| Item { code, labels }));
        })?;
        Ok(items)
    }

    fn run(&self, queries: Queries<'_>, goal: Goal, search: &Search) -> Result<Answer> {
        let version = self.version();
        let index = self.index();
        let Some(filter) = self.filter(search) else {
            let results = vec![Vec::new(); count(&queries)];
            return Ok(Answer { version, results });
        };
        let mut view = index.filtered(&filter);
        if let Some(dial) = search.dial {
            view = view.dial(dial);
        }
        let mut values = Vec::new();
        let asked = match queries {
            Queries::Vectors(features) => Asked::Vectors(features),
            Queries::Codes(codes) => Asked::Codes(codes),
            Queries::Items(ids) => {
                for id in ids {
                    let item = self.get(id)?.ok_or_else(|| Error::NoItem(id.to_string()))?;
                    values.extend(item.vector);
                }
                Asked::Vectors(Features::new(&values, self.shared.description.dim)?)
            }
        };
        let results = match (search.rerank, asked) {
            (None, asked) => self.found(&asked.hits(&view, goal, search.most)?)?,
            (Some(_), Asked::Codes(_)) => return Err(Error::RerankOfCodes),
            (Some(candidates), Asked::Vectors(features)) => {
                let (goal, k) = match goal {
                    Goal::Nearest(k) => (Goal::Nearest(candidates.max(k)), k),
                    within => (within, usize::MAX),
                };
                self.ranked(features, &asked.hits(&view, goal, search.most)?, k)?
            }
        };
        Ok(Answer { version, results })
    }

    /// Returns a filter of the items that a search may return; `None` if it may return no item.
    fn filter(&self, search: &Search) -> Option<Filter> {
        let numbers = |names: &[String]| -> Vec<u32> {
            names.iter().filter_map(|name| self.index().label_names().find(name)).collect()
        };
        let (with, without) = (numbers(&search.labels), numbers(&search.without_labels));
        let mut filter = Filter::all();
        if !search.labels.is_empty() {
            if with.is_empty() {
                return None;
            }
            filter = filter.labels(&with);
        }
        if !without.is_empty() {
            filter = filter.without_labels(&without);
        }
        Some(filter)
    }

    fn found(&self, hits: &Hits) -> Result<Vec<Vec<Found>>> {
        let results = hits.iter().map(|hits| {
            let ids: Vec<u64> = hits.iter().map(|hit| hit.id).collect();
            let labels = self.index().labels_of(&ids)?;
            let found = |(hit, labels): (&Hit, &[u32])| Found {
                id: self.id(hit.id),
                distance: hit.distance,
                score: None,
                labels: self.names(labels),
            };
            Ok(hits.iter().zip(labels).map(found).collect())
        });
        results.collect()
    }

    /// Re-ranks hits by their vectors, and returns the first `k`.
    fn ranked(&self, features: Features<'_>, hits: &Hits, k: usize) -> Result<Vec<Vec<Found>>> {
        let (dim, metric) = (features.dim(), self.shared.description.metric);
        let queries = features.values().chunks_exact(dim);
        let mut results = Vec::with_capacity(hits.len());
        for (query, (hits, mut found)) in queries.zip(hits.iter().zip(self.found(hits)?)) {
            for (hit, found) in hits.iter().zip(&mut found) {
                let place = self.index().place(hit.id)?.unwrap_or(NOWHERE);
                let vector = self.shared.files.row(place)?.vector;
                found.score = Some(score(metric, query, &vector));
            }
            // The sort is stable: equal scores stay in order of distance and id.
            let nearness = |found: &Found| metric.nearness(found.score.unwrap_or_default());
            found.sort_by(|one, other| nearness(other).total_cmp(&nearness(one)));
            found.truncate(k);
            results.push(found);
        }
        Ok(results)
    }

    /// Returns the id that a number stands for.
    fn id(&self, number: u64) -> ItemId {
        let texts = self.shared.texts.read().unwrap_or_else(PoisonError::into_inner);
        texts.name(number).map_or(ItemId::Number(number), |text| ItemId::Text(text.to_owned()))
    }

    fn names(&self, labels: &[u32]) -> Vec<String> {
        let name = |&label: &u32| {
            let name = self.index().label_names().name(label);
            name.map_or_else(|| label.to_string(), str::to_owned)
        };
        labels.iter().map(name).collect()
    }
}

fn count(queries: &Queries<'_>) -> usize {
    match queries {
        Queries::Vectors(features) => features.len(),
        Queries::Codes(codes) => codes.len(),
        Queries::Items(ids) => ids.len(),
    }
}

/// Returns the score of two vectors.
fn score(metric: VectorMetric, one: &[f32], other: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let length = |vector: &[f32]| product(vector, vector).sqrt();
    metric.score(product(one, other), [length(one), length(other)])
}

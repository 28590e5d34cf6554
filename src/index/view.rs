//! [`View`]: how a snapshot is searched.

use super::search::{Filter, Goal, Hits, Search, Weighing};
use super::snapshot::Snapshot;
use super::state::State;
use crate::{Codes, Dial, Error, Features, Result, Weighed};

/// Searches.
impl Snapshot {
    /// The `k` nearest items to each vector; all of them if there are fewer.
    ///
    /// # Errors
    /// When `k` is 0, the vectors have another dimension, or the file is damaged or was changed by
    /// another program ([`Error::NotAsOpened`]).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.filtered(&Filter::all()).search(features, k)
    }

    /// Like [`search`](Snapshot::search), for codes.
    ///
    /// # Errors
    /// As for [`search`](Snapshot::search).
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.filtered(&Filter::all()).search_codes(codes, k)
    }

    /// All items up to a distance from each vector, which is included.
    ///
    /// # Errors
    /// When the vectors have another dimension, or the file is damaged.
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.filtered(&Filter::all()).within(features, radius)
    }

    /// Like [`within`](Snapshot::within), for codes.
    ///
    /// # Errors
    /// As for [`within`](Snapshot::within).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.filtered(&Filter::all()).within_codes(codes, radius)
    }

    /// A view in which searches find only items that pass the filter.
    pub fn filtered<'a>(&'a self, filter: &'a Filter) -> View<'a> {
        View { snapshot: self, filter, dial: None }
    }

    /// A view in which searches weigh label bits and detail bits; see [`View::dial`].
    pub fn dial(&self, dial: Dial) -> View<'_> {
        self.filtered(&EVERYTHING).dial(dial)
    }
}

/// What a view without a filter lets through.
static EVERYTHING: Filter = Filter::all();

/// A snapshot, and how it is searched: which items are found ([`Snapshot::filtered`]), and what bits count
/// ([`Snapshot::dial`]).
#[derive(Clone, Copy)]
pub struct View<'a> {
    snapshot: &'a Snapshot,
    filter: &'a Filter,
    dial: Option<Dial>,
}

impl View<'_> {
    /// The same view, in which distances are sums of weights: of the label bits and detail bits that
    /// differ, and of how sure a float query is of them. Results are as exact and complete, in order of
    /// distance and id, and radii are such sums, too: with a float query in steps of
    /// `1 /` [`Dial::UNIT`].
    ///
    /// ```
    /// use hashbrook::{Dial, Features, HashFunction, HashParts, Hit, Index};
    ///
    /// // The sign of the first number is a label bit, the signs of the others are detail bits.
    /// let mut parts = HashParts::linear(3, 3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    /// parts.label_bits = 1;
    /// let mut index = Index::new(HashFunction::new(parts)?);
    /// let rows = [-1.0, 1.0, 1.0, 1.0, -1.0, -1.0];
    /// index.add(&[7, 8], Features::new(&rows, 3)?, None)?;
    ///
    /// let query = Features::new(&[0.5, 1.0, 1.0], 3)?;
    /// assert_eq!(index.search(query, 2)?.row(0), [Hit::new(7, 1), Hit::new(8, 2)]);
    /// let kinds_first = Dial::new(4, 1)?;
    /// assert_eq!(index.dial(kinds_first).search(query, 2)?.row(0), [Hit::new(8, 2), Hit::new(7, 4)]);
    ///
    /// // The query is unsure of its label: 4 x 0.5^2 of a bit, and twice tanh 1 of one.
    /// let found = index.dial(kinds_first.float_query(true)).search(query, 2)?;
    /// assert_eq!(found.row(0), [Hit::new(7, 64), Hit::new(8, 98)]);
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    #[must_use]
    pub fn dial(self, dial: Dial) -> Self {
        View { dial: Some(dial), ..self }
    }

    /// As [`Snapshot::search`].
    ///
    /// # Errors
    /// As for [`Snapshot::search`].
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.of_features(features, nearest(k)?)
    }

    /// As [`Snapshot::search_codes`].
    ///
    /// # Errors
    /// As for [`Snapshot::search`]; with a dial, also when it has a float query, which takes vectors,
    /// or when the index has no function that tells label bits from detail bits.
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.of_codes(codes, nearest(k)?)
    }

    /// The `k` nearest items to queries that a dial has [weighed](Dial::weigh): once, for any number of
    /// searches. A dial of the view has nothing to do with them.
    ///
    /// # Errors
    /// When `k` is 0, the codes have another length, or the file is damaged.
    pub fn search_weighed(&self, queries: &Weighed, k: usize) -> Result<Hits> {
        self.run(queries.codes(), &Weighing::new(queries), nearest(k)?)
    }

    /// As [`Snapshot::within`].
    ///
    /// # Errors
    /// As for [`Snapshot::within`].
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.of_features(features, Goal::Within(radius))
    }

    /// As [`Snapshot::within_codes`].
    ///
    /// # Errors
    /// As for [`search_codes`](View::search_codes).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.of_codes(codes, Goal::Within(radius))
    }

    /// All items up to a distance from queries that a dial has [weighed](Dial::weigh).
    ///
    /// # Errors
    /// As for [`search_weighed`](View::search_weighed).
    pub fn within_weighed(&self, queries: &Weighed, radius: u32) -> Result<Hits> {
        self.run(queries.codes(), &Weighing::new(queries), Goal::Within(radius))
    }

    fn of_features(&self, features: Features<'_>, goal: Goal) -> Result<Hits> {
        let Some(dial) = self.dial else {
            return self.run(&self.snapshot.encode(features)?, &Weighing::plain(), goal);
        };
        let function = self.snapshot.function().ok_or(Error::NoFunction)?;
        let weighed = dial.weigh(function, features)?;
        self.run(weighed.codes(), &Weighing::new(&weighed), goal)
    }

    fn of_codes(&self, codes: &Codes, goal: Goal) -> Result<Hits> {
        let Some(dial) = self.dial else {
            return self.run(codes, &Weighing::plain(), goal);
        };
        let weighed = dial.weigh_codes(self.snapshot.function(), codes)?;
        self.run(codes, &Weighing::new(&weighed), goal)
    }

    fn run(&self, codes: &Codes, weighing: &Weighing, goal: Goal) -> Result<Hits> {
        let bits = self.snapshot.bits();
        codes.expect_bits(bits)?;
        self.snapshot.reading(|state| {
            let State { segments, sets, kernel, structures, .. } = state;
            let search = Search {
                segments,
                sets,
                filter: self.filter,
                kernel: *kernel,
                goal: weighing.divided(goal),
                bits,
                weights: weighing.weights(),
                structures: *structures,
            };
            Ok(weighing.multiplied(search.run(codes)?))
        })
    }
}

/// So many of the nearest, which makes sense of one or more.
fn nearest(k: usize) -> Result<Goal> {
    if k == 0 { Err(Error::parameter("k", "1 or more", 0)) } else { Ok(Goal::Nearest(k)) }
}

//! Searches of a snapshot: of all or filtered items, by codes alone or re-ranked by vectors.

use super::file::Opened;
use super::search::{Filter, Goal, Hits, RankedHit, Search, Weighing};
use super::segment::Beside;
use super::state::State;
use crate::{Codes, Dial, Error, Features, Result, Weighed};

/// View of a [`Snapshot`](crate::Snapshot) with the options of its searches: filter, weights,
/// re-ranking.
///
/// [`Snapshot::filtered`](crate::Snapshot::filtered) and
/// [`Snapshot::rerank`](crate::Snapshot::rerank) return views. A view costs nothing, and its
/// options combine:
///
/// ```
/// use hashbrook::{Features, Filter, HashFunction, HashParts, Index, Labels, VectorFormat};
///
/// let parts = HashParts::linear(2, 3, vec![1.0, -1.0, 0.5, 0.0, 2.0, 0.5]);
/// let mut index = Index::with_vectors(HashFunction::new(parts)?, VectorFormat::F16);
/// let vectors = [1.0, 0.6, 1.0, 0.8, 1.0, 0.9];
/// index.add(&[1, 2, 3], Features::new(&vectors, 2)?, Some(Labels::single(&[0, 0, 1])))?;
///
/// let query = Features::new(&[10.0, 8.0], 2)?;
/// let zeros = Filter::all().labels(&[0]);
/// // Both have the code of the query: the smaller id comes first.
/// let by_code = index.filtered(&zeros).search(query, 2)?;
/// assert_eq!(by_code.row(0)[0].id, 1);
/// let by_cosine = index.filtered(&zeros).rerank(1000).search(query, 2)?;
/// assert_eq!(by_cosine.row(0)[0].id, 2);
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct View<'a> {
    state: &'a State,
    /// File from which parts of the state are mapped.
    file: Option<&'a Opened>,
    filter: Option<&'a Filter>,
    dial: Option<Dial>,
}

impl<'a> View<'a> {
    pub(super) fn new(state: &'a State, file: Option<&'a Opened>) -> Self {
        View { state, file, filter: None, dial: None }
    }

    /// Returns this view restricted to items that pass the filter, which replaces an earlier
    /// filter.
    #[must_use]
    pub fn filtered(self, filter: &'a Filter) -> Self {
        View { filter: Some(filter), ..self }
    }

    /// Returns this view with re-ranking of the `candidates` nearest items by code: their vectors
    /// are compared by the [metric](crate::Index::ranked_by) of the index.
    #[must_use]
    pub fn rerank(self, candidates: usize) -> Reranked<'a> {
        Reranked { view: self, candidates }
    }

    /// Returns this view with weighted distances: sums of the weights of the label bits and detail
    /// bits that differ. With a float query, the weight of a bit also depends on how sure the query
    /// is of the bit. Results stay exact, complete, and in order of distance and id. Radii are
    /// weighted sums, too; with a float query they are in steps of `1 /` [`Dial::UNIT`].
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

    /// Searches like [`Snapshot::search`](crate::Snapshot::search).
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.of_features(features, nearest(k)?)
    }

    /// Searches like [`Snapshot::search_codes`](crate::Snapshot::search_codes).
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search). With a dial, also when the dial
    /// requires float queries, which need vectors, or when the index has no function that
    /// distinguishes label bits from detail bits.
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.of_codes(codes, nearest(k)?)
    }

    /// Returns the `k` nearest items to queries that a dial has [weighed](Dial::weigh). Weighed
    /// queries can be reused for any number of searches. The dial of the view has no effect on this
    /// search.
    ///
    /// # Errors
    /// When `k` is 0, the codes have another length, or the file is damaged.
    pub fn search_weighed(&self, queries: &Weighed, k: usize) -> Result<Hits> {
        self.hits(queries.codes(), &Weighing::new(queries), nearest(k)?)
    }

    /// Searches like [`Snapshot::within`](crate::Snapshot::within).
    ///
    /// # Errors
    /// As for [`Snapshot::within`](crate::Snapshot::within).
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.of_features(features, Goal::Within(radius))
    }

    /// Searches like [`Snapshot::within_codes`](crate::Snapshot::within_codes).
    ///
    /// # Errors
    /// As for [`search_codes`](View::search_codes).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.of_codes(codes, Goal::Within(radius))
    }

    /// Returns all items within the distance `radius` of queries that a dial has
    /// [weighed](Dial::weigh).
    ///
    /// # Errors
    /// As for [`search_weighed`](View::search_weighed).
    pub fn within_weighed(&self, queries: &Weighed, radius: u32) -> Result<Hits> {
        self.hits(queries.codes(), &Weighing::new(queries), Goal::Within(radius))
    }

    fn of_features(&self, features: Features<'_>, goal: Goal) -> Result<Hits> {
        let (codes, weighing) = self.encode(features)?;
        self.hits(&codes, &weighing, goal)
    }

    fn of_codes(&self, codes: &Codes, goal: Goal) -> Result<Hits> {
        let weighing = match self.dial {
            None => Weighing::plain(),
            Some(dial) => Weighing::new(&dial.weigh_codes(self.state.function.as_ref(), codes)?),
        };
        self.hits(codes, &weighing, goal)
    }

    /// Returns the codes of vectors and the weights of their bits.
    fn encode(&self, features: Features<'_>) -> Result<(Codes, Weighing)> {
        let function = self.state.function.as_ref().ok_or(Error::NoFunction)?;
        match self.dial {
            None => Ok((function.encode(features)?, Weighing::plain())),
            Some(dial) => {
                let weighed = dial.weigh(function, features)?;
                let weighing = Weighing::new(&weighed);
                Ok((weighed.into_codes(), weighing))
            }
        }
    }

    fn hits(&self, codes: &Codes, weighing: &Weighing, goal: Goal) -> Result<Hits> {
        self.run(codes, weighing, goal, |hit| &mut hit.distance, |search| search.run(codes))
    }

    fn run<H>(
        &self,
        codes: &Codes,
        weighing: &Weighing,
        goal: Goal,
        distance: fn(&mut H) -> &mut u32,
        run: impl FnOnce(&Search<'_>) -> Result<Hits<H>>,
    ) -> Result<Hits<H>> {
        let State { segments, sets, kernel, structures, layout, .. } = self.state;
        codes.expect_bits(layout.bits())?;
        let search = Search {
            segments,
            sets,
            filter: self.filter,
            kernel: *kernel,
            goal: weighing.divided(goal),
            bits: layout.bits(),
            weights: weighing.weights(),
            structures: *structures,
        };
        let found = match self.file {
            None => run(&search),
            Some(file) => file.reading(|| run(&search)),
        };
        Ok(weighing.multiplied(found?, distance))
    }
}

/// Returns the goal of the `k` nearest items; fails if `k` is 0.
fn nearest(k: usize) -> Result<Goal> {
    check_positive("k", k).map(|()| Goal::Nearest(k))
}

fn check_positive(name: &'static str, number: usize) -> Result<()> {
    if number == 0 { Err(Error::parameter(name, "1 or more", 0)) } else { Ok(()) }
}

/// [`View`] of an index that [stores vectors](crate::Index::with_vectors), in which the hits by
/// code are re-ranked by their vectors; see [`View::rerank`].
///
/// Scores are computed from the input vectors as they were before centring and scaling, rounded to
/// the stored [format](crate::VectorFormat). For a column that was constant in the warm-up of a
/// model with [`Scale::Standard`](crate::Scale::Standard), only the centre is stored.
#[derive(Clone, Copy)]
pub struct Reranked<'a> {
    view: View<'a>,
    candidates: usize,
}

impl Reranked<'_> {
    /// Returns the `k` nearest of the candidates by their vectors, in order of score and, where
    /// scores are equal, of id. Candidates are the nearest items by code, in order of distance and
    /// id. Their count is the requested number, but at least `k`.
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search), when the requested number of
    /// candidates is 0, and when the index stores no vectors ([`Error::VectorsNotKept`]).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits<RankedHit>> {
        check_positive("k", k)?;
        self.run(features, Goal::Nearest(self.candidates.max(k)), self.candidates.max(k), k)
    }

    /// Returns the items within the distance `radius` of each vector, in order of score and id. If
    /// more items than the requested number of candidates are within the radius, only the nearest
    /// of these items by code are returned.
    ///
    /// # Errors
    /// As for [`search`](Reranked::search).
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits<RankedHit>> {
        self.run(features, Goal::Within(radius), self.candidates, usize::MAX)
    }

    fn run(
        &self,
        features: Features<'_>,
        goal: Goal,
        candidates: usize,
        k: usize,
    ) -> Result<Hits<RankedHit>> {
        check_positive("rerank", self.candidates)?;
        let state = self.view.state;
        let function = state.function.as_ref().ok_or(Error::NoFunction)?;
        if state.vectors.and_then(Beside::vectors).is_none() {
            return Err(Error::VectorsNotKept { wanted: "to rank by" });
        }
        let (codes, weighing) = self.view.encode(features)?;
        let queries = function.vector_queries(state.metric, features)?;
        let distance: fn(&mut RankedHit) -> &mut u32 = |hit| &mut hit.distance;
        self.view.run(&codes, &weighing, goal, distance, |search| {
            search.rerank(&codes, (&queries, state.metric), candidates, k)
        })
    }
}

//! Searches of what an index holds at one moment: of all items or some, by codes or ranked again.

use super::file::Opened;
use super::search::{Filter, Goal, Hits, RankedHit, Search, Weighing};
use super::segment::Beside;
use super::state::State;
use crate::{Codes, Dial, Error, Features, Result, Weighed};

/// A way to look at a [`Snapshot`](crate::Snapshot): at all items, or only at those that pass a filter.
///
/// [`Snapshot::filtered`](crate::Snapshot::filtered) and [`Snapshot::rerank`](crate::Snapshot::rerank) make
/// one; it costs nothing, and what it is told adds up:
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
    /// The file that parts of the state are mapped from.
    file: Option<&'a Opened>,
    filter: Option<&'a Filter>,
    dial: Option<Dial>,
}

impl<'a> View<'a> {
    pub(super) fn new(state: &'a State, file: Option<&'a Opened>) -> Self {
        View { state, file, filter: None, dial: None }
    }

    /// The same, of items that pass a filter, which takes the place of another.
    #[must_use]
    pub fn filtered(self, filter: &'a Filter) -> Self {
        View { filter: Some(filter), ..self }
    }

    /// The same, in which the first `candidates` by code are re-ranked by their vectors and the
    /// [metric](crate::Index::ranked_by) of the index.
    #[must_use]
    pub fn rerank(self, candidates: usize) -> Reranked<'a> {
        Reranked { view: self, candidates }
    }

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

    /// As [`Snapshot::search`](crate::Snapshot::search).
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.of_features(features, nearest(k)?)
    }

    /// As [`Snapshot::search_codes`](crate::Snapshot::search_codes).
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search); with a dial, also when it has a float query,
    /// which takes vectors, or when the index has no function that tells label bits from detail bits.
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.of_codes(codes, nearest(k)?)
    }

    /// The `k` nearest items to queries that a dial has [weighed](Dial::weigh): once, for any number of
    /// searches. A dial of the view has nothing to do with them.
    ///
    /// # Errors
    /// When `k` is 0, the codes have another length, or the file is damaged.
    pub fn search_weighed(&self, queries: &Weighed, k: usize) -> Result<Hits> {
        self.hits(queries.codes(), &Weighing::new(queries), nearest(k)?)
    }

    /// As [`Snapshot::within`](crate::Snapshot::within).
    ///
    /// # Errors
    /// As for [`Snapshot::within`](crate::Snapshot::within).
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.of_features(features, Goal::Within(radius))
    }

    /// As [`Snapshot::within_codes`](crate::Snapshot::within_codes).
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

    /// The codes of vectors, and what their bits weigh.
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

/// So many of the nearest, which makes sense of one or more.
fn nearest(k: usize) -> Result<Goal> {
    check_positive("k", k).map(|()| Goal::Nearest(k))
}

fn check_positive(name: &'static str, number: usize) -> Result<()> {
    if number == 0 { Err(Error::parameter(name, "1 or more", 0)) } else { Ok(()) }
}

/// A [`View`] of an index that [keeps vectors](crate::Index::with_vectors), in which what the codes find is
/// re-ranked by the vectors; see [`View::rerank`].
///
/// Scores are those of the vectors as they were given, before the index's function centred and scaled them, rounded to the
/// [format](crate::VectorFormat) that they are stored in. Of a column that was constant in the warm-up of a model with
/// [`Scale::Standard`](crate::Scale::Standard) the centre alone is stored.
#[derive(Clone, Copy)]
pub struct Reranked<'a> {
    view: View<'a>,
    candidates: usize,
}

impl Reranked<'_> {
    /// Returns the `k` nearest of the candidates by their vectors, in order of score and, where scores
    /// are equal, of id. Candidates are the items that come first by code, in order of distance and id:
    /// as many as were asked for, and no fewer than `k`.
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search), when candidates are 0, and when the index
    /// keeps no vectors ([`Error::VectorsNotKept`]).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits<RankedHit>> {
        check_positive("k", k)?;
        self.run(features, Goal::Nearest(self.candidates.max(k)), self.candidates.max(k), k)
    }

    /// The items up to a distance from each vector, in order of score and id: all of them, or those of
    /// them that come first by code, if they are more than the candidates that were asked for.
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

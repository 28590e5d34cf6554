//! Searches of what an index holds at one moment: of all items or some, by codes or ranked again.

use super::file::Opened;
use super::search::{Filter, Goal, Hits, RankedHit, Search};
use super::state::State;
use crate::kernel::VectorQuery;
use crate::{Codes, Error, Features, Result};

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
}

impl<'a> View<'a> {
    pub(super) fn new(state: &'a State, file: Option<&'a Opened>) -> Self {
        View { state, file, filter: None }
    }

    /// The same, of items that pass a filter, which takes the place of another.
    #[must_use]
    pub fn filtered(self, filter: &'a Filter) -> Self {
        View { filter: Some(filter), ..self }
    }

    /// The same, in which the first `candidates` that the codes find are put in order of the cosines of
    /// their vectors.
    #[must_use]
    pub fn rerank(self, candidates: usize) -> Reranked<'a> {
        Reranked { view: self, candidates }
    }

    /// As [`Snapshot::search`](crate::Snapshot::search).
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.search_codes(&self.encode(features)?, k)
    }

    /// As [`Snapshot::search_codes`](crate::Snapshot::search_codes).
    ///
    /// # Errors
    /// As for [`Snapshot::search`](crate::Snapshot::search).
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        check_positive("k", k)?;
        self.run(codes, Goal::Nearest(k), |search| search.run(codes))
    }

    /// As [`Snapshot::within`](crate::Snapshot::within).
    ///
    /// # Errors
    /// As for [`Snapshot::within`](crate::Snapshot::within).
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.within_codes(&self.encode(features)?, radius)
    }

    /// As [`Snapshot::within_codes`](crate::Snapshot::within_codes).
    ///
    /// # Errors
    /// As for [`Snapshot::within`](crate::Snapshot::within).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.run(codes, Goal::Within(radius), |search| search.run(codes))
    }

    fn encode(&self, features: Features<'_>) -> Result<Codes> {
        self.state.function.as_ref().ok_or(Error::NoFunction)?.encode(features)
    }

    fn run<T>(
        &self,
        codes: &Codes,
        goal: Goal,
        run: impl FnOnce(&Search<'_>) -> Result<T>,
    ) -> Result<T> {
        let State { segments, sets, kernel, structures, layout, .. } = self.state;
        let (kernel, structures, bits) = (*kernel, *structures, layout.bits());
        codes.expect_bits(bits)?;
        let search = Search { segments, sets, filter: self.filter, kernel, goal, bits, structures };
        match self.file {
            None => run(&search),
            Some(file) => file.reading(|| run(&search)),
        }
    }
}

fn check_positive(name: &'static str, number: usize) -> Result<()> {
    if number == 0 { Err(Error::parameter(name, "1 or more", 0)) } else { Ok(()) }
}

/// A [`View`] of an index that [keeps vectors](crate::Index::with_vectors), in which what the codes find is
/// put in order of the cosines of the vectors; see [`View::rerank`].
///
/// Cosines are those of vectors as the index's function [prepares](crate::HashFunction::prepared) them,
/// rounded to the [format](crate::VectorFormat) that they are kept in.
#[derive(Clone, Copy)]
pub struct Reranked<'a> {
    view: View<'a>,
    candidates: usize,
}

impl Reranked<'_> {
    /// The `k` items of the largest cosine among the candidates, in order of cosine and, where cosines
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

    /// The items up to a distance from each vector, in order of cosine and id: all of them, or those of
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
        if state.vectors.is_none() {
            return Err(Error::VectorsNotKept { wanted: "to rank by" });
        }
        let codes = function.encode(features)?;
        let prepared = function.prepared(features)?;
        let queries: Vec<VectorQuery> =
            prepared.chunks_exact(function.dim()).map(VectorQuery::new).collect();
        self.view.run(&codes, goal, |search| search.rerank(&codes, &queries, candidates, k))
    }
}

//! What searches find.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

/// An item that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Hit {
    /// In how many bits its code differs from the query's; searched with a [`Dial`](crate::Dial), what
    /// these bits weigh.
    pub distance: u32,
    /// Whose it is.
    pub id: u64,
}

impl Hit {
    /// An item at a distance.
    pub fn new(id: u64, distance: u32) -> Hit {
        Hit { distance, id }
    }
}

/// An item that was found by its code and ranked by its vector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankedHit {
    /// Whose it is.
    pub id: u64,
    /// Score of its vector by the [metric](crate::VectorMetric) of the index.
    pub score: f32,
    /// In how many bits its code differs from the query's; searched with a [`Dial`](crate::Dial), what
    /// these bits weigh.
    pub distance: u32,
}

impl RankedHit {
    /// An item with a score and a distance.
    pub fn new(id: u64, score: f32, distance: u32) -> RankedHit {
        RankedHit { id, score, distance }
    }

    /// The largest score first, and then the smallest id.
    pub(super) fn by_nearness(one: &RankedHit, other: &RankedHit) -> Ordering {
        other.score.total_cmp(&one.score).then(one.id.cmp(&other.id))
    }
}

/// What several queries found, each in order of distance and id; [`RankedHit`] hits in order of score, the nearest
/// first, and id.
///
/// The hits of all queries stand in one list, and [`offsets`](Hits::offsets) cut it, as compressed sparse rows
/// are cut:
///
/// ```
/// use hashbrook::{Codes, Hit, Index};
///
/// let mut index = Index::of_codes(8)?;
/// index.add_codes(&[7, 8, 9], &Codes::from_bytes(8, &[0b0, 0b1, 0b111])?, None)?;
/// let found = index.within_codes(&Codes::from_bytes(8, &[0b0, 0b110000, 0b111])?, 1)?;
/// assert_eq!(found.all(), [Hit::new(7, 0), Hit::new(8, 1), Hit::new(9, 0)]);
/// assert_eq!(found.offsets(), [0, 2, 2, 3]);
/// assert_eq!(found.row(0), &found.all()[0..2]);
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hits<H = Hit> {
    /// One more than queries: where the hits of each begin, and the end.
    offsets: Vec<usize>,
    hits: Vec<H>,
}

/// Of no queries.
impl<H> Default for Hits<H> {
    fn default() -> Self {
        Hits::with_capacity(0, 0)
    }
}

/// As a list of what each query found.
impl<H: Serialize> Serialize for Hits<H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<H> Hits<H> {
    pub(super) fn with_capacity(queries: usize, hits: usize) -> Self {
        let mut offsets = Vec::with_capacity(queries + 1);
        offsets.push(0);
        Hits { offsets, hits: Vec::with_capacity(hits) }
    }

    /// All hits, to be changed.
    pub(super) fn all_mut(&mut self) -> &mut [H] {
        &mut self.hits
    }

    /// Appends a row, written to the end of all hits.
    pub(super) fn write_row<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<H>) -> Result<(), E>,
    ) -> Result<(), E> {
        let written = write(&mut self.hits);
        self.offsets.push(self.hits.len());
        written
    }

    /// Puts hits into rows that are empty: into those of these numbers, which ascend.
    pub(super) fn fill_rows(&mut self, rows: Vec<(usize, Vec<H>)>)
    where
        H: Copy,
    {
        let Some(&(first, _)) = rows.first() else { return };
        let tail = self.hits.split_off(self.offsets[first]);
        let (before, mut start) = (self.hits.len(), 0);
        let mut rows = rows.into_iter().peekable();
        for row in first..self.len() {
            let end = self.offsets[row + 1] - before;
            match rows.next_if(|&(number, _)| number == row) {
                Some((_, hits)) => self.hits.extend(hits),
                None => self.hits.extend_from_slice(&tail[start..end]),
            }
            start = end;
            self.offsets[row + 1] = self.hits.len();
        }
    }

    pub(super) fn push(&mut self, row: Vec<H>) {
        self.hits.extend(row);
        self.offsets.push(self.hits.len());
    }

    /// Appends what other queries found.
    pub fn append(&mut self, other: Hits<H>) {
        let before = self.hits.len();
        self.offsets.extend(other.offsets[1..].iter().map(|end| before + end));
        self.hits.extend(other.hits);
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What one query found.
    ///
    /// # Panics
    /// When there is no such query.
    pub fn row(&self, query: usize) -> &[H] {
        &self.hits[self.offsets[query]..self.offsets[query + 1]]
    }

    /// What each query found.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[H]> {
        (0..self.len()).map(|query| self.row(query))
    }

    /// Where the hits of each query begin and end in [`all`](Hits::all): one number more than there are
    /// queries, the first of them 0. Query `q` found `all()[offsets()[q]..offsets()[q + 1]]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// All that was found, query after query.
    pub fn all(&self) -> &[H] {
        &self.hits
    }
}

//! [`Hits`]: results of searches.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

/// Item in the results of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Hit {
    /// Number of bits in which the item's code differs from the query's; with a
    /// [`Dial`](crate::Dial), the sum of the weights of these bits.
    pub distance: u32,
    /// Id of the item.
    pub id: u64,
}

impl Hit {
    /// Returns a hit at a distance.
    pub fn new(id: u64, distance: u32) -> Hit {
        Hit { distance, id }
    }
}

/// Item in the results of a search by code, re-ranked by its vector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankedHit {
    /// Id of the item.
    pub id: u64,
    /// Score of the item's vector by the [metric](crate::VectorMetric) of the index.
    pub score: f32,
    /// Number of bits in which the item's code differs from the query's; with a
    /// [`Dial`](crate::Dial), the sum of the weights of these bits.
    pub distance: u32,
}

impl RankedHit {
    /// Returns a hit with a score and a distance.
    pub fn new(id: u64, score: f32, distance: u32) -> RankedHit {
        RankedHit { id, score, distance }
    }

    /// Orders hits by descending score, then by ascending id.
    pub(super) fn by_nearness(one: &RankedHit, other: &RankedHit) -> Ordering {
        other.score.total_cmp(&one.score).then(one.id.cmp(&other.id))
    }
}

/// Hits of several queries. The hits of each query are in order of distance and id; hits of type
/// [`RankedHit`] are in order of score (nearest first) and id.
///
/// The hits of all queries are stored in one list. [`offsets`](Hits::offsets) delimit the hits of
/// each query, as in compressed sparse rows:
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
    /// Start of the hits of each query in `hits`, and the end of the last.
    offsets: Vec<usize>,
    hits: Vec<H>,
}

/// Returns hits of no queries.
impl<H> Default for Hits<H> {
    fn default() -> Self {
        Hits::with_capacity(0, 0)
    }
}

/// Serializes a list of lists: the hits of each query.
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

    /// Returns all hits for modification.
    pub(super) fn all_mut(&mut self) -> &mut [H] {
        &mut self.hits
    }

    /// Adds a query. `write` appends the query's hits to the list of all hits.
    pub(super) fn write_row<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<H>) -> Result<(), E>,
    ) -> Result<(), E> {
        let written = write(&mut self.hits);
        self.offsets.push(self.hits.len());
        written
    }

    /// Fills empty rows with hits. `rows` has pairs of row number and hits, by ascending number.
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

    /// Appends the hits of other queries.
    pub fn append(&mut self, other: Hits<H>) {
        let before = self.hits.len();
        self.offsets.extend(other.offsets[1..].iter().map(|end| before + end));
        self.hits.extend(other.hits);
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no queries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the hits of one query.
    ///
    /// # Panics
    /// When `query` is not less than [`len`](Hits::len).
    pub fn row(&self, query: usize) -> &[H] {
        &self.hits[self.offsets[query]..self.offsets[query + 1]]
    }

    /// Returns an iterator over the hits of each query.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[H]> {
        (0..self.len()).map(|query| self.row(query))
    }

    /// Returns the offsets that delimit the hits of each query in [`all`](Hits::all). The first
    /// offset is 0, and there is one more offset than queries. Query `q` has the hits
    /// `all()[offsets()[q]..offsets()[q + 1]]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns all hits, query after query.
    pub fn all(&self) -> &[H] {
        &self.hits
    }
}

//! What searches find.

use serde::{Serialize, Serializer};

/// An item that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Hit {
    /// In how many bits its code differs from the query's.
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

/// What several queries found, each in order of distance and id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    ends: Vec<usize>,
    hits: Vec<Hit>,
}

/// As a list of what each query found.
impl Serialize for Hits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Hits {
    pub(super) fn with_capacity(queries: usize, hits: usize) -> Self {
        Hits { ends: Vec::with_capacity(queries), hits: Vec::with_capacity(hits) }
    }

    pub(super) fn push(&mut self, row: Vec<Hit>) {
        self.hits.extend(row);
        self.ends.push(self.hits.len());
    }

    /// Appends what other queries found.
    pub fn append(&mut self, other: Hits) {
        let before = self.hits.len();
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.hits.extend(other.hits);
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What one query found.
    ///
    /// # Panics
    /// When there is no such query.
    pub fn row(&self, query: usize) -> &[Hit] {
        let start = if query == 0 { 0 } else { self.ends[query - 1] };
        &self.hits[start..self.ends[query]]
    }

    /// What each query found.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Hit]> {
        (0..self.len()).map(|query| self.row(query))
    }

    /// All that was found, query after query.
    pub fn all(&self) -> &[Hit] {
        &self.hits
    }
}

//! Ranking of a database, or of a part of one, by Hamming distance for a query.

use super::metric::QueryRanking;
use super::precision_sum::PrecisionSum;
use crate::kernel::distances;
use crate::{Codes, MAX_BITS};

/// Number of parts of the database that are counted side by side. Consecutive items of one part
/// often increment the same counter, so that each increment waits for the previous one.
const PARTS: usize = 4;

/// Upper bound of the number of distances. It is a power of two, so that the inner loop needs no
/// bounds check.
const DISTANCES: usize = (MAX_BITS + 1).next_power_of_two();

/// The ranking of a database for one query at a time.
pub(super) struct Ranking<'a> {
    database: &'a Codes,
    distances: Vec<u16>,
    /// For the items at the same position of each part: number of earlier items of the part at the
    /// same distance.
    places: Vec<[u32; PARTS]>,
    /// For each distance and part: first the number of items, later the rank of the first of them.
    starts: Box<[[u32; PARTS]; DISTANCES]>,
    /// Number of items within each distance, inclusive.
    within: Vec<u32>,
    /// For each distance: number of relevant items at smaller distances.
    relevant_before: Vec<u32>,
    /// For each relevant item: number of relevant items up to and including it, and its rank.
    ranked: Vec<(u32, u32)>,
    /// Gain of the item at each of the first ranks (0 if it is not relevant), followed by one spare
    /// element.
    head: Vec<u32>,
}

impl<'a> Ranking<'a> {
    /// Creates a ranking whose first `depth` ranks are read individually.
    pub(super) fn new(database: &'a Codes, depth: usize) -> Self {
        Ranking {
            database,
            distances: vec![0; database.len()],
            places: vec![[0; PARTS]; database.len().div_ceil(PARTS)],
            starts: Box::new([[0; PARTS]; DISTANCES]),
            within: vec![0; database.bits() + 1],
            relevant_before: vec![0; database.bits() + 2],
            ranked: Vec::new(),
            head: vec![0; depth + 1],
        }
    }

    /// Finds the ranking for a query. Without `gains`, every relevant item has the gain 1.
    pub(super) fn find(&mut self, query: &[u64], (relevant, gains): (&[u32], &[u32])) {
        self.count(query, relevant);
        self.rank_relevant(relevant);

        // Ranks beyond the head are written to its last element, which is never read.
        self.head.fill(0);
        let beyond = self.head.len() - 1;
        if gains.is_empty() {
            self.ranked.iter().for_each(|(_, rank)| self.head[(*rank as usize).min(beyond)] = 1);
        } else {
            let ranked = self.ranked.iter().zip(gains);
            ranked.for_each(|((_, rank), gain)| self.head[(*rank as usize).min(beyond)] = *gain);
        }
    }

    /// Computes only those values of the ranking for a query that [`counts`](Self::counts) needs.
    pub(super) fn count(&mut self, query: &[u64], relevant: &[u32]) {
        distances(query, self.database.words(), &mut self.distances);
        self.rank();
        self.count_relevant(relevant);
    }

    /// Returns, for each distance, the number of items at this distance and the number of relevant
    /// items among them.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let before = std::iter::once(&0).chain(&self.within);
        let items = self.within.iter().zip(before).map(|(within, before)| within - before);
        items.zip(self.relevant_before.windows(2).map(|pair| pair[1] - pair[0]))
    }

    /// Returns the distance of an item.
    pub(super) fn distance(&self, row: u32) -> usize {
        usize::from(self.distances[row as usize])
    }

    /// Returns, for each relevant item in the given order, the number of relevant items up to and
    /// including it, and its rank.
    pub(super) fn ranked(&self) -> &[(u32, u32)] {
        &self.ranked
    }

    fn part_length(&self) -> usize {
        self.distances.len().div_ceil(PARTS).max(1)
    }

    /// Computes the values from which each item's rank follows: the first rank of its distance in
    /// its part, and its position among the items of this distance and part. Ranks count from 0.
    fn rank(&mut self) {
        let length = self.part_length();
        let mut parts = self.distances.chunks(length);
        let [a, b, c, d] = std::array::from_fn(|_| parts.next().unwrap_or_default());
        self.starts[..self.within.len()].fill([0; PARTS]);
        let mut count = |distance: u16, part: usize| {
            let count = &mut self.starts[usize::from(distance) % DISTANCES][part];
            (*count, *count += 1).0
        };
        let together = a.iter().zip(b).zip(c).zip(d).zip(&mut self.places);
        for ((((&a, &b), &c), &d), places) in together {
            *places = [count(a, 0), count(b, 1), count(c, 2), count(d, 3)];
        }
        // The last part may be shorter than the others; with very few items, other parts may be,
        // too.
        for (part, items) in [a, b, c].into_iter().enumerate() {
            for (&distance, places) in items.iter().zip(&mut self.places).skip(d.len()) {
                places[part] = count(distance, part);
            }
        }
        let mut next = 0;
        for (starts, within) in self.starts.iter_mut().zip(&mut self.within) {
            for start in starts {
                (*start, next) = (next, next + *start);
            }
            *within = next;
        }
    }

    /// Counts, for each distance, the relevant items at smaller distances.
    fn count_relevant(&mut self, relevant: &[u32]) {
        self.relevant_before.fill(0);
        for &row in relevant {
            self.relevant_before[usize::from(self.distances[row as usize]) + 1] += 1;
        }
        for at in 1..self.relevant_before.len() {
            self.relevant_before[at] += self.relevant_before[at - 1];
        }
    }

    /// Ranks the relevant items, after [`count`](Self::count).
    pub(super) fn rank_relevant(&mut self, relevant: &[u32]) {
        let length = self.part_length();
        let mut found = self.relevant_before.clone();
        let mut rest = relevant;
        self.ranked.clear();
        for part in 0..PARTS {
            let first = part * length;
            let count = rest.partition_point(|&row| (row as usize) < first + length);
            let (rows, others) = rest.split_at(count);
            rest = others;
            self.ranked.extend(rows.iter().map(|&row| {
                let distance = usize::from(self.distances[row as usize]);
                found[distance] += 1;
                let place = self.places[row as usize - first][part];
                (found[distance], self.starts[distance][part] + place)
            }));
        }
    }
}

impl QueryRanking for Ranking<'_> {
    fn precision_sum(&self) -> f64 {
        let mut sum = PrecisionSum::default();
        sum.add_all(&self.ranked, |&(found, rank)| f64::from(found) / (f64::from(rank) + 1.0));
        sum.value()
    }

    fn head(&self) -> &[u32] {
        &self.head[..self.head.len() - 1]
    }

    fn within(&self, radius: usize) -> (usize, usize) {
        let radius = radius.min(self.database.bits());
        (self.within[radius] as usize, self.relevant_before[radius + 1] as usize)
    }
}

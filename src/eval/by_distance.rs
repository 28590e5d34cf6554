//! The metrics of a ranking by Hamming distance.

use rayon::prelude::*;

use super::evaluation::{Evaluation, check};
use super::metric::{Metric, QueryRanking, Scores, Scoring};
use crate::kernel::distances;
use crate::similarity::Carriers;
use crate::{Codes, Labels, MAX_BITS, Result};

/// Ranks the whole database for every query and measures how well it does. Runs in parallel over
/// the queries; the result does not depend on how many threads there are.
///
/// # Errors
/// When codes and labels do not match, the codes have different lengths, a metric looks at the first 0
/// ranks, or there is nothing to search or to search for.
pub fn evaluate(
    queries: &Codes,
    query_labels: Labels<'_>,
    database: &Codes,
    database_labels: Labels<'_>,
    metrics: &[Metric],
) -> Result<Evaluation> {
    database.expect_bits(queries.bits())?;
    check((queries.len(), query_labels), (database.len(), database_labels))?;
    let scoring = Scoring::new(metrics, database.len())?;
    let carriers = Carriers::of_rows(database_labels);
    let scores: Vec<Scores> = (0..queries.len())
        .into_par_iter()
        .map_init(
            || Ranking::new(database, scoring.depth()),
            |ranking, query| {
                let (relevant, gains) = carriers.of_any_counted(query_labels.row(query));
                ranking.find(queries.code(query), (&relevant, &gains));
                scoring.score(ranking, (&relevant, &gains))
            },
        )
        .collect();

    Ok(Evaluation::of(&scores, database.len(), &scoring))
}

/// The database is walked in this many parts side by side, so that one item's count need not wait
/// for that of the item before it, which is most often the same one.
const PARTS: usize = 4;

/// More distances than there can be, and a power of two, so that the inner loop need not check.
const DISTANCES: usize = (MAX_BITS + 1).next_power_of_two();

/// The ranking of a database for one query at a time.
struct Ranking<'a> {
    database: &'a Codes,
    distances: Vec<u16>,
    /// Per item, side by side: how many of its part come before it at its distance.
    places: Vec<[u32; PARTS]>,
    /// Per distance and part: how many items; then the rank of the first of them.
    starts: Box<[[u32; PARTS]; DISTANCES]>,
    /// Per distance: how many items lie within it.
    within: Vec<u32>,
    /// Per distance: how many relevant items lie at smaller ones.
    relevant_before: Vec<u32>,
    /// Per relevant item: how many relevant ones there are up to it, and its rank.
    ranked: Vec<(u32, u32)>,
    /// The gain of the item at each of the first ranks, 0 if it is not relevant; and one place more.
    head: Vec<u32>,
}

impl<'a> Ranking<'a> {
    /// One whose first `depth` ranks are looked at one by one.
    fn new(database: &'a Codes, depth: usize) -> Self {
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
    fn find(&mut self, query: &[u64], (relevant, gains): (&[u32], &[u32])) {
        distances(query, self.database.words(), &mut self.distances);
        self.rank();
        self.count_relevant(relevant);
        self.rank_relevant(relevant);

        // Ranks beyond the head fall on its last place, which belongs to none.
        self.head.fill(0);
        let beyond = self.head.len() - 1;
        if gains.is_empty() {
            self.ranked.iter().for_each(|(_, rank)| self.head[(*rank as usize).min(beyond)] = 1);
        } else {
            let ranked = self.ranked.iter().zip(gains);
            ranked.for_each(|((_, rank), gain)| self.head[(*rank as usize).min(beyond)] = *gain);
        }
    }

    fn part_length(&self) -> usize {
        self.distances.len().div_ceil(PARTS).max(1)
    }

    /// Finds every item's rank, from 0: the start of its distance in its part, and its place there.
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
        // The last part may be shorter; so may others, when there are but a few items.
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

    /// Counts for each distance the relevant items at smaller ones.
    fn count_relevant(&mut self, relevant: &[u32]) {
        self.relevant_before.fill(0);
        for &row in relevant {
            self.relevant_before[usize::from(self.distances[row as usize]) + 1] += 1;
        }
        for at in 1..self.relevant_before.len() {
            self.relevant_before[at] += self.relevant_before[at - 1];
        }
    }

    /// Ranks the relevant items.
    fn rank_relevant(&mut self, relevant: &[u32]) {
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
        sum_of_ratios(&self.ranked)
    }

    fn head(&self) -> &[u32] {
        &self.head[..self.head.len() - 1]
    }

    fn within(&self, radius: usize) -> (usize, usize) {
        let radius = radius.min(self.database.bits());
        (self.within[radius] as usize, self.relevant_before[radius + 1] as usize)
    }
}

/// The sum of `found / (rank + 1)`, in several sums at once so that it is vectorised.
fn sum_of_ratios(ranked: &[(u32, u32)]) -> f64 {
    let ratio = |&(found, rank): &(u32, u32)| f64::from(found) / (f64::from(rank) + 1.0);
    let (chunks, rest) = ranked.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, pair)| *sum += ratio(pair));
    }
    sums.iter().sum::<f64>() + rest.iter().map(ratio).sum::<f64>()
}

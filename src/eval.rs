//! Evaluation: how good a ranking by Hamming distance is.
//!
//! # Conventions
//!
//! They are those of the papers' own evaluation programs, and they matter: with supervised codes
//! most of a ranking is ties.
//!
//! * The database is ranked by distance, and **by position among equals**: a stable sort.
//! * An item is relevant to a query when they share at least one label.
//! * **mAP**: the mean over queries of the average precision of the whole ranking,
//!   `(1/P) sum (relevant so far) / rank` over the `P` relevant items. Queries that have none are
//!   left out.
//! * **mAP@R**: the same over the first `R` of the ranking, divided by the number of relevant
//!   items *among those*; queries that have none there are left out.
//! * **precision@R**: the part of the first `R` that is relevant (of all, if the database is
//!   smaller); mean over all queries.
//! * **precision within a radius**: the part of the items at that distance or less that is
//!   relevant; **0 where there are none**; mean over all queries.
//!
//! * **nDCG@R**: `sum g / log2(1 + rank)` over the first `R` of the ranking, where the gain `g` of an item
//!   is the number of labels that it shares with the query, divided by what the best order of the
//!   whole database would give. Queries that have nothing relevant are left out.
//!
//! [`neighbours`] measures something else: whether codes keep what is near by the vectors themselves.
//!
//! # Rankings by something else than Hamming distance
//!
//! [`evaluate_scores`] takes these metrics of any ranking by scores, the smallest first and **by position
//! among equals**: of a [`Dial`], which weighs label bits and detail bits, or weighs each bit by how
//! sure the query is of it, and of the [`Cosine`] of the vectors themselves. *Within a radius* then means:
//! of a score of at most so much. [`neighbours_by`] does the same for neighbours.
//!
//! # How it is fast
//!
//! Distances are small whole numbers, so nothing is sorted: counting how many items lie at each
//! distance tells where each distance begins in the ranking, and the count that an item finds tells
//! its place there. All metrics come out of that one walk.

mod cosine;
mod dial;
mod ndcg;
mod neighbours;
mod scored;

use rayon::prelude::*;
use serde::Serialize;

pub use self::cosine::Cosine;
pub use self::dial::{Dial, Dialled, Weighed};
use self::ndcg::Discounts;
pub use self::neighbours::{Items, Neighbours, neighbours, neighbours_by};
pub use self::scored::{Scorer, evaluate_scores};

use crate::kernel::distances;
use crate::similarity::Carriers;
use crate::{Codes, Error, Labels, MAX_BITS, Result};

/// What to measure besides mAP.
///
/// There may be more one day: begin with the default, or with [these](Measures::new), and change what
/// should be different.
///
/// ```
/// use hashbrook::eval::Measures;
///
/// let mut measures = Measures::default();
/// measures.radii = vec![0, 1, 2];
/// assert_eq!(measures, Measures::new(&[1000], &[1, 5, 10, 100], &[0, 1, 2]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Measures {
    /// The `R` of each mAP@R.
    pub tops: Vec<usize>,
    /// The `R` of each precision@R.
    pub precision_at: Vec<usize>,
    /// The radii of precision within a radius; inclusive.
    pub radii: Vec<usize>,
    /// The `R` of each nDCG@R.
    pub ndcg_at: Vec<usize>,
}

impl Default for Measures {
    fn default() -> Self {
        Measures::new(&[1000], &[1, 5, 10, 100], &[2])
    }
}

impl Measures {
    /// mAP@R and precision@R for each of these `R`, and precision within each of these radii; and
    /// nDCG@100.
    pub fn new(tops: &[usize], precision_at: &[usize], radii: &[usize]) -> Measures {
        let (tops, precision_at) = (tops.to_vec(), precision_at.to_vec());
        Measures { tops, precision_at, radii: radii.to_vec(), ndcg_at: vec![100] }
    }

    /// How many of the first ranks are looked at one by one.
    fn deepest(&self) -> usize {
        let ranks = self.tops.iter().chain(&self.precision_at).chain(&self.ndcg_at);
        ranks.max().copied().unwrap_or(0)
    }
}

/// What was measured; means over queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// How many queries there were.
    pub queries: usize,
    /// How many of them have something relevant in the database.
    pub answerable: usize,
    /// The size of the database.
    pub database: usize,
    /// mAP; not a number if no query is answerable.
    pub map: f64,
    /// mAP@R for each of [`Measures::tops`]; not a number if no query has anything relevant there.
    pub map_at: Vec<(usize, f64)>,
    /// precision@R for each of [`Measures::precision_at`].
    pub precision_at: Vec<(usize, f64)>,
    /// Precision within each of [`Measures::radii`].
    pub precision_radius: Vec<(usize, f64)>,
    /// nDCG@R for each of [`Measures::ndcg_at`]; not a number if no query is answerable.
    pub ndcg_at: Vec<(usize, f64)>,
}

/// Ranks the whole database for every query and measures how well it does. Runs in parallel over
/// the queries; the result does not depend on how many threads there are.
///
/// # Errors
/// When codes and labels do not match, the codes have different lengths, a measure is 0, or there
/// is nothing to search or to search for.
pub fn evaluate(
    queries: &Codes,
    query_labels: Labels<'_>,
    database: &Codes,
    database_labels: Labels<'_>,
    measures: &Measures,
) -> Result<Evaluation> {
    database.expect_bits(queries.bits())?;
    check((queries.len(), query_labels), (database.len(), database_labels), measures)?;
    let carriers = Carriers::of_rows(database_labels);
    let discounts = Discounts::new(measures, database.len());
    let scores: Vec<Scores> = (0..queries.len())
        .into_par_iter()
        .map_init(
            || Ranking::new(database, measures),
            |ranking, query| {
                let (relevant, gains) = carriers.of_any_counted(query_labels.row(query));
                let mut scores = ranking.score(queries.code(query), (&relevant, &gains), measures);
                scores.ndcg_at = discounts.score(&ranking.head, (&relevant, &gains), measures);
                scores
            },
        )
        .collect();

    Ok(summary(&scores, database.len(), measures))
}

/// What must be so for there to be anything to measure: rows and their labels, of the queries and of
/// the database.
fn check(
    queries: (usize, Labels<'_>),
    database: (usize, Labels<'_>),
    measures: &Measures,
) -> Result<()> {
    for (rows, labels) in [queries, database] {
        if rows != labels.len() {
            return Err(Error::LabelCount { rows, labels: labels.len() });
        }
    }
    for (name, (rows, _)) in [("queries", queries), ("database", database)] {
        if rows == 0 {
            return Err(Error::parameter(name, "1 or more", 0));
        }
    }
    for (name, ranks) in [
        ("top", &measures.tops),
        ("precision_at", &measures.precision_at),
        ("ndcg_at", &measures.ndcg_at),
    ] {
        if ranks.contains(&0) {
            return Err(Error::parameter(name, "1 or more", 0));
        }
    }
    Ok(())
}

/// The means of what the queries score.
fn summary(scores: &[Scores], database: usize, measures: &Measures) -> Evaluation {
    let mean = |score: &dyn Fn(&Scores) -> Option<f64>| {
        let scores: Vec<f64> = scores.iter().filter_map(score).collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    let means = |of: &[usize], score: &dyn Fn(&Scores, usize) -> Option<f64>| {
        of.iter().enumerate().map(|(at, &name)| (name, mean(&|s| score(s, at)))).collect()
    };
    Evaluation {
        queries: scores.len(),
        answerable: scores.iter().filter(|score| score.average.is_some()).count(),
        database,
        map: mean(&|score| score.average),
        map_at: means(&measures.tops, &|score, at| score.average_at[at]),
        precision_at: means(&measures.precision_at, &|score, at| Some(score.precision_at[at])),
        precision_radius: means(&measures.radii, &|score, at| Some(score.precision_radius[at])),
        ndcg_at: means(&measures.ndcg_at, &|score, at| score.ndcg_at[at]),
    }
}

/// What one query scores.
struct Scores {
    average: Option<f64>,
    average_at: Vec<Option<f64>>,
    precision_at: Vec<f64>,
    precision_radius: Vec<f64>,
    ndcg_at: Vec<Option<f64>>,
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
    fn new(database: &'a Codes, measures: &Measures) -> Self {
        let head = measures.deepest().min(database.len());
        Ranking {
            database,
            distances: vec![0; database.len()],
            places: vec![[0; PARTS]; database.len().div_ceil(PARTS)],
            starts: Box::new([[0; PARTS]; DISTANCES]),
            within: vec![0; database.bits() + 1],
            relevant_before: vec![0; database.bits() + 2],
            ranked: Vec::new(),
            head: vec![0; head + 1],
        }
    }

    /// Without `gains`, every relevant item has the gain 1. nDCG is left to [`Discounts`].
    fn score(
        &mut self,
        query: &[u64],
        (relevant, gains): (&[u32], &[u32]),
        measures: &Measures,
    ) -> Scores {
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
        let sum = sum_of_ratios(&self.ranked);
        let head = &self.head[..beyond];
        let (average_at, precision_at) = score_head(head, self.database.len(), measures);
        let precision_radius = measures.radii.iter().map(|&radius| {
            let radius = radius.min(self.database.bits());
            match self.within[radius] {
                0 => 0.0,
                items => f64::from(self.relevant_before[radius + 1]) / f64::from(items),
            }
        });
        Scores {
            average: (!relevant.is_empty()).then(|| sum / relevant.len() as f64),
            average_at,
            precision_at,
            precision_radius: precision_radius.collect(),
            ndcg_at: Vec::new(),
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

/// The metrics that look at the first ranks only, of the gain of the item at each of them: 0 if it is not relevant.
fn score_head(head: &[u32], database: usize, measures: &Measures) -> (Vec<Option<f64>>, Vec<f64>) {
    // For the first r ranks, at r: the relevant ones, and the sum of the precisions at them.
    let mut totals = Vec::with_capacity(head.len() + 1);
    totals.push((0u32, 0.0));
    for (rank, &gain) in head.iter().enumerate() {
        let (mut found, mut sum) = totals[rank];
        if gain > 0 {
            found += 1;
            sum += f64::from(found) / (rank + 1) as f64;
        }
        totals.push((found, sum));
    }
    let first = |r: usize| totals[r.min(database)];
    let average_at = measures.tops.iter().map(|&r| {
        let (found, sum) = first(r);
        (found > 0).then(|| sum / f64::from(found))
    });
    let precision_at =
        measures.precision_at.iter().map(|&r| f64::from(first(r).0) / r.min(database) as f64);
    (average_at.collect(), precision_at.collect())
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

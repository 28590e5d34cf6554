//! Advice on the length of codes, measured for several lengths on a sample of labelled rows.
//!
//! [`brook`](crate::learners::brook) learns sums that do not depend on the length of codes, so one
//! pass over the sample gives functions of all lengths
//! ([`Model::with_bits`](crate::Model::with_bits)). Some rows are held out as queries; each query
//! searches all other rows. More rows improve the function, and give queries of rare classes more
//! items to find. The growth of precision@10 from half of the sample to the whole sample is
//! therefore extrapolated to the complete data. mAP is that of the sample; it falls with more data.

use std::ops::Range;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde::Serialize;

use crate::eval::{Items, Metric, evaluate, evaluate_each, neighbours};
use crate::labels::LabelList;
use crate::{
    Batch, Codes, Error, Features, HashFunction, Index, Labels, Method, Model, Result, Setup,
};

/// Number of sample rows that suffices to predict precision@10 well.
pub const SAMPLE: usize = 40_000;

/// Maximum number of held-out queries.
///
/// `QUERY_SHARE` limits them as well: at most one in `QUERY_SHARE` labelled rows is held out.
const QUERIES: usize = 2_000;
const QUERY_SHARE: usize = 10;

/// Number of queries whose true neighbours are computed, by comparing them with all vectors.
const NEIGHBOUR_QUERIES: usize = 500;

/// Minimum number of labelled rows; with fewer, nothing is measured.
const FEWEST: usize = 50;

/// Largest loss of precision@10 of the recommended length, compared with the best length. If the
/// noise of the difference is larger, the noise is the limit.
const TOLERANCE: f64 = 0.02;

/// Number of standard errors up to which a difference between two lengths is within noise.
const STANDARD_ERRORS: f64 = 2.0;

/// Number of rows that are learned at a time.
const ROWS_AT_ONCE: usize = 2_000;

/// Bits per doubling of the number of labels below which codes count as short.
const BITS_PER_DOUBLING: f64 = 9.0;

/// Returns whether codes of this length are short for the number of labels: fewer than 9 bits for
/// each doubling of the number. If so, [`advise`] is likely to recommend longer codes.
pub fn is_short(bits: usize, labels: usize) -> bool {
    labels > 1 && (bits as f64) < BITS_PER_DOUBLING * (labels as f64).log2()
}

/// Options of [`advise`]. Start with the default, and change single fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdviceOptions {
    /// Method to learn with: brook, with any parameters.
    pub method: Method,
    /// Preparation of the vectors.
    pub setup: Setup,
    /// Seed of the model.
    pub seed: u64,
    /// Lengths of codes to measure, in bits.
    pub lengths: Vec<usize>,
    /// Number of candidates that are re-ranked by the cosine of their vectors.
    pub candidates: Vec<usize>,
    /// Number of rows of the complete data, for which precision@10 and learning time are predicted.
    /// `None` stands for the number of rows of the sample.
    pub rows: Option<u64>,
    /// Time after which no further length is measured.
    pub time_limit: Duration,
}

impl Default for AdviceOptions {
    fn default() -> Self {
        AdviceOptions {
            method: Method::Brook(Default::default()),
            setup: Setup::default(),
            seed: 1,
            lengths: vec![32, 64, 128, 256, 512],
            candidates: vec![30, 100, 1000],
            rows: None,
            time_limit: Duration::from_secs(45),
        }
    }
}

/// Measurements of codes of several lengths.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// Number of sample rows that were searched.
    pub database: usize,
    /// Number of rows that were held out as queries.
    pub queries: usize,
    /// Number of labels in the sample.
    pub labels: usize,
    /// Measurements by length, ascending.
    pub lengths: Vec<LengthAdvice>,
    /// Lengths that were not measured within the time limit.
    pub omitted: Vec<usize>,
    /// Shortest length whose precision@10 is at most 0.02, or at most the noise, below the best.
    pub recommended: usize,
    /// Largest difference from the precision@10 of the best length that is within noise: two
    /// standard errors over the queries, for the length with the largest standard error. The value
    /// is large if there are few queries.
    pub noise: f64,
    /// Precision@10 of an exact search by the cosine of the vectors.
    pub by_vectors: f64,
}

/// Measurements of codes of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LengthAdvice {
    /// Length of the codes, in bits.
    pub bits: usize,
    /// Share of the ten nearest items that share a label with the query, predicted for the complete
    /// data.
    pub precision_at_10: f64,
    /// Share of the ten nearest items that share a label with the query, measured on the sample.
    pub sample_precision_at_10: f64,
    /// Standard error of `sample_precision_at_10`, which is a mean over the queries.
    pub standard_error: f64,
    /// Mean average precision over the sample.
    pub map: f64,
    /// Share of the ten nearest items by cosine that are among the first 10 by codes.
    pub neighbours: f64,
    /// Precision@10, and share of the ten nearest items by cosine in the result, for each number of
    /// re-ranked candidates.
    pub reranked: Vec<Reranked>,
    /// Bytes per item in an index for the code, the id and the labels.
    pub item_bytes: f64,
    /// Bytes per item of the search structure.
    pub structure_bytes: f64,
    /// Predicted time to learn the complete data on this machine, in seconds.
    pub learning_seconds: f64,
}

/// Effect of re-ranking the first candidates by the cosine of their vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reranked {
    /// Number of candidates.
    pub candidates: usize,
    /// Precision@10 after re-ranking.
    pub precision_at_10: f64,
    /// Share of the ten nearest items by cosine that are among the candidates, and so in the
    /// result.
    pub neighbours: f64,
}

impl Advice {
    /// Returns whether the queries are so few that the noise exceeds 0.02, the difference that
    /// decides between lengths.
    pub fn is_noisy(&self) -> bool {
        self.noise > TOLERANCE
    }

    /// Returns the measurements of a length, or `None` if the length was not measured.
    pub fn at(&self, bits: usize) -> Option<&LengthAdvice> {
        self.lengths.iter().find(|length| length.bits == bits)
    }
}

/// Measures codes of several lengths on a sample. `progress` is called with the share of the work
/// that is done, from 0 to 1.
///
/// ```
/// use hashbrook::advice::{AdviceOptions, advise};
/// use hashbrook::dataset::{Digits, digits};
/// use hashbrook::{Batch, Features, Labels};
///
/// let Digits { features, labels } = digits();
/// let sample = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
/// let mut options = AdviceOptions::default();
/// options.lengths = vec![2, 64];
/// let advice = advise(sample, &options, &mut |_| {})?;
/// assert!(advice.lengths[1].precision_at_10 > advice.lengths[0].precision_at_10);
/// assert_eq!(advice.recommended, 64);
/// # Ok::<(), hashbrook::Error>(())
/// ```
///
/// # Errors
/// When the sample has fewer than 50 labelled rows, a length is out of range, or the method is not
/// brook.
pub fn advise(
    sample: Batch<'_>,
    options: &AdviceOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<Advice> {
    let clock = Instant::now();
    let labels = sample.require_labels("advice")?;
    let mut lengths = options.lengths.clone();
    lengths.sort_unstable();
    lengths.dedup();
    let most = *lengths.last().ok_or_else(|| Error::parameter("lengths", "1 or more", 0))?;
    let (database, queries) = split(sample.features(), labels, options.seed)?;
    let method = &options.method;
    let mut model =
        method.start_with(sample.features().dim(), most, options.seed, options.setup.clone())?;
    let steps = (lengths.len() + 1) as f64;
    let rows = options.rows.unwrap_or(sample.len() as u64);
    let half = database.labels.len() / 2;
    let mut learned_in =
        learn(&mut model, &database, 0..half, &mut |share| progress(share / steps))?;
    let is_part = rows > sample.len() as u64;
    let half_model = is_part.then(|| model.clone());
    let rest = half..database.labels.len();
    learned_in += learn(&mut model, &database, rest, &mut |share| progress(share / steps))?;
    let ending = Instant::now();
    model.end_warmup()?;
    learned_in += ending.elapsed();
    let per_row = learned_in.as_secs_f64() / database.labels.len() as f64;
    let mut advice = Advice {
        database: database.labels.len(),
        queries: queries.labels.len(),
        labels: labels_of(labels),
        lengths: Vec::new(),
        omitted: Vec::new(),
        recommended: 0,
        noise: 0.0,
        by_vectors: 0.0,
    };
    let mut precisions: Vec<Vec<f64>> = Vec::new();
    for (at, &bits) in lengths.iter().enumerate() {
        if at > 0 && clock.elapsed() > options.time_limit {
            advice.omitted.push(bits);
            continue;
        }
        let solving = Instant::now();
        let function = model.with_bits(bits)?.try_hash_function()?;
        let seconds = per_row * rows as f64 + solving.elapsed().as_secs_f64();
        let measured = measure(&function, &database, &queries, &options.candidates, seconds)?;
        advice.by_vectors = measured.by_vectors;
        advice.lengths.push(measured.length);
        precisions.push(measured.precisions);
        progress((at + 2) as f64 / steps);
    }
    if let Some(mut half_model) = half_model {
        half_model.end_warmup()?;
        let middle = &advice.lengths[advice.lengths.len() / 2];
        let function = half_model.with_bits(middle.bits)?.try_hash_function()?;
        let of_half = precision(&function, &database.first(half), &queries)?;
        let share = sample.len() as f64 / rows as f64;
        let growth = (middle.sample_precision_at_10 - of_half) * growth_factor(share);
        for length in &mut advice.lengths {
            length.precision_at_10 = (length.precision_at_10 + growth).clamp(0.0, 1.0);
        }
    }
    let recommended;
    (recommended, advice.noise) = recommend(&precisions);
    advice.recommended = advice.lengths[recommended].bits;
    Ok(advice)
}

/// Returns the position of the recommended length, and the noise of the differences.
///
/// `precisions` holds the precision@10 of each query, for each length.
fn recommend(precisions: &[Vec<f64>]) -> (usize, f64) {
    // Compares means on the sample, because predicted precisions are clamped to 1, which distorts
    // differences.
    let means: Vec<f64> = precisions.iter().map(|of_queries| mean(of_queries)).collect();
    let best = (0..means.len()).max_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0);
    // All lengths answer the same queries, so differences vary less than the precisions do.
    let noises: Vec<f64> = precisions
        .iter()
        .map(|of_queries| {
            let pairs = of_queries.iter().zip(&precisions[best]);
            let differences: Vec<f64> = pairs.map(|(one, best)| best - one).collect();
            STANDARD_ERRORS * standard_error(&differences)
        })
        .collect();
    let is_enough = |&at: &usize| means[best] - means[at] <= TOLERANCE.max(noises[at]);
    let enough = (0..means.len()).find(is_enough).unwrap_or(0);
    (enough, noises.into_iter().fold(0.0, f64::max))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the standard error of the mean.
fn standard_error(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let count = values.len() as f64;
    (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt()
}

/// Returns the ratio of two growths of precision: from the sample to the complete data, and from
/// half of the sample to the sample. `share` is the sample's share of the complete data. Missing
/// precision is assumed to be inversely proportional to the square root of the number of rows.
fn growth_factor(share: f64) -> f64 {
    (1.0 - share.sqrt()) / (2f64.sqrt() - 1.0)
}

/// Rows and their labels.
struct Rows {
    values: Vec<f32>,
    labels: LabelList,
    dim: usize,
}

impl Rows {
    fn features(&self) -> Result<Features<'_>> {
        Features::new(&self.values, self.dim)
    }

    fn first(&self, count: usize) -> Rows {
        let rows: Vec<usize> = (0..count).collect();
        Rows {
            values: self.values[..count * self.dim].to_vec(),
            labels: self.labels.select(&rows),
            dim: self.dim,
        }
    }
}

/// Returns `count` of `total` rows, ascending, or all rows if `total` is smaller. Rows are drawn at
/// random, since labels may repeat at regular distances.
pub fn sample_rows(total: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = rand::seq::index::sample(&mut random, total, count.min(total)).into_vec();
    rows.sort_unstable();
    rows
}

/// Holds out labelled rows as queries. Returns the database, which has all other rows, and the
/// queries.
fn split(features: Features<'_>, labels: Labels<'_>, seed: u64) -> Result<(Rows, Rows)> {
    let labelled: Vec<usize> =
        (0..labels.len()).filter(|&row| !labels.row(row).is_empty()).collect();
    if labelled.len() < FEWEST {
        let expected = format!("{FEWEST} or more");
        return Err(Error::parameter("labelled rows", expected, labelled.len()));
    }
    let queries = (labelled.len() / QUERY_SHARE).min(QUERIES);
    let mut is_query = vec![false; labels.len()];
    for at in sample_rows(labelled.len(), queries, seed) {
        is_query[labelled[at]] = true;
    }
    let empty = || Rows { values: Vec::new(), labels: LabelList::new(), dim: features.dim() };
    let (mut database, mut held_out) = (empty(), empty());
    // Rows are shuffled so that the first half has all classes, even in a sorted sample.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    for row in order {
        let rows = if is_query[row] { &mut held_out } else { &mut database };
        rows.values.extend_from_slice(features.row(row));
        rows.labels.push_set(labels.row(row));
    }
    Ok((database, held_out))
}

fn labels_of(labels: Labels<'_>) -> usize {
    let mut all: Vec<u32> =
        (0..labels.len()).flat_map(|row| labels.row(row).iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// Learns a part of the database and returns the time that learning took.
fn learn(
    model: &mut Model,
    rows: &Rows,
    part: Range<usize>,
    progress: &mut dyn FnMut(f64),
) -> Result<Duration> {
    let clock = Instant::now();
    let batch = Batch::new(rows.features()?, rows.labels.view())?;
    for start in part.clone().step_by(ROWS_AT_ONCE) {
        let end = part.end.min(start + ROWS_AT_ONCE);
        model.learn(batch.slice(start..end))?;
        progress(end as f64 / batch.len() as f64);
    }
    Ok(clock.elapsed())
}

/// Returns the precision@10 of a function.
fn precision(function: &HashFunction, database: &Rows, queries: &Rows) -> Result<f64> {
    let codes = function.encode(database.features()?)?;
    let query_codes = function.encode(queries.features()?)?;
    let (labels, query_labels) = (database.labels.view(), queries.labels.view());
    let found = evaluate(&query_codes, query_labels, &codes, labels, &[Metric::PrecisionAt(10)])?;
    Ok(found.values[0].1)
}

/// Measurements of one length.
struct Measured {
    length: LengthAdvice,
    /// Precision@10 of each query.
    precisions: Vec<f64>,
    by_vectors: f64,
}

/// Measures one length.
fn measure(
    function: &HashFunction,
    database: &Rows,
    queries: &Rows,
    candidates: &[usize],
    learning_seconds: f64,
) -> Result<Measured> {
    let codes = function.encode(database.features()?)?;
    let query_codes = function.encode(queries.features()?)?;
    let (labels, query_labels) = (database.labels.view(), queries.labels.view());
    let metrics = [Metric::PrecisionAt(10), Metric::Map];
    let (found, each) = evaluate_each(&query_codes, query_labels, &codes, labels, &metrics)?;
    let precisions: Vec<f64> = each.iter().map(|values| values[0].unwrap_or(0.0)).collect();
    let of = |metric: Metric| {
        found.values.iter().find(|(other, _)| *other == metric).map_or(0.0, |(_, value)| *value)
    };
    // Every `stride`-th query is a random sample, since the queries were drawn at random.
    let stride = query_codes.len().div_ceil(NEIGHBOUR_QUERIES);
    let some: Vec<usize> = (0..query_codes.len()).step_by(stride).collect();
    let mut few = Rows { values: Vec::new(), labels: LabelList::new(), dim: queries.dim };
    for &query in &some {
        few.values.extend_from_slice(queries.features()?.row(query));
        few.labels.push_set(query_labels.row(query));
    }
    let among: Vec<usize> = std::iter::once(10).chain(candidates.iter().copied()).collect();
    let near = neighbours(
        Items::new(&query_codes.select(&some), few.features()?, few.labels.view())?,
        Items::new(&codes, database.features()?, labels)?,
        &among,
    )?;
    let reranked = near.kept.iter().zip(&near.reranked_at_10).skip(1);
    let reranked = reranked.map(|(&(candidates, neighbours), &(_, precision_at_10))| Reranked {
        candidates,
        precision_at_10,
        neighbours,
    });
    let (item_bytes, structure_bytes) = bytes(&codes, labels)?;
    let length = LengthAdvice {
        bits: function.bits(),
        precision_at_10: of(Metric::PrecisionAt(10)),
        sample_precision_at_10: of(Metric::PrecisionAt(10)),
        standard_error: standard_error(&precisions),
        map: of(Metric::Map),
        neighbours: near.kept[0].1,
        reranked: reranked.collect(),
        item_bytes,
        structure_bytes,
        learning_seconds,
    };
    Ok(Measured { length, precisions, by_vectors: near.by_vectors_at_10 })
}

/// Returns the bytes per item of an index without its search structure, and the bytes per item of
/// the search structure.
fn bytes(codes: &Codes, labels: Labels<'_>) -> Result<(f64, f64)> {
    let mut index = Index::of_codes(codes.bits())?;
    let ids: Vec<u64> = (0..codes.len() as u64).collect();
    index.add_codes(&ids, codes, Some(labels))?;
    index.build_search_structures()?;
    let statistics = index.statistics();
    let per_item = |bytes: usize| bytes as f64 / statistics.items as f64;
    Ok((per_item(statistics.item_bytes), per_item(statistics.structure_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_noise_recommends_no_longer_code() {
        // One query of ten has only relevant hits with the longer code, and none with the shorter.
        let short: Vec<f64> = (0..10).map(|query| if query == 0 { 0.0 } else { 0.5 }).collect();
        let long: Vec<f64> = (0..10).map(|query| if query == 0 { 1.0 } else { 0.5 }).collect();
        let (recommended, noise) = recommend(&[short.clone(), long.clone()]);
        assert_eq!(recommended, 0);
        assert!((noise - 0.2).abs() < 1e-9, "{noise}");
        // With 1,000 queries, the same share is significant.
        let (recommended, noise) = recommend(&[short.repeat(100), long.repeat(100)]);
        assert!(recommended == 1 && noise < TOLERANCE, "{noise}");
        // A difference that all queries agree on is significant, too.
        let short = vec![0.4; 10];
        assert_eq!(recommend(&[short.clone(), vec![0.5; 10]]), (1, 0.0));
        assert_eq!(recommend(&[short.clone(), vec![0.41; 10]]), (0, 0.0));
        assert_eq!(recommend(&[vec![1.0]]), (0, 0.0));
    }
}

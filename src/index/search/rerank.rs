//! Re-ranking of hits by their vectors.
//!
//! An index may store vectors as a fourth column (`segment/kind.rs`). The index's function prepares
//! them first. Prepared vectors are the input of the lift, so items can be re-encoded from them
//! (`renew.rs`). A row (`kernel/vectors/`) has the direction `u` of a prepared vector, as
//! half-precision numbers or as 8-bit integers with a factor; the length `l` of the prepared
//! vector; and the length of the input vector. The input vector was `x = c + l u / s`, for the
//! centre `c` and the scale `s` of the function, so `q . x = q . c + l (q / s) . u`: one product
//! with `u` yields the cosine, the inner product and the Euclidean distance. The header has the
//! metric. Checksums of vectors cover 256 items each, not 65,536 as for other columns, since
//! re-ranking reads scattered rows.
//!
//! A search returns hits with their slots (`search/found.rs`). This module reads rows in order of
//! slots, prefetching them, and sorts hits by score and id. Products are accumulated in sixteen
//! sums without fused multiply-add on every instruction set, so scores and order are the same on
//! every machine. Re-encoding from half-precision vectors may flip bits whose projections are close
//! to zero (`cargo bench --bench index -- rerank` counts them).

use super::found::Found;
use super::hits::{Hits, RankedHit};
use super::query::Search;
use crate::index::segment::{Beside, Kind};
use crate::kernel::VectorQuery;
use crate::{Codes, Result, VectorMetric};

/// Hit by code, with the position of the item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    distance: u32,
    id: u64,
    segment: u32,
    slot: u32,
}

impl Found for Candidate {
    fn new(distance: u32, id: u64, segment: usize, slot: u32) -> Self {
        Candidate { distance, id, segment: segment as u32, slot }
    }

    fn distance(&self) -> u32 {
        self.distance
    }
}

impl Search<'_> {
    /// Returns the `k` nearest items by vector among the first `candidates` items by code.
    pub(in crate::index) fn rerank(
        &self,
        codes: &Codes,
        (queries, metric): (&[VectorQuery], VectorMetric),
        candidates: usize,
        k: usize,
    ) -> Result<Hits<RankedHit>> {
        self.run_by(codes, |query, mut found: Vec<Candidate>| {
            found.truncate(candidates);
            self.rank((&queries[query], metric), found, k)
        })
    }

    fn rank(
        &self,
        (query, metric): (&VectorQuery, VectorMetric),
        found: Vec<Candidate>,
        k: usize,
    ) -> Result<Vec<RankedHit>> {
        let mut scores = vec![0.0; found.len()];
        for number in 0..self.segments.len() {
            self.scores_in(number, query, &found, &mut scores)?;
        }
        // During ranking, scores are converted so that the largest is the nearest; the last step
        // converts them back.
        let ranked = |(candidate, score): (&Candidate, f32)| RankedHit {
            id: candidate.id,
            score: metric.nearness(score),
            distance: candidate.distance,
        };
        let k = k.min(found.len());
        // Most hits rank behind the k-th best hit so far, and are skipped.
        let (mut best, mut least) = (Vec::with_capacity(2 * k), f32::NEG_INFINITY);
        for hit in found.iter().zip(scores).map(ranked).filter(|_| k > 0) {
            if hit.score >= least {
                best.push(hit);
            }
            if best.len() == 2 * k {
                best.select_nth_unstable_by(k - 1, RankedHit::by_nearness);
                best.truncate(k);
                least = best[k - 1].score;
            }
        }
        best.sort_unstable_by(RankedHit::by_nearness);
        best.truncate(k);
        best.iter_mut().for_each(|hit| hit.score = metric.nearness(hit.score) + 0.0);
        Ok(best)
    }

    /// Writes the scores of the candidates in one segment.
    fn scores_in(
        &self,
        number: usize,
        query: &VectorQuery,
        found: &[Candidate],
        scores: &mut [f32],
    ) -> Result<()> {
        let columns = self.segments[number].columns();
        let Some(vectors) = columns.vectors() else { return Ok(()) };
        let Beside::Vectors(rows) = vectors.rows else { return Ok(()) };
        let here = found.iter().enumerate().filter(|(_, c)| c.segment as usize == number);
        // The slot is in the upper half of the number, so that slot and place sort together.
        let mut places: Vec<u64> =
            here.map(|(place, c)| u64::from(c.slot) << 32 | place as u64).collect();
        if columns.is_mapped() {
            // Pages of a file are read fastest in order; rows in memory are prefetched in any
            // order.
            places.sort_unstable();
        }
        let slots: Vec<u32> = places.iter().map(|place| (place >> 32) as u32).collect();
        slots.iter().try_for_each(|&slot| columns.check(Kind::Vectors, slot as usize))?;
        let mut of_segment = vec![0.0; slots.len()];
        rows.scores(query, vectors.bytes(), &slots, &mut of_segment);
        for (place, score) in places.iter().zip(of_segment) {
            scores[*place as u32 as usize] = score;
        }
        Ok(())
    }
}

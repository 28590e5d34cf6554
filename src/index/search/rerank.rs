//! What codes find, ranked again by the vectors.

use super::found::Found;
use super::hits::{Hits, RankedHit};
use super::query::Search;
use crate::index::segment::{Beside, Kind};
use crate::kernel::VectorQuery;
use crate::{Codes, Result};

/// An item that was found by its code, and where it stands.
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
    /// The `k` of the largest cosine among the first `candidates` that each query finds by its code.
    pub(in crate::index) fn rerank(
        &self,
        codes: &Codes,
        queries: &[VectorQuery],
        candidates: usize,
        k: usize,
    ) -> Result<Hits<RankedHit>> {
        self.run_by(codes, |query, mut found: Vec<Candidate>| {
            found.truncate(candidates);
            self.rank(&queries[query], found, k)
        })
    }

    fn rank(&self, query: &VectorQuery, found: Vec<Candidate>, k: usize) -> Result<Vec<RankedHit>> {
        let mut cosines = vec![0.0; found.len()];
        for number in 0..self.segments.len() {
            self.cosines_in(number, query, &found, &mut cosines)?;
        }
        let ranked = |(candidate, cosine): (&Candidate, f32)| RankedHit {
            id: candidate.id,
            // One zero: -0 would come after 0.
            cosine: cosine + 0.0,
            distance: candidate.distance,
        };
        let k = k.min(found.len());
        // Most are behind the k-th of those before, and are passed over.
        let (mut best, mut least) = (Vec::with_capacity(2 * k), f32::NEG_INFINITY);
        for hit in found.iter().zip(cosines).map(ranked).filter(|_| k > 0) {
            if hit.cosine >= least {
                best.push(hit);
            }
            if best.len() == 2 * k {
                best.select_nth_unstable_by(k - 1, RankedHit::order);
                best.truncate(k);
                least = best[k - 1].cosine;
            }
        }
        best.sort_unstable_by(RankedHit::order);
        best.truncate(k);
        Ok(best)
    }

    /// The cosines of those that were found in a segment.
    fn cosines_in(
        &self,
        number: usize,
        query: &VectorQuery,
        found: &[Candidate],
        cosines: &mut [f32],
    ) -> Result<()> {
        let columns = self.segments[number].columns();
        let Some(vectors) = columns.vectors() else { return Ok(()) };
        let Beside::Vectors(rows) = vectors.rows else { return Ok(()) };
        let here = found.iter().enumerate().filter(|(_, c)| c.segment as usize == number);
        // Slot above place, so that both sort as one number.
        let mut places: Vec<u64> =
            here.map(|(place, c)| u64::from(c.slot) << 32 | place as u64).collect();
        if columns.is_mapped() {
            // Pages of a file are best gone through in order; memory is asked for ahead in any.
            places.sort_unstable();
        }
        let slots: Vec<u32> = places.iter().map(|place| (place >> 32) as u32).collect();
        slots.iter().try_for_each(|&slot| columns.check(Kind::Vectors, slot as usize))?;
        let mut of_segment = vec![0.0; slots.len()];
        rows.cosines(query, vectors.bytes(), &slots, &mut of_segment);
        for (place, cosine) in places.iter().zip(of_segment) {
            cosines[*place as u32 as usize] = cosine;
        }
        Ok(())
    }
}

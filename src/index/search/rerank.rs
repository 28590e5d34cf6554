//! What codes find, ranked again by the vectors.

use super::found::Found;
use super::hits::{Hits, RankedHit};
use super::query::Search;
use crate::index::segment::Kind;
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

    fn rank(
        &self,
        query: &VectorQuery,
        mut found: Vec<Candidate>,
        k: usize,
    ) -> Result<Vec<RankedHit>> {
        // In order of slots, so that pages of a file, and lines of memory, are gone through once. They
        // come in runs of ascending slots, one for each distance, which a stable sort makes use of.
        found.sort_by_key(|candidate| (candidate.segment, candidate.slot));
        let slots: Vec<u32> = found.iter().map(|candidate| candidate.slot).collect();
        let mut cosines = vec![0.0; found.len()];
        let mut start = 0;
        for of_segment in found.chunk_by(|one, other| one.segment == other.segment) {
            let columns = self.segments[of_segment[0].segment as usize].columns();
            let end = start + of_segment.len();
            if let Some(vectors) = columns.vectors() {
                let slots = &slots[start..end];
                slots.iter().try_for_each(|&slot| columns.check(Kind::Vectors, slot as usize))?;
                vectors.rows.cosines(query, vectors.bytes(), slots, &mut cosines[start..end]);
            }
            start = end;
        }
        let ranked = |(candidate, cosine): (&Candidate, f32)| RankedHit {
            id: candidate.id,
            // One zero: -0 would come after 0.
            cosine: cosine + 0.0,
            distance: candidate.distance,
        };
        let mut ranked: Vec<RankedHit> = found.iter().zip(cosines).map(ranked).collect();
        if k < ranked.len() {
            ranked.select_nth_unstable_by(k, RankedHit::order);
            ranked.truncate(k);
        }
        ranked.sort_unstable_by(RankedHit::order);
        Ok(ranked)
    }
}

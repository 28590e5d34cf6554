//! Stored vectors for re-ranking: rows of few bytes per number, and their scores for a query.
//!
//! A row consists of the direction of a prepared vector, a factor (for 8-bit integers), and the
//! lengths of the prepared vector and of the original vector.

mod rows;
#[cfg(target_arch = "x86_64")]
mod x86;

use self::rows::Given;
pub(crate) use self::rows::{Lengths, VectorQuery, VectorRows};
pub use self::rows::{VectorFormat, VectorMetric};
use super::instructions::Instructions;

impl VectorRows {
    /// Writes the scores of rows for a query to `out`. Fastest if `places` are ascending.
    pub(crate) fn scores(self, query: &VectorQuery, rows: &[u8], places: &[u32], out: &mut [f32]) {
        self.scores_by(Instructions::best(), query, rows, places, out);
    }

    fn scores_by(
        self,
        instructions: Instructions,
        query: &VectorQuery,
        rows: &[u8],
        places: &[u32],
        out: &mut [f32],
    ) {
        let given = Given { rows: self, query: &query.direction, bytes: rows };
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni | Instructions::Avx512 => {
                x86::products_avx512(&given, places, out)
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => x86::products_avx2(&given, places, out),
            Instructions::Portable => given.products(places, out),
        }
        for (&place, score) in places.iter().zip(out) {
            *score = query.score(*score, self.lengths(given.row(place)));
        }
    }
}

#[cfg(test)]
mod tests;

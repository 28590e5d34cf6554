//! Vectors that are kept to rank by: rows of few bytes a number, and their cosines to a query.
//!
//! A row is its numbers, and then what they are multiplied by: nothing for half precision, a factor for
//! whole numbers, and the length of the vector where vectors are not of unit length.

mod rows;
#[cfg(target_arch = "x86_64")]
mod x86;

use self::rows::Given;
pub use self::rows::VectorFormat;
pub(crate) use self::rows::{VectorQuery, VectorRows};
use super::instructions::Instructions;

impl VectorRows {
    /// The cosines of a query and those of the rows that stand at some places, into `out`: within -1
    /// and 1, and 0 for what is no number. Ascending places are the fastest.
    pub(crate) fn cosines(self, query: &VectorQuery, rows: &[u8], places: &[u32], out: &mut [f32]) {
        self.cosines_by(Instructions::best(), query, rows, places, out);
    }

    fn cosines_by(
        self,
        instructions: Instructions,
        query: &VectorQuery,
        rows: &[u8],
        places: &[u32],
        out: &mut [f32],
    ) {
        let given = Given { rows: self, query: &query.0, bytes: rows };
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni | Instructions::Avx512 => {
                x86::products_avx512(&given, places, out)
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => x86::products_avx2(&given, places, out),
            Instructions::Portable => given.products(places, out),
        }
        for cosine in out {
            *cosine = if cosine.is_nan() { 0.0 } else { cosine.clamp(-1.0, 1.0) };
        }
    }
}

#[cfg(test)]
mod tests;

//! Vectors that are prepared already, as an index keeps them.

use rayon::prelude::*;

use super::rows::ROWS_AT_ONCE;
use crate::kernel::VectorRows;
use crate::{Codes, Features, HashFunction, Result, VectorFormat};

impl HashFunction {
    /// How an index keeps the vectors that this function prepares.
    pub(crate) fn vector_rows(&self, format: VectorFormat) -> VectorRows {
        VectorRows { format, dim: self.dim(), lengths: !self.parts().unit }
    }

    /// The codes of some vectors, and the bytes that an index keeps of these.
    pub(crate) fn encode_and_keep(
        &self,
        features: Features<'_>,
        rows: VectorRows,
    ) -> Result<(Codes, Vec<u8>)> {
        features.expect_dim(self.dim())?;
        let parts: Vec<(Codes, Vec<u8>)> = features
            .values()
            .par_chunks(16 * ROWS_AT_ONCE * self.dim())
            .map(|values| {
                let (mut prepared, mut bytes) = (Vec::new(), Vec::new());
                self.prepare(values, &mut prepared);
                rows.encode(&prepared, &mut bytes);
                (self.encode_prepared(&prepared), bytes)
            })
            .collect();
        let mut codes = Codes::new(self.bits())?;
        let mut bytes = Vec::with_capacity(features.len() * rows.bytes());
        for (some, of_them) in parts {
            codes.append(&some)?;
            bytes.extend(of_them);
        }
        Ok((codes, bytes))
    }

    /// The codes of vectors that this function, or one that prepares them alike, has prepared.
    pub(crate) fn encode_prepared(&self, rows: &[f32]) -> Codes {
        self.encode_rows(rows, true)
    }

    /// What differs from another function in how vectors are prepared; `None` if nothing does.
    pub(crate) fn prepares_otherwise(&self, other: &HashFunction) -> Option<&'static str> {
        let (one, other) = (self.parts(), other.parts());
        [
            (one.dim != other.dim, "the dimension of the vectors"),
            (one.center != other.center, "the centre"),
            (one.scale != other.scale, "the scale"),
            (one.unit != other.unit, "whether vectors are of unit length"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::{Digits, digits};
    use crate::{Batch, Features, Labels, Method, VectorFormat};

    #[test]
    fn what_is_prepared_already_has_the_same_codes() {
        let Digits { features, labels } = digits();
        let all = Features::new(&features, Digits::DIM).unwrap();
        let batch = Batch::new(all, Labels::single(&labels)).unwrap();
        for (method, parameter) in
            [("brook", "compact"), ("brook", "full"), ("bsodh", ""), ("okh", "")]
        {
            let mut method = Method::named(method).unwrap();
            if !parameter.is_empty() {
                method.set("precision", parameter).unwrap();
            }
            let mut model = method.start(Digits::DIM, 64, 1).unwrap();
            model.learn(batch).unwrap();
            let function = model.hash_function();
            let codes = function.encode(all).unwrap();
            let prepared = function.prepared(all).unwrap();
            assert!(function.encode_prepared(&prepared) == codes, "{method:?}");
            let rows = function.vector_rows(VectorFormat::F16);
            let (kept, bytes) = function.encode_and_keep(all, rows).unwrap();
            assert!(kept == codes && bytes.len() == all.len() * rows.bytes(), "{method:?}");
        }
    }
}

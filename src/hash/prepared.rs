//! Prepared vectors, as an index stores them.

use rayon::prelude::*;

use super::rows::ROWS_AT_ONCE;
use crate::kernel::{Lengths, VectorQuery, VectorRows, prepare, squared_norm};
use crate::{Codes, Features, HashFunction, HashParts, Result, VectorFormat, VectorMetric};

impl HashFunction {
    /// Returns the layout in which an index stores the vectors that this function prepares.
    pub(crate) fn vector_rows(&self, format: VectorFormat) -> VectorRows {
        VectorRows { format, dim: self.dim(), unit: self.parts().unit }
    }

    /// Returns queries in the form in which they are compared with stored vectors.
    pub(crate) fn vector_queries(
        &self,
        metric: VectorMetric,
        features: Features<'_>,
    ) -> Result<Vec<VectorQuery>> {
        features.expect_dim(self.dim())?;
        let HashParts { center, scale, .. } = self.parts();
        let (center, scale) = (center.as_deref(), scale.as_deref());
        let query = |vector: &[f32]| VectorQuery::new(metric, vector, center, scale);
        Ok(features.values().chunks_exact(self.dim()).map(query).collect())
    }

    /// Returns the codes of vectors, and the bytes of the vectors as an index stores them.
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
                let lengths = self.lengths(values, &mut prepared);
                self.prepare(values, &mut prepared);
                rows.encode(&prepared, &lengths, &mut bytes);
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

    /// Returns the lengths of vectors. `centred` is a buffer.
    fn lengths(&self, values: &[f32], centred: &mut Vec<f32>) -> Vec<Lengths> {
        let HashParts { dim, center, scale, .. } = self.parts();
        prepare(center.as_deref(), scale.as_deref(), false, *dim, values, centred);
        let length = |row: &[f32]| squared_norm(row).sqrt().min(f64::from(f32::MAX)) as f32;
        let rows = centred.chunks_exact(*dim).zip(values.chunks_exact(*dim));
        rows.map(|(row, given)| Lengths { prepared: length(row), given: length(given) }).collect()
    }

    /// Returns the codes of vectors that were prepared by this function or by a function with the
    /// same preparation.
    pub(crate) fn encode_prepared(&self, rows: &[f32]) -> Codes {
        self.encode_rows(rows, true)
    }

    /// Returns how this function's preparation of vectors differs from that of another function;
    /// `None` if both prepare vectors in the same way.
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

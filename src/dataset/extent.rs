//! Sizes of arrays, and checks that all of their bytes exist.

use std::fmt::Display;
use std::path::Path;

use super::input::Input;
use crate::{Error, Result};

/// Maximum dimension that is read. Real vectors have far fewer dimensions, so a header that claims
/// more is wrong.
pub(super) use crate::batch::MAX_DIM;

/// Size of an array in rows and bytes, with checks that the bytes exist.
pub(super) struct Extent {
    pub(super) rows: usize,
    pub(super) dim: usize,
    pub(super) row_bytes: usize,
    pub(super) bytes: u64,
    /// Sizes and type, such as `60000 x 784 uint8`.
    description: String,
}

impl Extent {
    /// Computes the extent of an array of `sizes` whose items take `width` bytes and are called
    /// `kind`.
    pub(super) fn new(
        path: &Path,
        sizes: &[u64],
        width: usize,
        kind: impl Display,
    ) -> Result<Extent> {
        let description = format!("{} {kind}", shape(sizes));
        let wrong = |problem: String| Error::malformed(path, problem);
        let Some((&rows, rest)) = sizes.split_first() else {
            return Err(wrong(format!("holds a single {kind}; rows were expected")));
        };
        let dim = rest.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let dim = dim.and_then(|dim| usize::try_from(dim).ok()).filter(|&dim| dim <= MAX_DIM);
        let Some(dim) = dim else {
            let problem = format!("holds {description}; rows of at most {MAX_DIM} items are read");
            return Err(wrong(problem));
        };
        if dim == 0 {
            return Err(wrong(format!("holds {description}; its rows have no items")));
        }
        let row_bytes = dim.checked_mul(width);
        let bytes = row_bytes.and_then(|bytes| rows.checked_mul(bytes as u64));
        let (Some(row_bytes), Some(bytes), Ok(rows)) = (row_bytes, bytes, usize::try_from(rows))
        else {
            return Err(wrong(format!("claims to hold {description}, which no file can")));
        };
        Ok(Extent { rows, dim, row_bytes, bytes, description })
    }

    /// Checks that exactly the bytes of the array are left, if the input knows their number.
    pub(super) fn check(&self, input: &Input) -> Result<()> {
        match input.remaining() {
            Some(found) if found < self.bytes => Err(self.ends_early(input.path(), found)),
            Some(found) if found > self.bytes => {
                let problem = format!(
                    "has {} bytes more than the {} that {} take",
                    found - self.bytes,
                    self.bytes,
                    self.description
                );
                Err(Error::malformed(input.path(), problem))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for an array of which only `found` bytes exist.
    pub(super) fn ends_early(&self, path: &Path, found: u64) -> Error {
        let problem = format!(
            "expected {} bytes for {}, the file has {found} after its header",
            self.bytes, self.description
        );
        Error::malformed(path, problem)
    }

    /// Returns the error for bytes after the end of the array.
    pub(super) fn goes_on(&self, path: &Path) -> Error {
        let problem =
            format!("has more bytes than the {} that {} take", self.bytes, self.description);
        Error::malformed(path, problem)
    }
}

/// Formats sizes as in `60000 x 28 x 28`.
pub(super) fn shape(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(sizes: &[u64]) -> Result<Extent> {
        Extent::new(Path::new("a"), sizes, 4, "float32")
    }

    #[test]
    fn extents_multiply_without_overflow() {
        let images = extent(&[10, 28, 28]).unwrap();
        assert_eq!((images.rows, images.dim), (10, 784));
        assert_eq!((images.row_bytes, images.bytes), (3136, 31360));
        assert_eq!(images.description, "10 x 28 x 28 float32");
        for sizes in [&[][..], &[1, 0], &[1, 1 << 21], &[1, u64::MAX, 2], &[u64::MAX, 1]] {
            assert!(extent(sizes).is_err(), "{sizes:?}");
        }
    }
}

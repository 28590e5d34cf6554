//! Fallible allocation of large buffers: running out of memory is an error, not a panic or the end
//! of the process.
//!
//! Sums and their factors grow with the square of the number of anchors, to gigabytes, and faer
//! panics when an allocation fails. So `linalg/` and brook request large pieces first, factor them
//! in place, and fail with `Error::OutOfMemory`, which reports the bytes and what to do. At the end
//! of the warm-up brook requests all memory that its function will need, so that a stream that
//! could never be solved is refused before it is learned. If memory is unavailable later,
//! `try_hash_function` fails and can be retried; `hash_function` cannot return an error and panics
//! with the same text. The command's `learn` saves the model first.

use std::hint::black_box;

use crate::Error;

/// Failed allocation of this number of bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct NoRoom {
    pub(crate) bytes: u64,
}

impl NoRoom {
    /// Returns the failed allocation of `count` values of type `f64`.
    pub(crate) fn for_numbers(count: usize) -> Self {
        NoRoom { bytes: (count as u64).saturating_mul(size_of::<f64>() as u64) }
    }

    /// Converts the failure to an error that names what needs the memory and what the user can do.
    pub(crate) fn error(self, what: impl Into<String>, remedy: &'static str) -> Error {
        Error::OutOfMemory { what: what.into(), bytes: self.bytes, remedy }
    }
}

/// Fails unless `count` values of type `f64` can be allocated at once. The memory is freed again,
/// so that the caller can allocate it.
pub(crate) fn expect_room(count: usize) -> Result<(), NoRoom> {
    let mut room = Vec::<f64>::new();
    let found = room.try_reserve_exact(count);
    // Without this line, an optimised build would drop the unused allocation.
    black_box(&mut room);
    found.map_err(|_| NoRoom::for_numbers(count))
}

/// Returns a copy of the values; fails if the allocation fails.
pub(crate) fn try_copy(values: &[f64]) -> Result<Vec<f64>, NoRoom> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(values.len()).map_err(|_| NoRoom::for_numbers(values.len()))?;
    copy.extend_from_slice(values);
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_no_machine_has_is_refused_with_its_size() {
        assert_eq!(expect_room(1000), Ok(()));
        let numbers = 1 << 50;
        assert_eq!(expect_room(numbers), Err(NoRoom { bytes: 8 << 50 }));
        assert_eq!(expect_room(usize::MAX), Err(NoRoom { bytes: u64::MAX }));
        let error = NoRoom { bytes: 64 }.error("this", "use less").to_string();
        assert_eq!(error, "this needs 64 bytes of memory, which cannot be had; use less");
    }
}

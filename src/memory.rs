//! Large pieces of memory are asked for before they are used, so that their lack is an error, and
//! neither a panic nor the end of the process.

use std::hint::black_box;

use crate::Error;

/// So many bytes cannot be had.
#[derive(Debug, PartialEq)]
pub(crate) struct NoRoom {
    pub(crate) bytes: u64,
}

impl NoRoom {
    /// No room for so many `f64`.
    pub(crate) fn for_numbers(count: usize) -> Self {
        NoRoom { bytes: (count as u64).saturating_mul(size_of::<f64>() as u64) }
    }

    /// As an error: what needs the memory, and what the user can do.
    pub(crate) fn error(self, what: impl Into<String>, remedy: &'static str) -> Error {
        Error::OutOfMemory { what: what.into(), bytes: self.bytes, remedy }
    }
}

/// Fails unless so many `f64` can be had at once. They are given back, for whoever needs them next.
pub(crate) fn expect_room(count: usize) -> Result<(), NoRoom> {
    let mut room = Vec::<f64>::new();
    let found = room.try_reserve_exact(count);
    // Memory that nobody looks at would not be asked for at all in an optimised build.
    black_box(&mut room);
    found.map_err(|_| NoRoom::for_numbers(count))
}

/// A copy, if there is room for one.
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

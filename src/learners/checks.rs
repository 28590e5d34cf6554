//! Range checks for parameters.

use crate::{Error, Result};

/// Fails unless a parameter is above 0 and finite.
pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, "above 0", value)),
    }
}

/// Fails unless a parameter is 0 or above, and finite.
pub(crate) fn check_not_negative(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, "0 or above", value)),
    }
}

/// Fails unless a parameter is a share, from 0 to 1.
pub(crate) fn check_share(name: &'static str, value: f64) -> Result<()> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::parameter(name, "from 0 to 1", value)),
    }
}

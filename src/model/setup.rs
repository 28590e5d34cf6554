//! [`Setup`]: settings of a model besides its method.

use serde::Serialize;

use super::preparation::{Center, Scale};

/// Preparation of vectors for a method, and the method's starting point.
///
/// Fields may be added in the future. Start from the default, and change individual fields.
///
/// ```
/// use hashbrook::{Scale, Setup};
///
/// let mut setup = Setup::default();
/// setup.scale = Scale::Standard;
/// setup.warmup = Some(500);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Setup {
    /// Centre that is subtracted from every vector.
    pub center: Center,
    /// Scale by which each column is divided after centring.
    pub scale: Scale,
    /// True if vectors are scaled to unit length after centring and scaling.
    pub unit: bool,
    /// Number of the stream's first rows that are buffered to fix the centre, the scale, and
    /// whatever else a method needs before learning. `None` means the
    /// [method's default](crate::Method::warmup).
    pub warmup: Option<usize>,
    /// Initial projection, dim x bits, row-major; random if absent.
    pub init: Option<Vec<f32>>,
}

impl Default for Setup {
    fn default() -> Self {
        let (center, scale) = (Center::First, Scale::None);
        Setup { center, scale, unit: true, warmup: None, init: None }
    }
}

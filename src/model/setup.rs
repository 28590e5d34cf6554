//! [`Setup`]: what is chosen besides a method.

use serde::Serialize;

use super::preparation::{Center, Scale};

/// How vectors are prepared for a method, and where it starts.
///
/// There may be more fields one day: begin with the default, and change what should be different.
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
    /// What is subtracted from every vector.
    pub center: Center,
    /// What each column is divided by after that.
    pub scale: Scale,
    /// Whether vectors are scaled to unit length after that.
    pub unit: bool,
    /// How many of the stream's first rows are held back until what is fixed before learning can
    /// be fixed from them: the centre, the scale, and whatever else a method needs. `None`: as many as the
    /// method [asks for](crate::Method::warmup).
    pub warmup: Option<usize>,
    /// The projection to start from, dim x bits, row-major; random if not given.
    pub init: Option<Vec<f32>>,
}

impl Default for Setup {
    fn default() -> Self {
        let (center, scale) = (Center::First, Scale::None);
        Setup { center, scale, unit: true, warmup: None, init: None }
    }
}

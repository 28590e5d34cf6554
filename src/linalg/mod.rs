//! Matrix routines for learners, on top of faer. Unless noted otherwise, matrices are row-major
//! slices and sums are in `f64`.
//!
//! Results do not depend on the number of threads, because the size of tiles is fixed.
//!
//! faer panics if an allocation fails. So functions whose memory exceeds the size of their input
//! request it here first, and fail with [`NoRoom`](crate::memory::NoRoom).

mod dense;
mod ridge;
mod targets;

pub(crate) use self::dense::{
    Eigen, Positive, dot, eigen_of_symmetric, nearest_rotation, orthonormal_columns,
    principal_axes, product, symmetric_eigen, transposed_product,
};
pub use self::ridge::Regression;
pub(crate) use self::ridge::Ridge;

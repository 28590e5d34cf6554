//! The few matrix routines that learners need, over faer. All matrices are row-major slices, all
//! sums in `f64` unless said.
//!
//! Results do not depend on the number of threads: these share out tiles of a fixed size.
//!
//! faer panics where it finds no memory. So whatever is larger than what it is computed from is asked
//! for here first, and fails with [`NoRoom`](crate::memory::NoRoom).

mod dense;
mod ridge;
mod targets;

pub(crate) use self::dense::{
    Eigen, Positive, dot, eigen_of_symmetric, nearest_rotation, orthonormal_columns,
    principal_axes, product, symmetric_eigen, transposed_product,
};
pub use self::ridge::Regression;
pub(crate) use self::ridge::Ridge;

//! The methods, one file per paper. Each file has the same order: description, memory and cost,
//! deviations from the paper, parameters, state, the learning step, saving and loading.

pub mod adapthash;
pub mod brook;
pub mod bsodh;
mod checks;
mod codebook;
mod directions;
pub mod frosh;
pub mod hcoh;
pub mod hmoh;
pub mod itq;
pub mod lsh;
pub mod mihash;
pub mod okh;
pub mod osh;
mod pairs;
mod random;
mod rbf;
mod sketch;
pub mod sketchhash;
mod state;
mod subspace;
mod weights;

pub(crate) use self::random::random_projection;
pub use self::state::State;
pub use crate::learner::TrainingCodes;

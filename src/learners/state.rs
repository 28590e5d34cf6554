//! Mistakes of released programs, by name.

use serde::{Deserialize, Serialize};

/// What the programs that came with some papers forget between batches, by mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// What is learned is kept, as the paper has it.
    #[default]
    Kept,
    /// What is learned besides the projection is lost after each step, as in the released program.
    Lost,
}

//! Known errors of released programs that can be reproduced.

use serde::{Deserialize, Serialize};

/// State between batches. The programs released with some papers lose some of it by mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All learned state is kept, as in the paper.
    #[default]
    Kept,
    /// Everything except the projection is lost after each step, as in the released program.
    Lost,
}

//! The text section of an index file: label sets and names, in JSON.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::LabelNames;
use crate::index::state::State;

#[derive(Serialize, Deserialize)]
pub(super) struct Text {
    program: String,
    label_sets: Vec<Vec<u32>>,
    label_names: LabelNames,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    text_ids: bool,
}

impl Text {
    pub(super) fn of(state: &State) -> Self {
        let sets = &state.sets;
        Text {
            program: concat!("hashbrook ", env!("CARGO_PKG_VERSION")).to_owned(),
            label_sets: (0..sets.len()).map(|set| sets.labels(set).to_vec()).collect(),
            label_names: LabelNames::clone(&state.names),
            text_ids: state.text_ids,
        }
    }

    pub(super) fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes)
            .map_err(|problem| format!("its description is incomplete: {problem}"))
    }

    /// Stores the label sets and names in a state.
    pub(super) fn apply(self, state: &mut State) -> Result<(), String> {
        state.names = Arc::new(self.label_names);
        state.text_ids = self.text_ids;
        let sets = Arc::make_mut(&mut state.sets);
        for (number, labels) in self.label_sets.iter().enumerate() {
            if sets.number(labels) != number {
                return Err("its label sets are not in order".to_owned());
            }
        }
        Ok(())
    }
}

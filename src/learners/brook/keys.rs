//! Numeric keys of label names.

use crate::labels::LabelNames;
use crate::learner::Loaded;
use crate::tensors::Tensors;

/// Hashes of the names of labels. Random codes are drawn by these keys. Codes of named labels
/// therefore depend neither on the labels' numbers nor on the order in which the names appeared.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    keys: Vec<u64>,
    /// Names that the keys were last updated to. They share memory with the model's names.
    names: LabelNames,
}

impl Keys {
    pub(super) fn of(&self, label: u32) -> u64 {
        let named = usize::try_from(label).ok().and_then(|label| self.keys.get(label));
        named.copied().unwrap_or(u64::from(label))
    }

    /// Updates the keys to these names. Returns whether any key changed.
    pub(super) fn update(&mut self, names: &LabelNames) -> bool {
        if *names == self.names {
            return false;
        }
        // FNV-1a, whose values are the same on every machine and in every version.
        let hash = |name: &str| {
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let keys: Vec<u64> = names.iter().map(hash).collect();
        self.names = names.clone();
        let changed = keys != self.keys;
        self.keys = keys;
        changed
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        state.put("brook.keys", 1, &self.keys);
    }

    pub(super) fn load(state: &mut Tensors) -> Loaded<Self> {
        let keys = state.take("brook.keys", 1)?;
        Ok(Keys { keys, names: LabelNames::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> LabelNames {
        let mut names = LabelNames::new();
        all.iter().for_each(|name| {
            names.id(name);
        });
        names
    }

    #[test]
    fn a_name_that_replaces_another_has_a_key_of_its_own() {
        let mut keys = Keys::default();
        assert!(keys.update(&names(&["ant", "zebra"])));
        assert!(!keys.update(&names(&["ant", "zebra"])));
        assert!(keys.update(&names(&["ant", "yak"])), "as after a failed call is undone");
        let mut fresh = Keys::default();
        fresh.update(&names(&["ant", "yak"]));
        assert_eq!((keys.of(0), keys.of(1)), (fresh.of(0), fresh.of(1)));
    }
}

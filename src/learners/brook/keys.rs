//! Labels by what they are called.

use crate::labels::LabelNames;
use crate::learner::Loaded;
use crate::tensors::Tensors;

/// What labels are called, as numbers. Codes start from these, so that they hang neither on the
/// numbers of labels that have names nor on the order in which the names came up.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys(Vec<u64>);

impl Keys {
    pub(super) fn of(&self, label: u32) -> u64 {
        let named = usize::try_from(label).ok().and_then(|label| self.0.get(label));
        named.copied().unwrap_or(u64::from(label))
    }

    /// Whether there was something new.
    pub(super) fn update(&mut self, names: &LabelNames) -> bool {
        let before = self.0.len();
        self.0.truncate(names.len());
        // FNV-1a: the same on every machine and for ever.
        let hash = |name: &str| {
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        self.0.extend(names.iter().skip(self.0.len()).map(hash));
        self.0.len() != before
    }
    pub(super) fn save(&self, state: &mut Tensors) {
        state.put("brook.keys", 1, &self.0);
    }

    pub(super) fn load(state: &mut Tensors) -> Loaded<Self> {
        state.take("brook.keys", 1).map(Keys)
    }
}

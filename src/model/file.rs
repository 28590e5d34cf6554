//! Model files: safetensors, with one JSON string in their metadata.
//!
//! The file contains everything a model needs to continue, and no executable code. The JSON string
//! describes the model, and the arrays hold what it learned. The array `checksum` covers both.
//!
//! # What is in a model file, and in a function file?
//!
//! Model files are safetensors files with one JSON string in the metadata: format and version
//! first, then method, parameters, counts and label names. Arrays hold the learner's state. The
//! array `checksum` is the CRC-32 of the JSON string and of all other arrays with their names and
//! shapes. A file of a newer version is refused, with an error that names the version, before
//! anything else is read. Equal models have equal files. `tensors/file.rs` is shared with function
//! files. It first reads the head of a file, which has the kind and the length. A file of another
//! kind is therefore refused from its first bytes, and an endless file is not read to its end.
//!
//! A function file holds what `HashParts` lists, and the names of the labels. The function in an
//! index is such a file, too; in indexes of version 1 it has no format, version, checksum or scale.
//! The tests keep files of every version (`tests/library/version-1`, `version-2`), with the codes
//! that their functions gave.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Model;
use super::description::{Description, check_shape};
use super::preparation::{Preparation, Scale};
use super::warm_up::WarmUp;
use crate::labels::LabelNames;
use crate::learner::Start;
use crate::learners::brook::{Choice, Precision};
use crate::method::AnyLearner;
use crate::tensors::{FileKind, Format, Tensors};
use crate::{Error, Method, Result, file};

/// Version 2 added scales, version 3 detail bits.
pub(crate) const FORMAT: Format =
    Format { name: "hashbrook model", version: 3, kind: FileKind::Model };

/// JSON string of a model file.
#[derive(Serialize, Deserialize)]
struct Text {
    format: String,
    version: u32,
    program: String,
    #[serde(flatten)]
    description: Description,
    warm: bool,
    label_names: LabelNames,
    notes: BTreeMap<String, String>,
}

impl Model {
    /// Saves the model atomically, replacing any existing file. Saving does not compute a function:
    /// the file contains brook's function only if it was requested after the last batch.
    ///
    /// # Errors
    /// When the file cannot be written, or the names of labels take more than 100 million bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::write(path.as_ref(), &self.try_to_bytes()?)
    }

    /// Loads a saved model, so that it can continue to learn.
    ///
    /// # Errors
    /// When the file cannot be read, is not a model file, is damaged, or was written by a newer
    /// version.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        Model::from_bytes(&FORMAT.read(path)?, path)
    }

    /// Returns all arrays of the file.
    fn state(&self) -> Tensors {
        self.state_with(AnyLearner::save)
    }

    /// Returns the arrays that cannot be derived from other state.
    pub(super) fn learned_state(&self) -> Tensors {
        self.state_with(AnyLearner::save_learned)
    }

    fn state_with(&self, save: impl Fn(&AnyLearner, &mut Tensors)) -> Tensors {
        let mut state = Tensors::default();
        save(&self.learner, &mut state);
        self.preparation.save(&mut state);
        if let Some(warm_up) = &self.warm_up {
            warm_up.save(self.description.dim, &mut state);
        }
        state
    }

    /// Returns the name and size in bytes of each array in the model's file, the largest first.
    pub fn array_sizes(&self) -> Vec<(String, usize)> {
        let state = self.state();
        let mut sizes: Vec<_> = state.sizes().map(|(name, size)| (name.to_owned(), size)).collect();
        sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        sizes
    }

    /// Returns the bytes of a model file. Equal states give equal bytes, with one exception: brook
    /// computes its function only on request, so the file contains the function only if it was
    /// requested. A model loaded without its function computes it on request.
    ///
    /// # Panics
    /// When the names of labels take more than 100 million bytes. [`save`](Model::save) returns an
    /// error instead.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.try_to_bytes().unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_to_bytes(&self) -> Result<Vec<u8>> {
        let text = Text {
            format: FORMAT.name.to_owned(),
            version: FORMAT.version,
            program: concat!("hashbrook ", env!("CARGO_PKG_VERSION")).to_owned(),
            description: self.description.clone(),
            warm: self.warm_up.is_none(),
            label_names: self.names.clone(),
            notes: self.notes.clone(),
        };
        let text = serde_json::to_string(&text).expect("numbers and names serialise");
        FORMAT.to_bytes(text, self.state())
    }

    /// Reads a model from the bytes of a file. Errors name `path`.
    ///
    /// # Errors
    /// As for [`load`](Model::load).
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let (text, state) = FORMAT.parse(bytes, path)?;
        let wrong = |problem: String| Error::damaged(path, problem);
        let mut text: Text = serde_json::from_str(&text)
            .map_err(|problem| wrong(format!("its description is incomplete: {problem}")))?;
        if text.version < 3
            && let Method::Brook(params) = &mut text.description.method
        {
            // Older versions did not have these parameters. These values keep the behaviour of
            // those versions, so existing codes stay valid.
            params.detail = Choice::Fixed(0.0);
            params.precision = Precision::Full;
            params.follow = false;
        }
        Model::from_state(text, state).map_err(wrong)
    }

    fn from_state(text: Text, mut state: Tensors) -> std::result::Result<Model, String> {
        let Text { description, warm, label_names: names, notes, .. } = text;
        let (dim, bits) = (description.dim, description.bits);
        check_shape(dim, bits).map_err(|error| error.to_string())?;
        let Description { seed, unit, warmup, .. } = description;
        let start = Start { dim, bits, seed, unit, warmup, init: None };
        let mut learner = description.method.load_learner(start, &mut state)?;
        learner.name_labels(&names);
        if warm && !learner.is_warm() {
            return Err("it should have warmed up, but nothing of that is in it".to_owned());
        }
        let scaled = warm && description.scale == Scale::Standard;
        let preparation = Preparation::load(dim, unit, scaled, &mut state)?;
        let warm_up = if warm { None } else { Some(WarmUp::load(dim, &mut state)?) };
        Ok(Model { description, names, notes, preparation, learner, warm_up })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::{Batch, Features, Labels, Setup};

    /// A checksum detects accidental damage, but not deliberate changes by a writer who recomputes
    /// the checksum. Therefore the state itself is checked, and every accepted state must work.
    #[test]
    fn a_state_made_up_by_others_is_refused_or_works() {
        let rows: Vec<f32> = (0..40).map(|i| (i * 7 % 11) as f32).collect();
        let labels = [3, 1, 3, 2, 1, 3, 9, 1, 1, 2];
        let batch = Batch::new(Features::new(&rows, 4).unwrap(), Labels::single(&labels)).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut accepted = 0;
        for round in 0..4000 {
            // All methods, during and after the warm-up.
            let mut method = Method::all().swap_remove(round / 2 % Method::all().len());
            let small = match method.name() {
                "okh" | "hmoh" => ("anchors", "2"),
                "sketchhash" | "frosh" => ("sketch", "8"),
                "mihash" => ("reservoir", "7"),
                "osh" | "adapthash" => ("rate", "0.5"),
                "brook" if round % 3 == 0 => ("half_life", "9"),
                "brook" if round % 3 == 1 => ("start", "steady"),
                _ => ("", ""),
            };
            if !small.0.is_empty() {
                method.set(small.0, small.1).unwrap();
            }
            if small.0 == "sketch" {
                method.set("batch", "3").unwrap();
            }
            let scale = if round % 5 == 0 { Scale::Standard } else { Scale::None };
            let warmup = Some(if round % 2 == 0 { 5 } else { 500 });
            let setup = Setup { warmup, scale, ..Setup::default() };
            let mut model = method.start_with(4, 4, 1, setup).unwrap();
            for _ in 0..3 {
                model.learn(batch).unwrap();
            }
            let bytes = model.to_bytes();
            let (mut text, mut state) = FORMAT.parse(&bytes, Path::new("sound")).unwrap();
            match rng.random_range(0..4) {
                0 => text = text.replace("\"dim\":4", &format!("\"dim\":{}", rng.random::<u32>())),
                1 => text = text.replace("\"bits\":4", &format!("\"bits\":{}", rng.random::<u8>())),
                _ => (0..rng.random_range(1..4)).for_each(|_| state.damage(&mut rng)),
            }
            let bytes = FORMAT.to_bytes(text, state).unwrap();
            if let Ok(mut model) = Model::from_bytes(&bytes, Path::new("made up")) {
                accepted += 1;
                if model.dim() == 4 {
                    let _ = model.learn(batch);
                    let _ = model.end_warmup();
                    let _ = model.unlearn(batch);
                    let _ = model.sibling().map(|sibling| model.merge(&sibling));
                    model.hash_function().encode(batch.features()).unwrap();
                }
            }
        }
        assert!(accepted > 100, "{accepted}: the damage is subtle enough to pass now and then");
    }
}

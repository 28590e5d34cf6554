//! Files of hash functions: everything needed for encoding, and nothing else.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::tensors::{FileKind, Format, Tensors};
use crate::{Error, HashFunction, HashParts, LabelNames, Lift, Result, file};

pub(crate) const FORMAT: Format =
    Format { name: "hashbrook function", version: 2, kind: FileKind::Function };

/// JSON string of a function's file.
#[derive(Serialize, Deserialize)]
struct Text {
    format: String,
    version: u32,
    program: String,
    #[serde(flatten)]
    description: Description,
    label_names: LabelNames,
}

/// Description of a function, without its arrays.
#[derive(Serialize, Deserialize)]
pub(crate) struct Description {
    dim: usize,
    bits: usize,
    unit: bool,
    lift: Lift,
    /// Omitted if all bits are label bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_bits: Option<usize>,
}

impl HashFunction {
    /// Saves the function atomically, replacing any existing file. The file does not contain the
    /// state needed to continue learning; [`Model::save`](crate::Model::save) stores it.
    ///
    /// # Errors
    /// When the file cannot be written, or the names of labels take more than 100 million bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::write(path.as_ref(), &self.try_to_bytes()?)
    }

    /// Loads a saved function.
    ///
    /// # Errors
    /// When the file cannot be read, is not the file of a function, is damaged, or was written by a
    /// newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<HashFunction> {
        let path = path.as_ref();
        HashFunction::from_bytes(&FORMAT.read(path)?, path)
    }

    /// Returns the bytes of a function's file. Equal functions give equal bytes.
    ///
    /// # Panics
    /// When the names of labels take more than 100 million bytes. [`save`](HashFunction::save)
    /// returns an error instead.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.try_to_bytes().unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_to_bytes(&self) -> Result<Vec<u8>> {
        let parts = self.parts();
        let HashParts { dim, bits, center, scale, unit, lift, weights, offset, .. } = parts;
        let mut arrays = Tensors::default();
        arrays.put("weights", *bits, weights);
        let optional = [
            ("center", dim, center),
            ("scale", dim, scale),
            ("linear_weights", bits, &parts.linear_weights),
            ("offset", bits, offset),
        ];
        for (name, width, values) in optional {
            if let Some(values) = values {
                arrays.put(name, *width, values);
            }
        }
        lift.put_arrays("", *dim, &mut arrays);
        let text = Text {
            format: FORMAT.name.to_owned(),
            version: FORMAT.version,
            program: concat!("hashbrook ", env!("CARGO_PKG_VERSION")).to_owned(),
            description: Description {
                dim: *dim,
                bits: *bits,
                unit: *unit,
                lift: lift.clone(),
                label_bits: (parts.label_bits < *bits).then_some(parts.label_bits),
            },
            label_names: self.label_names().clone(),
        };
        FORMAT.to_bytes(serde_json::to_string(&text).expect("numbers and names serialise"), arrays)
    }

    /// Reads a function from the bytes of a file. Errors name `path`.
    ///
    /// # Errors
    /// As for [`load`](HashFunction::load).
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<HashFunction> {
        let path = path.as_ref();
        let (text, arrays) = FORMAT.parse(bytes, path)?;
        let wrong = |problem: String| Error::damaged(path, problem);
        let text: Text = serde_json::from_str(&text)
            .map_err(|problem| wrong(format!("its description is incomplete: {problem}")))?;
        let function = HashFunction::from_arrays(text.description, arrays).map_err(wrong)?;
        Ok(function.with_label_names(text.label_names))
    }

    /// Builds a function from its description and its arrays. Returns a description of the problem
    /// if they are invalid.
    pub(crate) fn from_arrays(
        description: Description,
        mut arrays: Tensors,
    ) -> std::result::Result<HashFunction, String> {
        let Description { dim, bits, unit, mut lift, label_bits } = description;
        let mut optional = |name: &str, width: usize| -> std::result::Result<_, String> {
            if arrays.contains(name) { arrays.take::<f32>(name, width).map(Some) } else { Ok(None) }
        };
        let (center, scale) = (optional("center", dim)?, optional("scale", dim)?);
        let offset = optional("offset", bits)?;
        let weights = optional("weights", bits)?.ok_or("it has lost its weights")?;
        let linear_weights = optional("linear_weights", bits)?;
        lift.take_arrays("", dim, &mut arrays)?;
        let label_bits = label_bits.unwrap_or(bits);
        let parts = HashParts {
            dim,
            bits,
            center,
            scale,
            unit,
            lift,
            weights,
            linear_weights,
            offset,
            label_bits,
        };
        HashFunction::new(parts).map_err(|problem| problem.to_string())
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::{Compact, Features};

    /// A checksum detects accidental damage, but not deliberate changes by a writer who recomputes
    /// the checksum. Therefore the parts themselves are checked, and every accepted function must
    /// encode.
    #[test]
    fn a_function_made_up_by_others_is_refused_or_works() {
        let numbers = |count: usize| (0..count).map(|at| (at * 7 % 11) as f32 - 5.0).collect();
        let linear = HashParts::linear(4, 5, numbers(20));
        let full = HashParts {
            center: Some(numbers(4)),
            scale: Some(numbers(4)),
            unit: true,
            lift: Lift::Rbf { anchors: numbers(12), gamma: 0.5 },
            weights: numbers(15),
            linear_weights: Some(numbers(20)),
            offset: Some(numbers(5)),
            label_bits: 3,
            ..linear.clone()
        };
        let lift = Compact::new(&full.weights[..12], numbers(8), 4, 0.5).unwrap();
        let compact = HashParts { lift: Lift::Compact(lift), ..full.clone() };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut accepted = 0;
        for round in 0..4000 {
            let parts = [&linear, &full, &compact][round % 3].clone();
            let bytes = HashFunction::new(parts).unwrap().to_bytes();
            let (mut text, mut arrays) = FORMAT.parse(&bytes, Path::new("sound")).unwrap();
            match rng.random_range(0..6) {
                0 => text = text.replace("\"dim\":4", &format!("\"dim\":{}", rng.random::<u32>())),
                1 => text = text.replace("\"bits\":5", &format!("\"bits\":{}", rng.random::<u8>())),
                2 => text = text.replace("0.5", ["0", "-1", "1e39", "1e-39"][round / 3 % 4]),
                _ => (0..rng.random_range(1..4)).for_each(|_| arrays.damage(&mut rng)),
            }
            let bytes = FORMAT.to_bytes(text, arrays).unwrap();
            if let Ok(function) = HashFunction::from_bytes(&bytes, "made up") {
                accepted += 1;
                let row = vec![0.5; function.dim()];
                function.encode(Features::new(&row, function.dim()).unwrap()).unwrap();
            }
        }
        assert!(accepted > 100, "{accepted}: the damage is subtle enough to pass now and then");
    }
}

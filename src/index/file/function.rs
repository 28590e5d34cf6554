//! A hash function as bytes: safetensors, with one JSON text in their metadata.

use serde::{Deserialize, Serialize};

use crate::tensors::Tensors;
use crate::{HashFunction, HashParts, Lift};

const FUNCTION: &str = "function";

#[derive(Serialize, Deserialize)]
struct FunctionText {
    dim: usize,
    bits: usize,
    unit: bool,
    lift: Lift,
}

pub(super) fn function_bytes(function: &HashFunction) -> std::io::Result<Vec<u8>> {
    let HashParts { dim, bits, center, unit, lift, weights, offset } = function.parts();
    let mut tensors = Tensors::default();
    tensors.put("weights", *bits, weights);
    if let Some(center) = center {
        tensors.put("center", *dim, center);
    }
    if let Some(offset) = offset {
        tensors.put("offset", *bits, offset);
    }
    if let Lift::Rbf { anchors, .. } = lift {
        tensors.put("anchors", *dim, anchors);
    }
    let text = FunctionText { dim: *dim, bits: *bits, unit: *unit, lift: lift.clone() };
    let text = serde_json::to_string(&text)?;
    tensors.to_bytes(FUNCTION, text).map_err(std::io::Error::other)
}

pub(super) fn read_function(bytes: &[u8]) -> std::result::Result<HashFunction, String> {
    let (mut tensors, text) = Tensors::from_bytes(bytes, FUNCTION)
        .map_err(|problem| format!("its function: {problem}"))?;
    let text = text.ok_or("its function says nothing of itself")?;
    let FunctionText { dim, bits, unit, mut lift } =
        serde_json::from_str(&text).map_err(|problem| format!("its function: {problem}"))?;
    let mut optional = |name: &str, width: usize| -> std::result::Result<_, String> {
        if tensors.contains(name) { tensors.take::<f32>(name, width).map(Some) } else { Ok(None) }
    };
    let (center, offset) = (optional("center", dim)?, optional("offset", bits)?);
    if let Lift::Rbf { anchors, .. } = &mut lift {
        *anchors = optional("anchors", dim)?.ok_or("its function has lost its anchors")?;
    }
    let weights = optional("weights", bits)?.ok_or("its function has lost its weights")?;
    HashFunction::new(HashParts { dim, bits, center, unit, lift, weights, offset })
        .map_err(|problem| format!("its function: {problem}"))
}

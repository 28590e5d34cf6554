//! Valid files with some changed bytes.

/// Applies changes of four bytes each: an offset in the header or anywhere, the kind of change, and
/// the new byte or number.
pub fn changed(sound: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for change in changes.chunks_exact(4) {
        let [low, high, kind, value] = *change else { continue };
        let at = usize::from(u16::from_le_bytes([low, high]));
        let at = if kind & 1 == 0 { at % bytes.len().min(256) } else { at % bytes.len() };
        match kind >> 1 & 3 {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value & 7),
            2 => {
                let at = (at & !7).min(bytes.len() - 8);
                let number = (1u64 << (value & 63)).wrapping_sub(u64::from(value >> 6));
                bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            _ if value == 0 => bytes.truncate(at.max(8)),
            _ => bytes.extend_from_slice(&vec![value; at % 64]),
        }
    }
    bytes
}

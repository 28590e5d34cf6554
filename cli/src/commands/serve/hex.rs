//! Codes as strings: two hexadecimal digits for each byte, the first bits in the first byte.

use hashbrook::Codes;

use super::errors::Problem;

/// Encodes a code of `bits` bits as hexadecimal digits.
pub fn encode(code: &[u64], bits: usize) -> String {
    let bytes = code.iter().flat_map(|word| word.to_le_bytes()).take(bits.div_ceil(8));
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes a code, and appends it to codes of the same length.
pub fn decode(text: &str, codes: &mut Codes) -> Result<(), Problem> {
    let bits = codes.bits();
    let wrong = || {
        let digits = 2 * bits.div_ceil(8);
        Problem::unprocessable(format!(
            "a code of {bits} bits is {digits} hexadecimal digits, as GET /items/{{id}} gives it, not {text:?}"
        ))
    };
    let digits = text.as_bytes();
    if digits.len() != 2 * bits.div_ceil(8) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(wrong());
    }
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    let bytes: Vec<u8> =
        digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    Ok(codes.append(&Codes::from_bytes(bits, &bytes)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        let mut codes = Codes::new(20).unwrap();
        decode("0fa003", &mut codes).unwrap();
        decode("0FA003", &mut codes).unwrap();
        assert_eq!(codes.words(), [0x3a00f, 0x3a00f]);
        assert_eq!(encode(codes.code(0), 20), "0fa003");
        for wrong in ["", "0fa0", "0fa00301", "0fa0zz", "é0fa0"] {
            assert!(decode(wrong, &mut codes).is_err(), "{wrong}");
        }
    }
}

//! Parsing and formatting of amounts.

/// Largest accepted amount; beyond it the sums of an estimate are meaningless.
const MOST: f64 = 1e15;

/// Parses an integer of 1 or more: `1000000`, `1_000_000`, `1e6`, `1M`; also `2.5k`, `1B` and `1T`.
///
/// # Errors
/// Returns what was expected and what was found.
pub fn amount(text: &str) -> Result<u64, String> {
    let expected = "expected a whole number from 1 to 1e15, such as 1000000, 1_000_000, 1e6 or 1M \
                    (k, M, B and T stand for 1e3, 1e6, 1e9 and 1e12)";
    let wrong = || format!("{expected}, found {text:?}");
    let plain = text.trim().replace('_', "");
    let (number, unit) = match plain.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&plain[..at], 1e3),
        Some((at, 'm' | 'M')) => (&plain[..at], 1e6),
        Some((at, 'b' | 'B' | 'g' | 'G')) => (&plain[..at], 1e9),
        Some((at, 't' | 'T')) => (&plain[..at], 1e12),
        _ => (&plain[..], 1.0),
    };
    // Otherwise `inf` and `nan` would parse as numbers.
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+');
    if !number.bytes().all(is_number) {
        return Err(wrong());
    }
    let value = number.parse::<f64>().map_err(|_| wrong())? * unit;
    let whole = value.round();
    // 1.1 times a billion is not exactly an integer in binary.
    let is_whole = (value - whole).abs() <= 4.0 * f64::EPSILON * value;
    if !is_whole || !(1.0..=MOST).contains(&whole) {
        return Err(wrong());
    }
    Ok(whole as u64)
}

/// Formats a count of something whose plural is irregular.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", crate::console::count(number), if number == 1 { one } else { several })
}

/// Formats a number with three significant digits.
pub fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..0.001 => format!("{value:.1e}"),
        ..0.01 => format!("{value:.4}"),
        ..0.1 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => crate::console::count(value.round() as u64),
    }
}

/// Formats bytes in decimal units.
pub fn bytes(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut unit = 0;
    let mut value = value;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", digits(value), units[unit])
}

/// Formats a time, in units from microseconds to years.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0 => (0.0, "s"),
        ..0.000_999_5 => (1e6 * seconds, "us"),
        ..0.999_5 => (1e3 * seconds, "ms"),
        ..120.0 => (seconds, "s"),
        ..7_200.0 => (seconds / 60.0, "min"),
        ..172_800.0 => (seconds / 3_600.0, "h"),
        ..63_072_000.0 => (seconds / 86_400.0, "days"),
        _ => (seconds / 31_536_000.0, "years"),
    };
    format!("{} {unit}", digits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("1", 1),
            ("1e9", 1_000_000_000),
            ("1E9", 1_000_000_000),
            ("1_000_000_000", 1_000_000_000),
            ("10M", 10_000_000),
            ("1B", 1_000_000_000),
            ("1.1B", 1_100_000_000),
            ("2.5k", 2_500),
            ("100b", 100_000_000_000),
            ("1T", 1_000_000_000_000),
            ("1.5e3", 1_500),
            ("+7", 7),
            ("123456789012345", 123_456_789_012_345),
        ] {
            assert_eq!(amount(text), Ok(expected), "{text}");
        }
        for text in [
            "", "M", "0", "-1", "1.5", "0.1", "1e-3", "1e16", "1e400", "inf", "nan", "1MM", "1 M",
            "ten", "0x10", "1,000", "1.2.3", "e9", "1é",
        ] {
            let error = amount(text).unwrap_err();
            assert!(error.contains("expected") && error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn amounts_are_written_as_people_read_them() {
        assert_eq!(bytes(8e9), "8.00 GB");
        assert_eq!(bytes(999.7), "1.00 kB");
        assert_eq!(bytes(12.0), "12.0 B");
        assert_eq!(time(0.25), "250 ms");
        assert_eq!(time(90.0), "90.0 s");
        assert_eq!(time(7_000.0), "117 min");
        assert_eq!(time(86_400.0), "24.0 h");
        assert_eq!(time(1e9), "31.7 years");
        assert_eq!(digits(123_456.0), "123,456");
        assert_eq!(digits(0.0123), "0.012");
    }
}

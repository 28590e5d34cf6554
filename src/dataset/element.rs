//! Storage types of numbers, and their decoding.

use std::fmt;

use half::f16;

/// Storage type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

/// Storage type of an array's numbers, and the order of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) number: Number,
    pub(super) big_endian: bool,
}

/// A number that is finite in 64 bits and infinite in 32.
#[derive(Debug, PartialEq)]
pub(super) struct Overflow {
    /// Position among the decoded numbers.
    pub(super) index: usize,
    pub(super) value: f64,
}

/// Runs an expression with `$T` as the Rust type of a [`Number`]: the type is matched once per
/// array, not once per number.
macro_rules! with_type {
    ($number:expr, $T:ident => $run:expr) => {{
        macro_rules! run {
            ($type:ty) => {{
                type $T = $type;
                $run
            }};
        }
        match $number {
            Number::Bool => run!(Truth),
            Number::U8 => run!(u8),
            Number::I8 => run!(i8),
            Number::U16 => run!(u16),
            Number::I16 => run!(i16),
            Number::U32 => run!(u32),
            Number::I32 => run!(i32),
            Number::U64 => run!(u64),
            Number::I64 => run!(i64),
            Number::F16 => run!(f16),
            Number::F32 => run!(f32),
            Number::F64 => run!(f64),
        }
    }};
}

impl Element {
    /// Returns the size of a number in bytes.
    pub(super) fn width(self) -> usize {
        with_type!(self.number, T => size_of::<T>())
    }

    /// Appends the numbers in `bytes` to `values`.
    pub(super) fn decode(self, bytes: &[u8], values: &mut Vec<f32>) -> Result<(), Overflow> {
        let start = values.len();
        if self.big_endian {
            with_type!(self.number, T => values.extend(T::big(bytes).map(T::to_f32)));
        } else {
            with_type!(self.number, T => values.extend(T::little(bytes).map(T::to_f32)));
        }
        let infinite = |values: &[f32]| values.iter().fold(false, |any, v| any | v.is_infinite());
        if self.number == Number::F64 && infinite(&values[start..]) {
            return self.find_overflow(bytes);
        }
        Ok(())
    }

    /// Fails at the first 64-bit float that is too large for 32 bits.
    fn find_overflow(self, bytes: &[u8]) -> Result<(), Overflow> {
        let wide: Vec<f64> =
            if self.big_endian { f64::big(bytes).collect() } else { f64::little(bytes).collect() };
        let overflows = |value: &f64| value.is_finite() && (*value as f32).is_infinite();
        match wide.into_iter().enumerate().find(|(_, value)| overflows(value)) {
            Some((index, value)) => Err(Overflow { index, value }),
            None => Ok(()),
        }
    }

    /// Returns the number in `bytes` if it is an integer, and otherwise fails with the number.
    /// Integers are exact: they are not converted to floats.
    pub(super) fn whole(self, bytes: &[u8]) -> Result<i128, f64> {
        let whole = with_type!(self.number, T => {
            let value = if self.big_endian { T::big(bytes).next() } else { T::little(bytes).next() };
            value.map(T::whole)
        });
        whole.unwrap_or(Err(f64::NAN))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.number {
            Number::Bool => "bool",
            Number::U8 => "uint8",
            Number::I8 => "int8",
            Number::U16 => "uint16",
            Number::I16 => "int16",
            Number::U32 => "uint32",
            Number::I32 => "int32",
            Number::U64 => "uint64",
            Number::I64 => "int64",
            Number::F16 => "float16",
            Number::F32 => "float32",
            Number::F64 => "float64",
        })
    }
}

/// Type in which numbers are stored in arrays.
trait Stored: Copy {
    /// Decodes the numbers in `bytes`, least significant byte first.
    fn little(bytes: &[u8]) -> impl Iterator<Item = Self>;
    /// Decodes the numbers in `bytes`, most significant byte first.
    fn big(bytes: &[u8]) -> impl Iterator<Item = Self>;
    /// Returns the nearest 32-bit float.
    fn to_f32(self) -> f32;
    /// Returns the number if it is an integer, and otherwise fails with the number.
    fn whole(self) -> Result<i128, f64>;
}

macro_rules! stored {
    ($($type:ty, $to_f32:expr, $whole:expr;)+) => {$(
        impl Stored for $type {
            fn little(bytes: &[u8]) -> impl Iterator<Item = Self> {
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                numbers.iter().map(|bytes| <$type>::from_le_bytes(*bytes))
            }

            fn big(bytes: &[u8]) -> impl Iterator<Item = Self> {
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                numbers.iter().map(|bytes| <$type>::from_be_bytes(*bytes))
            }

            fn to_f32(self) -> f32 {
                $to_f32(self)
            }

            fn whole(self) -> Result<i128, f64> {
                $whole(self)
            }
        }
    )+};
}

stored! {
    Truth, |v: Truth| f32::from(v.0), |v: Truth| Ok(v.0.into());
    u8, |v| v as f32, |v: u8| Ok(v.into());
    i8, |v| v as f32, |v: i8| Ok(v.into());
    u16, |v| v as f32, |v: u16| Ok(v.into());
    i16, |v| v as f32, |v: i16| Ok(v.into());
    u32, |v| v as f32, |v: u32| Ok(v.into());
    i32, |v| v as f32, |v: i32| Ok(v.into());
    u64, |v| v as f32, |v: u64| Ok(v.into());
    i64, |v| v as f32, |v: i64| Ok(v.into());
    f16, f16::to_f32, |v: f16| whole_float(v.to_f64());
    f32, |v| v, |v: f32| whole_float(v.into());
    f64, |v| v as f32, whole_float;
}

/// Accepts only floats up to 2^53 as integers: beyond, several integers round to the same float.
pub(super) fn whole_float(value: f64) -> Result<i128, f64> {
    const LARGEST: f64 = (1u64 << 53) as f64;
    let whole = value.fract() == 0.0 && value.abs() <= LARGEST;
    if whole { Ok(value as i128) } else { Err(value) }
}

/// Boolean, stored as a byte that is zero or not.
#[derive(Clone, Copy)]
struct Truth(bool);

impl Truth {
    fn from_le_bytes([byte]: [u8; 1]) -> Truth {
        Truth(byte != 0)
    }

    fn from_be_bytes(byte: [u8; 1]) -> Truth {
        Truth::from_le_bytes(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(number: Number, big_endian: bool) -> Element {
        Element { number, big_endian }
    }

    /// Decodes the same values from both byte orders.
    macro_rules! check {
        ($number:ident, $values:expr) => {{
            let values = $values;
            let expected: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
            for (bytes, big_endian) in [(little, false), (big, true)] {
                let element = element(Number::$number, big_endian);
                let mut decoded = vec![9.0];
                element.decode(&bytes, &mut decoded).unwrap();
                assert_eq!(decoded[1..], expected, "{element}");
                for (bytes, value) in bytes.chunks_exact(element.width()).zip(values) {
                    assert_eq!(element.whole(bytes), Ok(value as i128), "{element}");
                }
            }
        }};
    }

    #[test]
    fn every_type_in_both_byte_orders() {
        check!(U8, [0u8, 1, 255]);
        check!(I8, [0i8, -1, 127, -128]);
        check!(U16, [0u16, 258, 65535]);
        check!(I16, [0i16, -2, 258, i16::MIN]);
        check!(U32, [0u32, 66051, u32::MAX]);
        check!(I32, [0i32, -3, 66051, i32::MIN]);
        check!(U64, [0u64, 66051, u64::MAX]);
        check!(I64, [0i64, -4, 66051, i64::MIN]);
        check!(F32, [0f32, -1.0, 66051.0]);
        check!(F64, [0f64, -1.0, 66051.0]);
    }

    #[test]
    fn half_floats_and_truth_values() {
        let mut decoded = Vec::new();
        let bytes = [0x00, 0x3c, 0x00, 0xc1, 0x01, 0x00];
        element(Number::F16, false).decode(&bytes, &mut decoded).unwrap();
        element(Number::F16, true).decode(&[0x3c, 0x00], &mut decoded).unwrap();
        element(Number::Bool, false).decode(&[0, 1, 7], &mut decoded).unwrap();
        assert_eq!(decoded, [1.0, -2.5, 2f32.powi(-24), 1.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_float_too_large_for_32_bits_is_named() {
        let values = [1.0, f64::INFINITY, -1e300];
        let bytes: Vec<u8> = values.iter().flat_map(|v: &f64| v.to_be_bytes()).collect();
        let overflow = element(Number::F64, true).decode(&bytes, &mut Vec::new());
        assert_eq!(overflow, Err(Overflow { index: 2, value: -1e300 }));
        // An infinity in the file itself is not an overflow.
        assert_eq!(element(Number::F64, true).decode(&bytes[..16], &mut Vec::new()), Ok(()));
    }

    #[test]
    fn fractions_and_nan_are_not_whole() {
        let whole = |value: f64| element(Number::F64, false).whole(&value.to_le_bytes());
        assert_eq!(whole(-0.0), Ok(0));
        assert_eq!(whole(7.0), Ok(7));
        assert_eq!(whole(7.5), Err(7.5));
        assert_eq!(whole(1e300), Err(1e300));
        assert!(whole(f64::NAN).is_err_and(f64::is_nan));
        assert!(whole(f64::INFINITY).is_err());
    }
}

//! IDX files, the format of MNIST.

use super::array::{Array, Order};
use super::element::{Element, Number};
use super::input::Input;
use crate::{Error, Result};

/// Opens an IDX array: two zeros, a type, the number of sizes, the sizes, then the numbers. All
/// values are stored with the most significant byte first.
pub(super) fn open(mut input: Input) -> Result<Array> {
    let [_, _, kind, count] = input.header::<4>()?;
    let number = match kind {
        0x08 => Number::U8,
        0x09 => Number::I8,
        0x0b => Number::I16,
        0x0c => Number::I32,
        0x0d => Number::F32,
        0x0e => Number::F64,
        _ => {
            let problem = format!("has the IDX type {kind:#04x}; the types are 0x08 to 0x0e");
            return Err(Error::malformed(input.path(), problem));
        }
    };
    let mut sizes = Vec::new();
    for _ in 0..count {
        sizes.push(u64::from(u32::from_be_bytes(input.header()?)));
    }
    Array::new(input, Element { number, big_endian: true }, sizes, Order::Rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::source::Source;

    fn open(content: &'static [u8]) -> Result<Array> {
        super::open(Input::stream("a".as_ref(), content, Some(content.len() as u64))?)
    }

    #[test]
    fn sizes_and_types() {
        let array = open(&[0, 0, 0x0b, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 255, 255]).unwrap();
        assert_eq!(array.sizes(), [1, 2]);
        assert_eq!((array.rows(), array.dim()), (Some(1), 2));
        assert_eq!(array.element(), Element { number: Number::I16, big_endian: true });
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |content| open(content).err().unwrap().to_string();
        assert!(error(&[0, 0, 0x0a, 1]).contains("type 0x0a"));
        assert!(error(&[0, 0, 8, 0]).contains("single uint8"));
        assert!(error(&[0, 0, 8, 2, 0, 0, 0, 1, 0]).contains("at least 12 bytes, it has 9"));
    }
}

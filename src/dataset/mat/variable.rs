//! A variable of a MATLAB file: its name, class and sizes, and the offset of its numbers.

use std::io::{Error, ErrorKind, Read, Result};

use super::super::element::{Element, Number};
use super::super::extent::shape;

/// Kinds of data elements.
pub(super) const MATRIX: u32 = 14;
pub(super) const COMPRESSED: u32 = 15;

/// Class of MATLAB's own objects.
const OPAQUE: u32 = 17;

/// Maximum size of a part of a header, in bytes. Real headers are far smaller: MATLAB names have at
/// most 63 characters.
const LONGEST_PART: usize = 1 << 12;

/// Description of a variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) sizes: Vec<u64>,
    pub(super) class: Class,
    /// Numbers of the variable, unless the class has none.
    pub(super) data: Option<Data>,
}

/// Numbers of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// Storage type of the numbers, which may be narrower than the class.
    pub(super) element: Element,
    /// Offset of the numbers from the start of the variable.
    pub(super) start: u64,
    pub(super) bytes: u64,
}

/// MATLAB class of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Real numbers. `is_u8` is set if they are meant as 0 to 255.
    Numeric { is_u8: bool },
    /// Any other class, by name.
    Other(&'static str),
}

impl Variable {
    /// Returns whether the variable is a matrix of real numbers.
    pub(super) fn is_numeric_matrix(&self) -> bool {
        matches!(self.class, Class::Numeric { .. }) && self.sizes.len() == 2
    }

    /// Returns whether the variable is a row or a column of several numbers.
    pub(super) fn is_vector(&self) -> bool {
        let sizes = (self.sizes.iter().min(), self.sizes.iter().max());
        self.is_numeric_matrix() && matches!(sizes, (Some(1), Some(2..)))
    }

    /// Returns whether the variable has several rows and columns of numbers.
    pub(super) fn is_table(&self) -> bool {
        self.is_numeric_matrix() && self.sizes.iter().all(|&size| size > 1)
    }

    /// Returns the variable as messages show it, as in `x (100 x 20)` or `names (cell 1 x 3)`.
    pub(super) fn describe(&self) -> String {
        match self.class {
            Class::Numeric { .. } => format!("{} ({})", self.name, shape(&self.sizes)),
            Class::Other(class) if self.sizes.is_empty() => format!("{} ({class})", self.name),
            Class::Other(class) => format!("{} ({class} {})", self.name, shape(&self.sizes)),
        }
    }
}

/// Tag of a data element: the kind of the element, its size in bytes, and the bytes themselves if
/// they are stored in the tag.
pub(super) struct Tag {
    pub(super) kind: u32,
    pub(super) bytes: u32,
    small: Option<[u8; 4]>,
}

/// Reader of data elements, one after the other.
pub(super) struct Elements<R> {
    reader: R,
    big_endian: bool,
    position: u64,
}

impl<R: Read> Elements<R> {
    pub(super) fn new(reader: R, big_endian: bool) -> Self {
        Elements { reader, big_endian, position: 0 }
    }

    /// Reads the description of a variable after its tag.
    pub(super) fn variable(&mut self) -> Result<Variable> {
        let flags = self.part("flags", 8)?;
        let word = self.numbers(&flags).next().unwrap_or(0);
        let (class, flags) = (word & 0xff, word >> 8);
        // MATLAB's own objects, such as its tables, have no sizes.
        let sizes = if class == OPAQUE { Vec::new() } else { self.part("sizes", LONGEST_PART)? };
        let sizes = self.numbers(&sizes).map(u64::from).collect();
        let name = self.part("name", LONGEST_PART)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        let class = class_of(class, flags);
        let data = match class {
            Class::Numeric { .. } => Some(self.data()?),
            Class::Other(_) => None,
        };
        Ok(Variable { name, sizes, class, data })
    }

    fn data(&mut self) -> Result<Data> {
        let tag = self.tag()?;
        let number = match tag.kind {
            1 => Number::I8,
            2 => Number::U8,
            3 => Number::I16,
            4 => Number::U16,
            5 => Number::I32,
            6 => Number::U32,
            7 => Number::F32,
            9 => Number::F64,
            12 => Number::I64,
            13 => Number::U64,
            kind => return Err(wrong(format!("its numbers are of the unknown type {kind}"))),
        };
        let element = Element { number, big_endian: self.big_endian };
        let start = if tag.small.is_some() { self.position - 4 } else { self.position };
        Ok(Data { element, start, bytes: tag.bytes.into() })
    }

    /// Reads the tag of a data element. The tag of an element of up to four bytes contains the
    /// bytes.
    pub(super) fn tag(&mut self) -> Result<Tag> {
        let first = self.number()?;
        if first >> 16 == 0 {
            return Ok(Tag { kind: first, bytes: self.number()?, small: None });
        }
        let (kind, bytes) = (first & 0xffff, first >> 16);
        if bytes > 4 {
            return Err(wrong(format!("a small part of it claims {bytes} bytes, not up to 4")));
        }
        Ok(Tag { kind, bytes, small: Some(self.take()?) })
    }

    /// Reads a part of a variable's description, of at most `longest` bytes.
    fn part(&mut self, what: &str, longest: usize) -> Result<Vec<u8>> {
        let tag = self.tag()?;
        let bytes = tag.bytes as usize;
        if bytes > longest {
            return Err(wrong(format!("its {what} take {bytes} bytes; up to {longest} are read")));
        }
        if let Some(small) = tag.small {
            return Ok(small[..bytes].to_vec());
        }
        // Parts begin at multiples of eight bytes.
        let mut content = vec![0; bytes.next_multiple_of(8)];
        self.reader.read_exact(&mut content)?;
        self.position += content.len() as u64;
        content.truncate(bytes);
        Ok(content)
    }

    fn take(&mut self) -> Result<[u8; 4]> {
        let mut bytes = [0; 4];
        self.reader.read_exact(&mut bytes)?;
        self.position += 4;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32> {
        let bytes = self.take()?;
        Ok(self.decode(&bytes))
    }

    fn numbers(&self, bytes: &[u8]) -> impl Iterator<Item = u32> {
        bytes.as_chunks::<4>().0.iter().map(|bytes| self.decode(bytes))
    }

    fn decode(&self, bytes: &[u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) }
    }
}

fn class_of(class: u32, flags: u32) -> Class {
    const COMPLEX: u32 = 8;
    const LOGICAL: u32 = 2;
    match class {
        6..=15 if flags & COMPLEX != 0 => Class::Other("complex"),
        6..=15 => Class::Numeric { is_u8: class == 9 || flags & LOGICAL != 0 },
        1 => Class::Other("cell"),
        2 => Class::Other("struct"),
        3 | OPAQUE => Class::Other("object"),
        4 => Class::Other("char"),
        5 => Class::Other("sparse"),
        _ => Class::Other("unknown class"),
    }
}

fn wrong(problem: String) -> Error {
    Error::new(ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a tag and its content, or the small form with both in one, least significant byte
    /// first.
    fn element(kind: u8, content: &[u8]) -> Vec<u8> {
        let len = content.len() as u8;
        let mut bytes =
            if len > 4 { vec![kind, 0, 0, 0, len, 0, 0, 0] } else { vec![kind, 0, len, 0] };
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn parse(class: u8, flags: u8, sizes: &[u8], data: &[u8]) -> Result<Variable> {
        let sizes: Vec<u8> = sizes.iter().flat_map(|&size| [size, 0, 0, 0]).collect();
        let flags = [class, flags, 0, 0, 0, 0, 0, 0];
        let parts = [element(6, &flags), element(5, &sizes), element(1, b"long name")].concat();
        Elements::new(&[&parts, data].concat()[..], false).variable()
    }

    #[test]
    fn numbers_may_be_in_the_tag_or_after_it() {
        let element_of = |number| Element { number, big_endian: false };
        let variable = parse(6, 0, &[5, 1], &element(2, &[1, 2, 3, 4, 5])).unwrap();
        assert_eq!(variable.describe(), "long name (5 x 1)");
        assert!(variable.is_vector() && !variable.is_table());
        // Offset of the data: 16 bytes of flags, 16 of sizes, 24 of the name, then the tag.
        let data = Data { element: element_of(Number::U8), start: 64, bytes: 5 };
        assert_eq!(variable.data, Some(data));
        let variable = parse(6, 0, &[2, 2], &element(1, &[1, 2, 3, 4])).unwrap();
        let data = Data { element: element_of(Number::I8), start: 60, bytes: 4 };
        assert_eq!(variable.data, Some(data));
        assert!(variable.is_table() && !variable.is_vector());
    }

    #[test]
    fn classes() {
        let class = |class, flags| parse(class, flags, &[1, 1], &element(2, &[7])).unwrap().class;
        assert_eq!(class(6, 0), Class::Numeric { is_u8: false });
        assert_eq!(class(9, 0), Class::Numeric { is_u8: true });
        assert_eq!(class(6, 2), Class::Numeric { is_u8: true }, "truth values");
        assert_eq!(class(6, 8), Class::Other("complex"));
        assert_eq!(class(1, 0), Class::Other("cell"));
        assert_eq!(class(99, 0), Class::Other("unknown class"));
    }

    #[test]
    fn objects_have_no_sizes() {
        let flags = [OPAQUE as u8, 0, 0, 0, 0, 0, 0, 0];
        let parts = [element(6, &flags), element(1, b"people"), element(1, b"MCOS")].concat();
        let variable = Elements::new(&parts[..], false).variable().unwrap();
        assert_eq!(variable.describe(), "people (object)");
    }

    #[test]
    fn damage_is_told() {
        let error = |data: &[u8]| parse(6, 0, &[1, 1], data).unwrap_err().to_string();
        assert!(error(&[8, 0, 0, 0, 1, 0, 0, 0]).contains("unknown type 8"));
        assert!(error(&[2, 0, 5, 0, 1, 2, 3, 4]).contains("claims 5 bytes"));
        assert_eq!(parse(6, 0, &[1, 1], &[2, 0]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let long = Elements::new(&[6, 0, 0, 0, 255, 255, 255, 255][..], false).variable();
        assert!(long.unwrap_err().to_string().contains("take 4294967295 bytes"));
    }
}

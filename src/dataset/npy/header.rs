//! The header of an npy file: a Python dictionary with the type, order and sizes of the array.

use super::super::element::{Element, Number};
use super::super::input::Input;
use crate::{Error, Result};

/// Maximum size of a header in bytes. Headers of arrays that can be read take about 100.
const LONGEST: usize = 1 << 16;

/// Maximum number of characters of a string in an array of strings.
const LONGEST_TEXT: usize = 1 << 20;

/// Size of the headers that are written, in bytes. numpy requires a multiple of 64; the longest
/// possible header fits.
pub(super) const HEADER: usize = 128;

/// Description of an array.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::dataset) struct Header {
    /// The type in numpy's notation, such as `<f4`.
    descr: String,
    pub(in crate::dataset) fortran_order: bool,
    pub(in crate::dataset) sizes: Vec<u64>,
}

/// Type of an array's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dataset) enum Item {
    Number(Element),
    Text(TextItem),
}

/// String of fixed size, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dataset) enum TextItem {
    /// Characters of four bytes.
    Unicode { chars: usize, big_endian: bool },
    /// Bytes, which must be UTF-8.
    Bytes(usize),
}

impl TextItem {
    /// Returns the size of a string in bytes.
    pub(in crate::dataset) fn width(self) -> usize {
        match self {
            TextItem::Unicode { chars, .. } => 4 * chars,
            TextItem::Bytes(width) => width,
        }
    }
}

impl Header {
    /// Reads the header; `input` is then at the start of the array.
    pub(in crate::dataset) fn read(input: &mut Input) -> Result<Header> {
        let magic = input.header::<8>()?;
        let len = match magic {
            [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => {
                usize::from(u16::from_le_bytes(input.header()?))
            }
            [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => {
                usize::try_from(u32::from_le_bytes(input.header()?)).unwrap_or(usize::MAX)
            }
            [0x93, b'N', b'U', b'M', b'P', b'Y', major, _] => {
                let problem = format!("is an npy file of version {major}; 1 to 3 are read");
                return Err(Error::malformed(input.path(), problem));
            }
            _ => return Err(Error::malformed(input.path(), "is not an npy array")),
        };
        if len > LONGEST {
            let problem = format!("its header claims {len} bytes; at most {LONGEST} are read");
            return Err(Error::malformed(input.path(), problem));
        }
        let mut text = vec![0; len];
        input.fill_header(&mut text)?;
        let header = std::str::from_utf8(&text).ok().ok_or("it is not text").and_then(parse);
        header.map_err(|problem| {
            Error::malformed(input.path(), format!("its npy header is not understood: {problem}"))
        })
    }

    /// Returns the type of the items.
    pub(in crate::dataset) fn item(&self, path: &std::path::Path) -> Result<Item> {
        parse_descr(&self.descr).ok_or_else(|| {
            let remedy = match self.descr.ends_with('O') {
                true => "; of texts, save values.astype(str)",
                false => "",
            };
            let problem = format!(
                "holds items of numpy type {:?}; integers, floats and truth values are read, and \
                 texts as labels{remedy}",
                self.descr
            );
            Error::malformed(path, problem)
        })
    }
}

/// Returns the header of an npy file of this type and these sizes.
pub(in crate::dataset) fn header(descr: &str, sizes: &[usize]) -> Vec<u8> {
    let sizes: String = sizes.iter().map(|size| format!("{size}, ")).collect();
    // A tuple of one size ends in a comma, a tuple of several sizes does not.
    let sizes =
        if sizes.matches(',').count() == 1 { sizes.trim_end() } else { &sizes[..sizes.len() - 2] };
    let shape = format!("({sizes})");
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((HEADER as u16 - 10).to_le_bytes());
    header.extend(text.bytes());
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header
}

/// Parses a type such as `<f4`, `|u1` or `>U12`.
fn parse_descr(descr: &str) -> Option<Item> {
    let (big_endian, rest) = match descr.split_at_checked(1)? {
        ("<" | "|", rest) => (false, rest),
        (">", rest) => (true, rest),
        ("=", rest) => (cfg!(target_endian = "big"), rest),
        _ => (false, descr),
    };
    let (kind, size) = rest.split_at_checked(1)?;
    let size: usize = if rest == "?" { 1 } else { size.parse().ok()? };
    let number = match (kind, size) {
        ("b" | "?", 1) => Number::Bool,
        ("u", 1) => Number::U8,
        ("i", 1) => Number::I8,
        ("u", 2) => Number::U16,
        ("i", 2) => Number::I16,
        ("u", 4) => Number::U32,
        ("i", 4) => Number::I32,
        ("u", 8) => Number::U64,
        ("i", 8) => Number::I64,
        ("f", 2) => Number::F16,
        ("f", 4) => Number::F32,
        ("f", 8) => Number::F64,
        ("U", 1..=LONGEST_TEXT) => {
            return Some(Item::Text(TextItem::Unicode { chars: size, big_endian }));
        }
        ("S" | "a", 1..=LONGEST_TEXT) => return Some(Item::Text(TextItem::Bytes(size))),
        _ => return None,
    };
    Some(Item::Number(Element { number, big_endian }))
}

type Parsed<T> = std::result::Result<T, &'static str>;

/// Parses a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(text: &str) -> Parsed<Header> {
    let mut scanner = Scanner { rest: text };
    let (mut descr, mut fortran_order, mut sizes) = (None, None, None);
    scanner.expect("{", "a dictionary was expected")?;
    while !scanner.eat("}") {
        let key = scanner.string().ok_or("a quoted key was expected")?;
        scanner.expect(":", "a colon was expected after a key")?;
        match key {
            "descr" if scanner.sees("[") => return Err("its items have fields; numbers are read"),
            "descr" => descr = Some(scanner.string().ok_or("the type is not a text")?),
            "fortran_order" => fortran_order = Some(scanner.truth()?),
            "shape" => sizes = Some(scanner.sizes()?),
            _ => return Err("it has an unknown key"),
        }
        if !scanner.eat(",") && !scanner.sees("}") {
            return Err("a comma was expected after a value");
        }
    }
    let descr = descr.ok_or("'descr' is missing")?.to_owned();
    let fortran_order = fortran_order.ok_or("'fortran_order' is missing")?;
    Ok(Header { descr, fortran_order, sizes: sizes.ok_or("'shape' is missing")? })
}

/// Unparsed rest of a header's text.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn sees(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.starts_with(token)
    }

    fn eat(&mut self, token: &str) -> bool {
        let seen = self.sees(token);
        if seen {
            self.rest = &self.rest[token.len()..];
        }
        seen
    }

    fn expect(&mut self, token: &str, otherwise: &'static str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(otherwise) }
    }

    /// Parses a string in single or double quotes.
    fn string(&mut self) -> Option<&'a str> {
        let quote = ["'", "\""].into_iter().find(|quote| self.eat(quote))?;
        let (text, rest) = self.rest.split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    fn truth(&mut self) -> Parsed<bool> {
        if self.eat("True") {
            return Ok(true);
        }
        self.expect("False", "'fortran_order' is neither True nor False").map(|()| false)
    }

    /// Parses a tuple of integers. Python 2 wrote some of them as `3L`.
    fn sizes(&mut self) -> Parsed<Vec<u64>> {
        let problem = "'shape' is not a tuple of sizes";
        let mut sizes = Vec::new();
        self.expect("(", problem)?;
        while !self.eat(")") {
            self.rest = self.rest.trim_start();
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (size, rest) = self.rest.split_at(digits);
            sizes.push(size.parse().map_err(|_| problem)?);
            self.rest = rest;
            self.eat("L");
            if !self.eat(",") && !self.sees(")") {
                return Err(problem);
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(descr: &str) -> Option<(Number, bool)> {
        match parse_descr(descr) {
            Some(Item::Number(element)) => Some((element.number, element.big_endian)),
            _ => None,
        }
    }

    #[test]
    fn headers_as_numpy_and_others_write_them() {
        let header = |sizes: &[u64], fortran_order| {
            Ok(Header { descr: "<f4".into(), fortran_order, sizes: sizes.to_vec() })
        };
        let numpy = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n";
        assert_eq!(parse(numpy), header(&[3, 4], false));
        let python2 = "{\"shape\":(3L,),\"fortran_order\" : True , \"descr\":\"<f4\"}";
        assert_eq!(parse(python2), header(&[3], true));
        let scalar = "{'descr': '<f4', 'fortran_order': False, 'shape': ()}";
        assert_eq!(parse(scalar), header(&[], false));
    }

    #[test]
    fn damaged_headers_are_errors() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr'",
            "{'descr': 4}",
            "{'descr': '<f4'",
            "{'descr': '<f4', 'fortran_order': Maybe",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (3 4)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (-3)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (3",
            "{'descr': '<f4', 'other': 1}",
            "{'descr': '<f4' 'shape': (3)}",
            "{'descr': [('a', '<f4')], 'fortran_order': True, 'shape': (3,)}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn types() {
        assert_eq!(number("<f4"), Some((Number::F32, false)));
        assert_eq!(number(">i8"), Some((Number::I64, true)));
        assert_eq!(number("|b1"), Some((Number::Bool, false)));
        assert_eq!(number("|?"), Some((Number::Bool, false)));
        assert_eq!(number("u1"), Some((Number::U8, false)));
        let text = parse_descr(">U12");
        assert_eq!(text, Some(Item::Text(TextItem::Unicode { chars: 12, big_endian: true })));
        assert_eq!(parse_descr("|S3"), Some(Item::Text(TextItem::Bytes(3))));
        for unread in ["", "<", "<f", "<f3", "<c8", "|O", "<M8[ns]", "|V4", "<U0", "é4", "<é"] {
            assert_eq!(parse_descr(unread), None, "{unread}");
        }
    }

    #[test]
    fn the_longest_header_fits() {
        let longest = header("<U1048576", &[usize::MAX, usize::MAX]);
        assert_eq!(longest.len(), HEADER);
        assert!(longest.ends_with(b"} \n") || longest.ends_with(b"  \n"));
    }
}

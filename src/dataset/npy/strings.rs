//! npy arrays of strings.

use std::path::{Path, PathBuf};

use super::super::extent::{Extent, shape};
use super::super::input::Input;
use super::super::records::{RawRows, Records};
use super::super::texts::Texts;
use super::header::TextItem;
use crate::{Error, Result};

/// Array of strings.
pub(in crate::dataset) struct Strings {
    path: PathBuf,
    item: TextItem,
    records: Records,
    bytes: Vec<u8>,
    /// Number of strings returned so far.
    row: usize,
}

impl Strings {
    pub(super) fn new(input: Input, item: TextItem, sizes: &[u64]) -> Result<Strings> {
        let path = input.path().to_path_buf();
        let extent = Extent::new(&path, sizes, item.width(), "texts")?;
        if extent.dim > 1 {
            let problem = format!("holds {} texts; one text per row is read", shape(sizes));
            return Err(Error::malformed(&path, problem));
        }
        extent.check(&input)?;
        let records = Records::new(input, extent);
        Ok(Strings { path, item, records, bytes: Vec::new(), row: 0 })
    }
}

impl Texts for Strings {
    fn path(&self) -> &Path {
        &self.path
    }

    fn rows(&self) -> usize {
        self.records.rows()
    }

    fn for_each(&mut self, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        while self.records.read(usize::MAX, &mut self.bytes)? > 0 {
            for bytes in self.bytes.chunks_exact(self.item.width()) {
                let text = decode(self.item, bytes).ok_or_else(|| {
                    let problem = format!("the text of row {} is not Unicode", self.row);
                    Error::malformed(&self.path, problem + " (rows count from 0)")
                })?;
                each(&text)?;
                self.row += 1;
            }
        }
        Ok(())
    }
}

/// Decodes the string in `bytes`, without the zeros that pad it.
fn decode(item: TextItem, bytes: &[u8]) -> Option<String> {
    let text = match item {
        TextItem::Bytes(_) => std::str::from_utf8(bytes).ok()?.to_owned(),
        TextItem::Unicode { big_endian, .. } => {
            let (chars, _) = bytes.as_chunks::<4>();
            let code = |bytes: &[u8; 4]| match big_endian {
                true => u32::from_be_bytes(*bytes),
                false => u32::from_le_bytes(*bytes),
            };
            chars.iter().map(|bytes| char::from_u32(code(bytes))).collect::<Option<String>>()?
        }
    };
    Some(text.trim_end_matches('\0').to_owned())
}

/// Encodes a string as an array of strings stores it: `length` characters of four bytes, padded
/// with zeros.
pub(in crate::dataset) fn text_bytes(text: &str, length: usize) -> impl Iterator<Item = u8> + '_ {
    let filled = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(length);
    filled.flat_map(u32::to_le_bytes)
}

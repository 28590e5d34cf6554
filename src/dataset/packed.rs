//! Packed codes and ids in files, and npz files of search results.

use std::io::{Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::array::Array;
#[cfg(feature = "arrow")]
use super::arrow::Packed;
use super::content::Content;
use super::extent::shape;
use super::npy::{NpyElement, header, text_bytes};
use super::open::open;
use super::purpose::Purpose;
use super::source::Source;
use super::text::{Lines, Table};
use crate::file::AtomicFile;
use crate::{Codes, Error, Result};

/// Reads packed codes: an array of uint8, rows x ceil(bits / 8), least significant bit first, as
/// written by `hashbrook encode` and `numpy.packbits(bitorder="little")`. `bits` defaults to the
/// bits of all columns.
///
/// # Errors
/// When the file cannot be read, does not hold such an array, or has bits set beyond the last.
pub fn read_codes(spec: &str, bits: Option<usize>) -> Result<Codes> {
    let content = open(spec, Purpose::Codes)?;
    #[cfg(feature = "arrow")]
    if let Content::Columns(table) = content {
        return column_codes(Packed::open(*table)?, bits);
    }
    let Content::Array(mut array) = content else {
        return Err(Error::malformed(Path::new(spec), "holds text; packed codes are uint8 arrays"));
    };
    let wrong = |array: &Array, problem: String| Error::malformed(array.path(), problem);
    let [_, columns] = *array.sizes() else {
        let problem = format!("holds {} numbers, not rows of packed codes", shape(array.sizes()));
        return Err(wrong(&array, problem));
    };
    if array.element().to_string() != "uint8" {
        let problem = format!("holds {}; packed codes are uint8", array.element());
        return Err(wrong(&array, problem));
    }
    let bits = bits.unwrap_or(columns as usize * 8);
    let mut codes = Codes::new(bits)?;
    if bits.div_ceil(8) as u64 != columns {
        let problem =
            format!("has {columns} bytes a row; codes of {bits} bits have {}", bits.div_ceil(8));
        return Err(wrong(&array, problem));
    }
    while let Some(bytes) = array.next_raw()? {
        append_codes(&mut codes, bytes)?;
    }
    Ok(codes)
}

/// Appends packed codes; errors count rows from the first row of the file.
fn append_codes(codes: &mut Codes, bytes: &[u8]) -> Result<()> {
    let before = codes.len();
    let some = Codes::from_bytes(codes.bits(), bytes).map_err(|error| match error {
        Error::PackedCodes { row, bits, problem } => {
            Error::PackedCodes { row: before + row, bits, problem }
        }
        other => other,
    })?;
    codes.append(&some)
}

/// Reads the codes in a column of bytes.
#[cfg(feature = "arrow")]
fn column_codes(mut packed: Packed, bits: Option<usize>) -> Result<Codes> {
    let (width, bits) = (packed.width(), bits.unwrap_or(packed.width() * 8));
    let mut codes = Codes::new(bits)?;
    if bits.div_ceil(8) != width {
        let needed = bits.div_ceil(8);
        let problem = format!("has {width} bytes a row; codes of {bits} bits have {needed}");
        return Err(Error::malformed(packed.path(), problem));
    }
    while let Some(bytes) = packed.next()? {
        append_codes(&mut codes, &bytes)?;
    }
    Ok(codes)
}

/// Reads ids: an array of integers, one per row; a text file with one on each line; or
/// `FILE:COLUMN`, a column of a CSV file.
///
/// # Errors
/// When the file cannot be read, or holds anything else.
pub fn read_ids(spec: &str) -> Result<Vec<u64>> {
    ids_of(open(spec, Purpose::Ids)?)
}

/// Returns the ids in the content of a file.
pub(super) fn ids_of(content: Content) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    append_ids(content, &mut ids, usize::MAX)?;
    Ok(ids)
}

/// Reads the ids of `items` items from several files, one after the other.
///
/// # Errors
/// As for [`read_ids`], and when the number of ids is not `items`. Files that hold more ids are not
/// read to their end.
pub fn read_ids_for<S: AsRef<str>>(specs: &[S], items: usize) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    for spec in specs {
        append_ids(open(spec.as_ref(), Purpose::Ids)?, &mut ids, items)?;
    }
    match ids.len() == items {
        true => Ok(ids),
        false => Err(Error::IdCount { ids: ids.len(), items }),
    }
}

/// Appends the ids in the content of a file, up to a total of `most`.
fn append_ids(content: Content, ids: &mut Vec<u64>, most: usize) -> Result<()> {
    let before = ids.len();
    let wrong = |path: &Path, row: usize, found: &dyn std::fmt::Display| {
        let problem = format!(
            "row {row} is {found}; ids must be whole numbers from 0 to 2^64 - 1 (rows count from 0)"
        );
        Error::malformed(path, problem)
    };
    let check = |path: &Path, count: usize| match count <= most {
        true => Ok(()),
        false => {
            let problem = format!("has more than {most} ids, which is the number of items");
            Err(Error::malformed(path, problem + "; there must be one per item"))
        }
    };
    let path = content.path().to_path_buf();
    match content {
        Content::Array(mut array) => {
            let element = array.element();
            if !matches!(array.sizes(), [_] | [_, 1]) {
                let problem =
                    format!("holds {} numbers; ids have one column", shape(array.sizes()));
                return Err(Error::malformed(&path, problem));
            }
            check(&path, before.saturating_add(array.rows().unwrap_or(0)))?;
            while let Some(bytes) = array.next_raw()? {
                for bytes in bytes.chunks_exact(element.width()) {
                    let row = ids.len() - before;
                    let id = element.whole(bytes).map_err(|found| wrong(&path, row, &found))?;
                    ids.push(u64::try_from(id).map_err(|_| wrong(&path, row, &id))?);
                }
                check(&path, ids.len())?;
            }
        }
        Content::Text(input, None) => {
            let mut lines = Lines::new(input)?;
            let mut line = Vec::new();
            while lines.next_line(&mut line)? {
                let text = String::from_utf8_lossy(&line);
                let row = ids.len() - before;
                let id = text.trim().parse();
                ids.push(id.map_err(|_| wrong(&path, row, &format!("{text:?}")))?);
                check(&path, ids.len())?;
            }
        }
        Content::Text(input, Some(columns)) => {
            let mut table = Table::open(input, Some(&columns), Purpose::Labels)?;
            while table.advance()? {
                let row = ids.len() - before;
                let fields = table.texts().collect::<Result<Vec<_>>>()?;
                let [text] = fields[..] else {
                    let problem = format!("{} columns were picked; ids have one", fields.len());
                    return Err(Error::malformed(&path, problem));
                };
                let id = text.trim().parse();
                ids.push(id.map_err(|_| wrong(&path, row, &format!("{text:?}")))?);
                check(&path, ids.len())?;
            }
        }
        #[cfg(feature = "arrow")]
        Content::Columns(table) => {
            check(&path, before.saturating_add(table.rows().unwrap_or(0)))?;
            table.for_each_id(|text| {
                let row = ids.len() - before;
                ids.push(text.parse().map_err(|_| wrong(&path, row, &format!("{text:?}")))?);
                check(&path, ids.len())
            })?;
        }
        Content::Texts(_) => {
            return Err(Error::malformed(&path, "holds texts; ids are whole numbers"));
        }
    }
    Ok(())
}

/// Reads string ids from several files one after the other. Where [`read_ids`] expects an integer,
/// any string that is not empty is accepted; integers become decimal strings.
///
/// # Errors
/// When a file cannot be read, or has a row without an id.
pub fn read_id_texts<S: AsRef<str>>(specs: &[S]) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for spec in specs {
        append_id_texts(open(spec.as_ref(), Purpose::Ids)?, &mut texts)?;
    }
    Ok(texts)
}

/// Appends the ids in the content of a file, as strings.
pub(super) fn append_id_texts(content: Content, texts: &mut Vec<String>) -> Result<()> {
    let before = texts.len();
    let path = content.path().to_path_buf();
    let mut push = |text: &str| {
        if text.is_empty() {
            let problem = format!("row {} is empty; every row needs an id", texts.len() - before);
            return Err(Error::malformed(&path, problem + " (rows count from 0)"));
        }
        texts.push(text.to_owned());
        Ok(())
    };
    match content {
        array @ Content::Array(_) => ids_of(array)?.iter().try_for_each(|id| push(&id.to_string())),
        Content::Texts(mut texts) => texts.for_each(&mut push),
        #[cfg(feature = "arrow")]
        Content::Columns(table) => table.for_each_id(push),
        Content::Text(input, None) => {
            let mut lines = Lines::new(input)?;
            let mut line = Vec::new();
            while lines.next_line(&mut line)? {
                push(String::from_utf8_lossy(&line).trim())?;
            }
            Ok(())
        }
        Content::Text(input, Some(columns)) => {
            let mut table = Table::open(input, Some(&columns), Purpose::Ids)?;
            while table.advance()? {
                let fields = table.texts().collect::<Result<Vec<_>>>()?;
                let [text] = fields[..] else {
                    let problem = format!("{} columns were picked; ids have one", fields.len());
                    return Err(Error::malformed(&path, problem));
                };
                push(text)?;
            }
            Ok(())
        }
    }
}

/// Array to write to an npz file.
pub struct NpzArray<'a> {
    name: &'a str,
    descr: String,
    item_bytes: usize,
    sizes: Vec<usize>,
    bytes: Box<dyn Read + 'a>,
}

impl<'a> NpzArray<'a> {
    /// Creates an array of numbers. `bytes` must yield as many little-endian numbers as the product
    /// of `sizes`.
    pub fn numbers<T: NpyElement>(name: &'a str, sizes: &[usize], bytes: impl Read + 'a) -> Self {
        let (descr, item_bytes) = (T::DESCR.to_owned(), size_of::<T>());
        NpzArray { name, descr, item_bytes, sizes: sizes.to_vec(), bytes: Box::new(bytes) }
    }

    /// Creates a list of strings.
    pub fn texts<S: AsRef<str>>(name: &'a str, texts: &[S]) -> Self {
        let longest = texts.iter().map(|text| text.as_ref().chars().count()).max();
        let longest = longest.unwrap_or(0).max(1);
        let bytes: Vec<u8> =
            texts.iter().flat_map(|text| text_bytes(text.as_ref(), longest)).collect();
        let (descr, sizes) = (format!("<U{longest}"), vec![texts.len()]);
        let bytes = Box::new(std::io::Cursor::new(bytes));
        NpzArray { name, descr, item_bytes: 4 * longest, sizes, bytes }
    }
}

/// Writes an npz file with named arrays, atomically.
///
/// # Errors
/// When the file cannot be written, or an array has fewer or more bytes than its sizes require.
pub fn write_npz(path: impl AsRef<Path>, arrays: Vec<NpzArray<'_>>) -> Result<()> {
    let path = path.as_ref();
    let mut target = AtomicFile::create(path)?;
    let written = (|| -> std::io::Result<()> {
        let mut zip = ZipWriter::new(std::io::BufWriter::new(target.file()));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(true);
        for NpzArray { name, descr, item_bytes, sizes, mut bytes } in arrays {
            zip.start_file(format!("{name}.npy"), options).map_err(std::io::Error::other)?;
            zip.write_all(&header(&descr, &sizes))?;
            let copied = std::io::copy(&mut bytes, &mut zip)?;
            let expected = sizes.iter().product::<usize>() * item_bytes;
            if copied != expected as u64 {
                let problem = format!("{name} is {sizes:?} of {descr}, and {copied} bytes came");
                return Err(std::io::Error::other(problem));
            }
        }
        zip.finish().map_err(std::io::Error::other)?.flush()
    })();
    written.map_err(Error::io(path))?;
    target.commit().map(drop)
}

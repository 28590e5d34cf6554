//! HDF5 files and MATLAB 7.3 files. The latter are HDF5 files with a MATLAB header of 512 bytes.

mod fix;
mod strings;

use std::io::{ErrorKind, Read};
use std::path::Path;

use hdf5_pure::{
    AttrValue, Dataset, Datatype, DatatypeByteOrder, File, FixedPointLayout, FloatingPointLayout,
    ReadSeekSource,
};

use super::array::{Array, Order};
use super::content::Content;
use super::element::{Element, Number};
use super::extent::{Extent, shape};
use super::guard::{guarded, without_panic};
use super::input::Input;
use super::purpose::Purpose;
use crate::{Error, Result};

use fix::named_fix;
use strings::{Strings, are_strings};

/// First bytes of a MATLAB file of version 7.3.
pub(super) const MATLAB: &[u8] = b"MATLAB 7.3";

/// Approximate number of bytes that are read at a time.
const AT_ONCE: u64 = 1 << 22;

/// Maximum depth of groups that are searched for datasets, and maximum number of datasets listed.
const DEEPEST: usize = 4;
const MOST_LISTED: usize = 200;

/// Description of a dataset.
struct Described {
    name: String,
    /// Sizes, the number of rows first. For MATLAB, the order is the reverse of that in the file.
    sizes: Vec<u64>,
    held: Held,
    is_u8: bool,
}

/// Content type of a dataset.
#[derive(Clone, Copy)]
enum Held {
    Numbers(Element),
    Texts,
    /// A type that is not read.
    Others,
}

/// Opens the dataset called `name`, or the only one that fits the purpose.
pub(super) fn open(input: Input, name: Option<&str>, purpose: Purpose) -> Result<Content> {
    let path = input.path().to_path_buf();
    let is_matlab = input.head().starts_with(MATLAB);
    let (file, _, len) = input.into_file(u64::MAX)?;
    let file = guarded(&path, || {
        File::from_source(ReadSeekSource::new(file).map_err(hdf5_pure::Error::Format)?)
    })?;
    let end = file.superblock().eof_address;
    if end > len && end != u64::MAX {
        let problem = format!("is cut off: it says that it has {end} bytes, and has {len}");
        return Err(Error::malformed(&path, problem));
    }
    let chosen = match name {
        Some(name) => {
            let found = guarded(&path, || file.dataset(name))
                .and_then(|dataset| Ok((describe(&path, name, &dataset, is_matlab)?, dataset)));
            found.map_err(|error| match list(&path, &file, is_matlab) {
                // If the dataset does not exist, the list of datasets helps more than the original
                // error.
                Ok(all) if !all.iter().any(|(found, _)| found.name == name) => {
                    let problem = format!("has no dataset {name:?}; it has {}", listed(&all));
                    Error::malformed(&path, problem)
                }
                _ => error,
            })?
        }
        None => {
            let mut all = list(&path, &file, is_matlab)?;
            match default_for(purpose, &all) {
                Some(index) => all.swap_remove(index),
                None => {
                    let problem = format!(
                        "does not have exactly one {}, so pick a dataset as FILE:NAME; it has {}",
                        wanted(purpose),
                        listed(&all)
                    );
                    return Err(Error::malformed(&path, problem));
                }
            }
        }
    };
    content(&path, chosen, is_matlab, purpose).map_err(named_fix)
}

fn wanted(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Features | Purpose::Codes => "table of numbers",
        Purpose::Labels | Purpose::Ids => "row or column of numbers, or column of texts",
    }
}

/// Returns the dataset to read if none is named: the only one that fits the purpose.
fn default_for(purpose: Purpose, all: &[(Described, Dataset)]) -> Option<usize> {
    let fits = |found: &Described| match (purpose, found.held, &found.sizes[..]) {
        (Purpose::Features | Purpose::Codes, Held::Numbers(_), sizes) => sizes.len() >= 2,
        (Purpose::Labels | Purpose::Ids, Held::Numbers(_), [_] | [1, _] | [_, 1]) => true,
        _ => false,
    };
    // String columns are the second choice, if no numbers fit.
    let fits_as_text = |found: &Described| {
        matches!(purpose, Purpose::Labels | Purpose::Ids)
            && matches!((found.held, &found.sizes[..]), (Held::Texts, [_] | [_, 1]))
    };
    let any = all.iter().any(|(found, _)| fits(found));
    let fits = |found: &Described| if any { fits(found) } else { fits_as_text(found) };
    let mut fitting = (0..all.len()).filter(|&index| fits(&all[index].0));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Lists the datasets of a file, up to `MOST_LISTED`.
fn list(path: &Path, file: &File, is_matlab: bool) -> Result<Vec<(Described, Dataset)>> {
    let mut all = Vec::new();
    let mut groups = vec![(String::new(), 0)];
    while let Some((group, depth)) = groups.pop() {
        let (datasets, inner) = guarded(path, || {
            let at = if group.is_empty() { file.root() } else { file.group(&group)? };
            Ok::<_, hdf5_pure::Error>((at.datasets()?, at.groups()?))
        })?;
        let inside = |name: &String| match group.is_empty() {
            true => name.clone(),
            false => format!("{group}/{name}"),
        };
        for name in datasets.iter().map(inside) {
            if all.len() == MOST_LISTED {
                return Ok(all);
            }
            let dataset = guarded(path, || file.dataset(&name))?;
            all.push((describe(path, &name, &dataset, is_matlab)?, dataset));
        }
        if depth < DEEPEST {
            // Names of MATLAB's internal groups start with `#`.
            let inner = inner.iter().filter(|name| !name.starts_with('#'));
            groups.extend(inner.map(|name| (inside(name), depth + 1)));
        }
    }
    all.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    Ok(all)
}

/// Lists datasets as messages show them.
fn listed(all: &[(Described, Dataset)]) -> String {
    const SHOWN: usize = 20;
    let one = |(found, _): &(Described, Dataset)| match found.held {
        Held::Numbers(element) => format!("{} ({} {element})", found.name, shape(&found.sizes)),
        Held::Texts => format!("{} ({} texts)", found.name, shape(&found.sizes)),
        Held::Others => format!("{} (no real numbers)", found.name),
    };
    let mut text = all.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ");
    if all.is_empty() {
        text = "no datasets".to_owned();
    } else if all.len() > SHOWN {
        text += ", ...";
    }
    text
}

/// Describes a dataset by its name, sizes and content type.
fn describe(path: &Path, name: &str, dataset: &Dataset, is_matlab: bool) -> Result<Described> {
    let (mut sizes, kind) =
        guarded(path, || Ok::<_, hdf5_pure::Error>((dataset.shape()?, dataset.datatype()?)))?;
    let mut held = match element(&kind) {
        Some(element) => Held::Numbers(element),
        None if are_strings(&kind) => Held::Texts,
        None => Held::Others,
    };
    let small = |element: Element| matches!(element.number, Number::U8 | Number::Bool);
    let mut is_u8 = matches!(held, Held::Numbers(element) if small(element));
    if is_matlab {
        sizes.reverse();
        let attributes = guarded(path, || dataset.attrs())?;
        let class = attributes.get("MATLAB_class").and_then(AttrValue::as_str).unwrap_or("");
        // MATLAB also stores strings and cells as numbers. An empty array stores its sizes in place
        // of numbers.
        if matches!(class, "char" | "cell" | "struct" | "function_handle" | "string")
            || attributes.contains_key("MATLAB_empty")
        {
            held = Held::Others;
        }
        is_u8 |= class == "logical";
    }
    Ok(Described { name: name.to_owned(), sizes, held, is_u8 })
}

/// Returns the storage type of numbers, or `None` if other formats have no such type.
fn element(kind: &Datatype) -> Option<Element> {
    let big_endian = |order: &DatatypeByteOrder| match order {
        DatatypeByteOrder::LittleEndian => Some(false),
        DatatypeByteOrder::BigEndian => Some(true),
        _ => None,
    };
    match kind {
        Datatype::FixedPoint { size, byte_order, layout } => {
            let FixedPointLayout { signed, bit_offset, bit_precision, .. } = *layout;
            if bit_offset != 0 || u32::from(bit_precision) != size * 8 {
                return None;
            }
            let number = match (size, signed) {
                (1, false) => Number::U8,
                (1, true) => Number::I8,
                (2, false) => Number::U16,
                (2, true) => Number::I16,
                (4, false) => Number::U32,
                (4, true) => Number::I32,
                (8, false) => Number::U64,
                (8, true) => Number::I64,
                _ => return None,
            };
            Some(Element { number, big_endian: big_endian(byte_order)? })
        }
        Datatype::FloatingPoint { size, byte_order, layout } => {
            let FloatingPointLayout { exponent_size, mantissa_size, bit_offset, .. } = *layout;
            let number = match (size, exponent_size, mantissa_size, bit_offset) {
                (2, 5, 10, 0) => Number::F16,
                (4, 8, 23, 0) => Number::F32,
                (8, 11, 52, 0) => Number::F64,
                _ => return None,
            };
            Some(Element { number, big_endian: big_endian(byte_order)? })
        }
        // h5py stores booleans as this enumeration.
        Datatype::Enumeration { size: 1, members, .. }
            if members.iter().map(|member| member.name.as_str()).eq(["FALSE", "TRUE"]) =>
        {
            Some(Element { number: Number::Bool, big_endian: false })
        }
        _ => None,
    }
}

/// Returns the numbers or strings of a dataset, row by row.
fn content(
    path: &Path,
    (found, dataset): (Described, Dataset),
    is_matlab: bool,
    purpose: Purpose,
) -> Result<Content> {
    let Described { name, mut sizes, held, is_u8 } = found;
    let named = format!("{}:{name}", path.display());
    let named = Path::new(&named);
    if let (Held::Texts, Purpose::Labels | Purpose::Ids) = (held, purpose) {
        return Ok(Content::Texts(Box::new(Strings::new(named, dataset, &sizes)?)));
    }
    let Held::Numbers(element) = held else {
        let kind = guarded(path, || dataset.dtype()).map(|kind| kind.to_string());
        let kind = kind.unwrap_or_else(|_| "an unknown type".to_owned());
        let problem = format!("holds {kind}; integers, floats and truth values are read");
        return Err(Error::malformed(named, problem));
    };
    let (columns, order) = match is_matlab {
        // HDF5 stores the columns of a MATLAB matrix as rows.
        true => (sizes.clone().into_iter().rev().collect(), Order::Columns),
        false => (sizes.clone(), Order::Rows),
    };
    let stored = Extent::new(named, &columns, element.width(), element)?;
    if let (Purpose::Labels | Purpose::Ids, &[1, count]) = (purpose, &sizes[..]) {
        sizes = vec![count, 1];
    }
    let (rows, row_bytes) = (stored.rows as u64, stored.row_bytes as u64);
    // If chunks span several rows, whole chunks are read, so that each is decompressed once.
    let chunk = guarded(path, || dataset.chunk_shape())?;
    let chunk_rows = chunk.and_then(|sizes| sizes.first().copied()).unwrap_or(1).max(1);
    let at_once = (AT_ONCE / row_bytes).max(1).next_multiple_of(chunk_rows);
    let bytes = Rows { dataset, row: 0, rows, row_bytes, at_once, ready: Vec::new(), taken: 0 };
    let input = Input::stream(named, bytes, Some(stored.bytes))?;
    Ok(Content::Array(Array::new(input, element, sizes, order)?.with_u8(is_u8)))
}

/// Bytes of a dataset, row after row.
struct Rows {
    dataset: Dataset,
    row: u64,
    rows: u64,
    row_bytes: u64,
    /// Number of rows that are read at a time.
    at_once: u64,
    ready: Vec<u8>,
    taken: usize,
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wrong = |problem: String| std::io::Error::new(ErrorKind::Unsupported, problem);
        if self.taken == self.ready.len() && self.row < self.rows {
            let count = self.at_once.min(self.rows - self.row);
            self.ready = match without_panic(|| self.dataset.read_raw_rows(self.row, count)) {
                Ok(Ok(bytes)) => bytes,
                Ok(Err(error)) => return Err(wrong(format!("{error} (after row {})", self.row))),
                Err(_) => return Err(wrong(format!("it does not fit (after row {})", self.row))),
            };
            if self.ready.len() as u64 != count * self.row_bytes {
                return Err(wrong(format!("its rows are of other sizes (after row {})", self.row)));
            }
            (self.row, self.taken) = (self.row + count, 0);
        }
        let count = (&self.ready[self.taken..]).read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

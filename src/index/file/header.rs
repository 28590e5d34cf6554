//! The first page of an index file.

use std::path::Path;

use crate::index::segment::Beside;
use crate::index::segment::checksum_matches;
use crate::index::structure::SearchStructure;
use crate::kernel::VectorRows;
use crate::tensors::{FileKind, INDEX_MAGIC as MAGIC};
use crate::{Error, Result, VectorFormat, VectorMetric};

const VERSION: u32 = 4;
pub(super) const PAGE: usize = 4096;
/// Bytes before the sections.
pub(super) const HEAD: usize = 3 * PAGE;
/// Offset of the numbers, after magic, version and checksum.
const HEADER: usize = 16;

/// Numbers of the header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub(super) bits: u64,
    pub(super) count: u64,
    pub(super) labelled: u64,
    /// Start and length of the section, like the other pairs.
    pub(super) text: [u64; 2],
    pub(super) function: [u64; 2],
    /// Sections by kind of column. Vectors exist since version 3.
    pub(super) columns: [[u64; 2]; 4],
    pub(super) sums: [u64; 2],
    /// Checksum of text, function and sums together.
    pub(super) checksum: u64,
    /// Start of the log. `first` is the number of the last record before the log.
    pub(super) log: u64,
    pub(super) first: u64,
    /// Search structure; `[0, 0]` if the file has none. Since version 3.
    pub(super) structure: [u64; 2],
    /// Format of the vectors, their dimension, and twice the metric's number, plus 1 if vectors
    /// have unit length; all 0 without vectors. Since version 3.
    pub(super) vectors: [u64; 3],
    /// Search tables; `[0, 0]` if the file has none. Since version 3.
    pub(super) tables: [u64; 2],
    /// Search structure that the file is written with: 0 for full, 1 for small, 2 for none. Since
    /// version 4.
    pub(super) structures: u64,
}

/// Count of numbers in the header.
const NUMBERS: usize = 28;
/// Count of numbers in version 3.
const THIRD_NUMBERS: usize = 27;
/// Count of numbers in versions 1 and 2. Later numbers read as zero from these files.
const FIRST_NUMBERS: usize = 18;
/// Bytes of the header, which never change during the life of the file.
pub(super) const HEADER_BYTES: usize = HEADER + 8 * NUMBERS;

impl Header {
    /// Returns the numbers in file order. A number has the same index in all versions, so numbers
    /// that an older file lacks read as 0.
    fn numbers(&self) -> [u64; NUMBERS] {
        let [ids, codes, labels, vectors] = self.columns;
        let sections = [self.text, self.function, ids, codes, labels, self.sums];
        let mut numbers = [0; NUMBERS];
        numbers[..3].copy_from_slice(&[self.bits, self.count, self.labelled]);
        numbers[3..15].copy_from_slice(sections.as_flattened());
        numbers[15..18].copy_from_slice(&[self.checksum, self.log, self.first]);
        numbers[18..22].copy_from_slice([vectors, self.structure].as_flattened());
        numbers[22..25].copy_from_slice(&self.vectors);
        numbers[25..27].copy_from_slice(&self.tables);
        numbers[27] = self.structures;
        numbers
    }

    fn from_numbers(n: [u64; NUMBERS]) -> Self {
        let pair = |at: usize| [n[at], n[at + 1]];
        Header {
            bits: n[0],
            count: n[1],
            labelled: n[2],
            text: pair(3),
            function: pair(5),
            columns: [pair(7), pair(9), pair(11), pair(18)],
            sums: pair(13),
            checksum: n[15],
            log: n[16],
            first: n[17],
            structure: pair(20),
            vectors: [n[22], n[23], n[24]],
            tables: pair(25),
            structures: n[27],
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let numbers: Vec<u8> = self.numbers().iter().flat_map(|n| n.to_le_bytes()).collect();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(crc32fast::hash(&numbers).to_le_bytes());
        bytes.extend(numbers);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8], path: &Path) -> Result<Header> {
        let wrong = |problem: &str| Error::damaged(path, problem);
        if !bytes.starts_with(MAGIC) {
            let problem = FileKind::of(path).map(|kind| kind.in_place_of(FileKind::Index));
            let problem = problem.unwrap_or_else(|_| "is not an index file".to_owned());
            return Err(Error::malformed(path, problem));
        }
        let found = number(bytes, 8) as u32;
        if found > VERSION {
            let path = path.to_path_buf();
            return Err(Error::NewerVersion { path, found, supported: VERSION });
        }
        if bytes.len() < HEAD {
            return Err(wrong("is cut short: not even its first pages are there"));
        }
        let count = match found {
            ..3 => FIRST_NUMBERS,
            3 => THIRD_NUMBERS,
            _ => NUMBERS,
        };
        let bytes = &bytes[..HEADER + 8 * count];
        let numbers: [u64; NUMBERS] = std::array::from_fn(|at| number(bytes, HEADER + 8 * at));
        let stored = (number(bytes, 8) >> 32) as u32;
        if !checksum_matches(stored, crc32fast::hash(&bytes[HEADER..])) {
            return Err(wrong("is damaged: the checksum of its header is wrong"));
        }
        let header = Header::from_numbers(numbers);
        // Sections never change; they precede the log, which changes.
        let before_log = |[start, len]: [u64; 2]| {
            start >= HEAD as u64 && start.checked_add(len).is_some_and(|end| end <= header.log)
        };
        // Sections of later versions are missing in older files.
        let [ids, codes, labels, vectors] = header.columns;
        let always = [header.text, header.function, ids, codes, labels, header.sums];
        let optional = [vectors, header.structure, header.tables];
        let optional = optional.into_iter().filter(|&place| place != [0, 0]);
        if !always.into_iter().chain(optional).all(before_log) || header.first > u64::MAX / 2 {
            return Err(wrong("is damaged: its header makes no sense"));
        }
        Ok(header)
    }
}

/// Numbers of the header for an index that stores the places of vectors instead of vectors.
const PLACES: [u64; 3] = [3, 0, 0];

/// Encodes the format and metric of vectors as numbers of the header.
pub(super) fn vector_numbers(beside: Beside, metric: VectorMetric) -> [u64; 3] {
    let Beside::Vectors(rows) = beside else { return PLACES };
    let format = match rows.format {
        VectorFormat::F16 => 4,
        VectorFormat::I8 => 5,
    };
    let metric = VectorMetric::ALL.iter().position(|&other| other == metric).unwrap_or(0);
    [format, rows.dim as u64, u64::from(rows.unit) + 2 * metric as u64]
}

/// Decodes the format of vectors from numbers of the header; `None` if hashbrook never writes these
/// numbers.
pub(super) fn vector_rows(numbers: [u64; 3]) -> Option<Option<Beside>> {
    let format = match numbers {
        [0, 0, 0] => return Some(None),
        PLACES => return Some(Some(Beside::Places)),
        [4, ..] => VectorFormat::F16,
        [5, ..] => VectorFormat::I8,
        _ => return None,
    };
    // The bound on the dimension keeps the byte count of a row from overflowing.
    let dim = usize::try_from(numbers[1]).ok().filter(|dim| (1..=1 << 28).contains(dim))?;
    vector_metric(numbers)?;
    let unit = numbers[2] % 2 == 1;
    Some(Some(Beside::Vectors(VectorRows { format, dim, unit })))
}

/// Decodes the metric from numbers of the header; `None` if hashbrook never writes these numbers.
pub(super) fn vector_metric(numbers: [u64; 3]) -> Option<VectorMetric> {
    VectorMetric::ALL.get(usize::try_from(numbers[2] / 2).ok()?).copied()
}

/// Returns the number of the header for the search structure that the file is written with.
pub(super) fn structure_number(wanted: SearchStructure) -> u64 {
    SearchStructure::ALL.iter().rev().position(|&other| other == wanted).unwrap_or(0) as u64
}

/// Returns the search structure by its number in the header; `None` if hashbrook never writes this
/// number.
pub(super) fn structure_wanted(number: u64) -> Option<SearchStructure> {
    SearchStructure::ALL.iter().rev().nth(usize::try_from(number).ok()?).copied()
}

/// Returns eight little-endian bytes as a number. Bytes beyond the end count as zero.
pub(super) fn number(bytes: &[u8], at: usize) -> u64 {
    let mut le = [0; 8];
    let end = bytes.len().min(at + 8);
    if at < end {
        le[..end - at].copy_from_slice(&bytes[at..end]);
    }
    u64::from_le_bytes(le)
}

//! Files made byte by byte, and functions that read them back.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use hashbrook::Result;
use hashbrook::dataset::{LabelNames, Reader, read_labels};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A temporary directory of files, removed after the test.
pub struct Files(TempDir);

impl Files {
    pub fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Returns the path of a file that numpy or scipy wrote.
pub fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Reads a file, and returns its dimension and values.
pub fn features(spec: &str) -> Result<(usize, Vec<f32>)> {
    drain(Reader::open(spec)?, 1000)
}

/// Reads everything in batches of at most `max_rows`, and returns dimension and values.
pub fn drain(mut reader: Reader, max_rows: usize) -> Result<(usize, Vec<f32>)> {
    let mut values = Vec::new();
    while let Some(batch) = reader.next(max_rows)? {
        assert!(batch.len() <= max_rows);
        values.extend_from_slice(batch.values());
    }
    assert!(reader.rows().is_none_or(|rows| rows * reader.dim() == values.len()));
    Ok((reader.dim(), values))
}

/// Returns the error message of reading features.
pub fn features_error(spec: &str) -> String {
    features(spec).map(|found| panic!("{spec} was read: {found:?}")).unwrap_err().to_string()
}

/// Reads the names of every row's labels; the first value is `true` if the labels are sets.
pub fn labels(spec: &str) -> Result<(bool, Vec<Vec<String>>)> {
    let mut names = LabelNames::new();
    let list = read_labels(spec, &mut names)?;
    let view = list.view();
    let name = |label: &u32| names.name(*label).unwrap().to_owned();
    let rows = (0..view.len()).map(|row| view.row(row).iter().map(name).collect()).collect();
    Ok((list.has_sets(), rows))
}

/// Reads one label per row.
pub fn single_labels(spec: &str) -> Vec<String> {
    let (sets, rows) = labels(spec).unwrap();
    assert!(!sets, "{spec} has sets of labels");
    rows.concat()
}

/// Returns the error message of reading labels.
pub fn labels_error(spec: &str) -> String {
    labels(spec).map(|found| panic!("{spec} was read: {found:?}")).unwrap_err().to_string()
}

pub fn gz(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), data].concat()
}

pub fn npz(method: CompressionMethod, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(*name, options).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

pub fn idx(kind: u8, sizes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, kind, u8::try_from(sizes.len()).unwrap()];
    file.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    file.extend(data);
    file
}

/// Returns rows in the format of vecs files: each row follows its dimension.
pub fn vecs<const N: usize>(dim: usize, values: &[[u8; N]]) -> Vec<u8> {
    let prefix = (dim as i32).to_le_bytes();
    values.chunks(dim).flat_map(|row| [&prefix[..], row.as_flattened()].concat()).collect()
}

/// A writer of MATLAB files in either byte order.
#[derive(Clone, Copy)]
pub struct Mat {
    pub big_endian: bool,
    pub compressed: bool,
}

/// Classes of MATLAB variables.
pub const DOUBLE: u32 = 6;
pub const UINT8: u32 = 9;

/// Data types in which MATLAB stores numbers.
pub const AS_INT8: u32 = 1;
pub const AS_UINT8: u32 = 2;
pub const AS_DOUBLE: u32 = 9;

impl Mat {
    pub fn file(self, variables: &[Vec<u8>]) -> Vec<u8> {
        let mut file = b"MATLAB 5.0 MAT-file, written by hand".to_vec();
        file.resize(124, b' ');
        file.extend(if self.big_endian { b"\x01\x00MI" } else { b"\x00\x01IM" });
        [file, variables.concat()].concat()
    }

    pub fn variable(
        self,
        name: &str,
        class: u32,
        sizes: &[u32],
        storage: u32,
        data: &[u8],
    ) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|&word| self.word(word)).collect();
        let parts: [(u32, Vec<u8>); 4] = [
            (6, words(&[class, 0])),
            (5, words(sizes)),
            (1, name.as_bytes().to_vec()),
            (storage, data.to_vec()),
        ];
        let parts: Vec<u8> =
            parts.iter().flat_map(|(kind, part)| self.element(*kind, part)).collect();
        let variable = self.element(14, &parts);
        if self.compressed { self.packed(&variable) } else { variable }
    }

    /// Compresses a variable.
    pub fn packed(self, variable: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(variable).unwrap();
        let packed = encoder.finish().unwrap();
        [&self.word(15), &self.word(packed.len() as u32), &packed[..]].concat()
    }

    fn element(self, kind: u32, data: &[u8]) -> Vec<u8> {
        let len = data.len() as u32;
        let mut element = if (1..=4).contains(&len) {
            [self.word(len << 16 | kind).to_vec(), data.to_vec()].concat()
        } else {
            [&self.word(kind), &self.word(len), data].concat()
        };
        element.resize(element.len().next_multiple_of(8), 0);
        element
    }

    fn word(self, word: u32) -> [u8; 4] {
        if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }
}

//! npz files: zip archives of npy arrays.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::content::Content;
use super::extent::shape;
use super::input::{CHUNK, Input};
use super::npy::{self, Header};
use crate::{Error, Result};

/// Opens the array called `name`, or the only one.
pub(super) fn open(input: Input, name: Option<&str>) -> Result<Content> {
    let path = input.path().to_path_buf();
    let (mut file, _, _) = input.into_file(u64::MAX)?;
    let entries = list(&path, &file)?;
    let chosen = match name {
        Some(name) => entries.iter().find(|entry| entry.is_called(name)),
        None if entries.len() == 1 => entries.first(),
        None => None,
    };
    match chosen {
        Some(entry) => npy::open(entry.input(&path, file)?),
        None => Err(Error::malformed(&path, choice(&path, &mut file, &entries, name))),
    }
}

/// Returns the error message for a missing choice, with a list of the arrays.
fn choice(path: &Path, file: &mut File, entries: &[Entry], name: Option<&str>) -> String {
    if entries.is_empty() {
        return "is a zip archive with no .npy arrays in it".to_owned();
    }
    let describe = |entry: &Entry| {
        let copy = file.try_clone().map_err(Error::io(path));
        let header = copy.and_then(|file| Header::read(&mut entry.input(path, file)?));
        let sizes = header.map_or_else(|_| "unreadable".to_owned(), |header| shape(&header.sizes));
        format!("{} ({sizes})", entry.name)
    };
    let all = entries.iter().map(describe).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => format!("has no array {name:?}; it has {all}"),
        None => format!("has several arrays, pick one as FILE:NAME; it has {all}"),
    }
}

/// Array in the archive.
struct Entry {
    /// Name of the array, without `.npy`.
    name: String,
    /// Offset of the array's bytes in the archive.
    start: u64,
    packed_len: u64,
    len: u64,
    deflated: bool,
    crc32: u32,
}

impl Entry {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || name.strip_suffix(".npy") == Some(&self.name)
    }

    /// Returns the bytes of the array. The bytes are contiguous, so they are read without the zip
    /// reader.
    fn input(&self, path: &Path, mut file: File) -> Result<Input> {
        let mut named = path.as_os_str().to_owned();
        named.push(":");
        named.push(&self.name);
        file.seek(SeekFrom::Start(self.start)).map_err(Error::io(path))?;
        let packed = BufReader::with_capacity(CHUNK, file.take(self.packed_len));
        let (crc, path) = (crc32fast::Hasher::new(), PathBuf::from(named));
        if self.deflated {
            let bytes = Checked { bytes: DeflateDecoder::new(packed), crc, expected: self.crc32 };
            Input::stream(&path, bytes, Some(self.len))
        } else {
            let bytes = Checked { bytes: packed, crc, expected: self.crc32 };
            Input::stream(&path, bytes, Some(self.len))
        }
    }
}

/// Lists the arrays of an archive.
fn list(path: &Path, file: &File) -> Result<Vec<Entry>> {
    let damaged = |error| Error::malformed(path, format!("is not a sound zip archive: {error}"));
    let mut archive = ZipArchive::new(file).map_err(damaged)?;
    let mut entries = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        let name = String::from_utf8_lossy(entry.name_raw());
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let method = entry.compression();
        let stored_or_deflated =
            matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated);
        if !stored_or_deflated || entry.encrypted() {
            let how = if entry.encrypted() { "encrypted".into() } else { method.to_string() };
            let problem =
                format!("array {name:?} is {how}; stored or deflated, as numpy saves it, is read");
            return Err(Error::malformed(path, problem));
        }
        let Some(start) = entry.data_start() else {
            return Err(Error::malformed(path, format!("array {name:?} has no data")));
        };
        entries.push(Entry {
            name: name.to_owned(),
            start,
            packed_len: entry.compressed_size(),
            len: entry.size(),
            deflated: method == CompressionMethod::Deflated,
            crc32: entry.crc32(),
        });
    }
    Ok(entries)
}

/// Reader that compares the checksum of all bytes with the expected checksum at the end.
struct Checked<R> {
    bytes: R,
    crc: crc32fast::Hasher,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.crc.update(&buffer[..count]);
        if count == 0 && !buffer.is_empty() && self.crc.clone().finalize() != self.expected {
            let problem = "its checksum is not the one that the archive gives";
            return Err(std::io::Error::new(ErrorKind::InvalidData, problem));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], expected: u32) -> std::io::Result<Vec<u8>> {
        let mut checked = Checked { bytes, crc: crc32fast::Hasher::new(), expected };
        let mut found = Vec::new();
        checked.read_to_end(&mut found).map(|_| found)
    }

    #[test]
    fn checksums_are_compared_at_the_end() {
        let expected = crc32fast::hash(b"array");
        assert_eq!(read(b"array", expected).unwrap(), b"array");
        assert_eq!(read(b"arrax", expected).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn arrays_go_by_their_name_with_or_without_its_ending() {
        let name = "x".to_owned();
        let entry = Entry { name, start: 0, packed_len: 0, len: 0, deflated: false, crc32: 0 };
        assert!(entry.is_called("x") && entry.is_called("x.npy"));
        assert!(!entry.is_called("y") && !entry.is_called(""));
    }
}

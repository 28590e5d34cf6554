//! Detection of file formats: by the content, or by the name if the content is ambiguous.

use std::path::Path;

use super::input::Input;
use super::vecs::{self, VecsKind};
use crate::tensors::INDEX_MAGIC;
use crate::{Error, Result};

const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";

/// File formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Npy,
    Npz,
    Idx,
    Mat,
    Hdf5,
    Parquet,
    /// An Arrow file, which is also called Feather, or an Arrow stream.
    Arrow,
    Vecs(VecsKind),
    Text,
}

impl Format {
    /// Detects the format of a file that was just opened.
    pub(super) fn of(input: &Input) -> Result<Format> {
        let head = input.head();
        let named = extension(input.path());
        if head.starts_with(b"\x93NUMPY") {
            Ok(Format::Npy)
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            Ok(Format::Npz)
        } else if is_idx(head) {
            Ok(Format::Idx)
        } else if is_hdf5(head) {
            Ok(Format::Hdf5)
        } else if head.starts_with(b"PAR1") {
            Ok(Format::Parquet)
        } else if head.starts_with(b"PARE") {
            let problem = "is an encrypted Parquet file, which is not read";
            Err(Error::malformed(input.path(), problem))
        } else if head.starts_with(b"ARROW1") || is_arrow_stream(head) {
            Ok(Format::Arrow)
        } else if head.starts_with(b"FEA1") {
            let problem = "is a Feather file of version 1, which is not read; save it as version 2";
            Err(Error::malformed(input.path(), problem))
        } else if let Some(kind) = own_file(head) {
            let problem =
                format!("is {kind}; expected vectors, labels or ids: give the file of these");
            Err(Error::malformed(input.path(), problem))
        } else if is_mat(head) {
            Ok(Format::Mat)
        } else if let Some(kind) = VecsKind::from_extension(&named) {
            Ok(Format::Vecs(kind))
        } else if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            Err(Error::malformed(input.path(), "is text in UTF-16; save it as UTF-8"))
        } else if is_text(head) {
            Ok(Format::Text)
        } else if named == "mat" {
            let problem = "is not a MATLAB file of version 5 to 7; save it with -v7";
            Err(Error::malformed(input.path(), problem))
        } else if let Some(kind) = vecs::recognise(head, input.remaining()) {
            Ok(Format::Vecs(kind))
        } else {
            let problem = "is in no format that is read: npy, npz, IDX, CSV or other text, fvecs, \
                           bvecs, ivecs, MATLAB, HDF5, Parquet, Arrow, each also gzipped";
            Err(Error::malformed(input.path(), problem))
        }
    }
}

/// Returns the kind of a file that hashbrook wrote and that is not data.
fn own_file(head: &[u8]) -> Option<&'static str> {
    let has = |text: &[u8]| head.windows(text.len()).any(|part| part == text);
    match head {
        _ if head.starts_with(INDEX_MAGIC) => Some("an index"),
        [_, _, _, _, _, _, _, 0, b'{', ..] if has(b"hashbrook model") => Some("a model"),
        [_, _, _, _, _, _, _, 0, b'{', ..] if has(b"hashbrook function") => Some("a hash function"),
        _ => None,
    }
}

/// Returns the extension of a file's name, in lower case and without `.gz`.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default()
}

/// Returns whether the head is that of an IDX file: two zeros, a type and a number of dimensions.
fn is_idx(head: &[u8]) -> bool {
    matches!(head, [0, 0, 0x08 | 0x09 | 0x0b..=0x0e, 1..=32, ..])
}

/// Returns whether the magic number of HDF5 is at the start, or after a user block: at byte 512,
/// 1024, 2048 and so on.
fn is_hdf5(head: &[u8]) -> bool {
    let starts = std::iter::successors(Some(512), |start| Some(2 * start));
    let starts = std::iter::once(0).chain(starts.take_while(|&start| start < head.len()));
    head.starts_with(b"MATLAB 7.3") || starts.into_iter().any(|at| head[at..].starts_with(HDF5))
}

/// Returns whether the head is that of an Arrow stream: a word of ones, and the length of a
/// description.
fn is_arrow_stream(head: &[u8]) -> bool {
    match head {
        [0xff, 0xff, 0xff, 0xff, a, b, c, d, ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]);
            length > 0 && length % 8 == 0 && length < 1 << 26
        }
        _ => false,
    }
}

/// Returns whether the head is a MATLAB header: 124 bytes of text that do not begin with zeros, a
/// version, and `MI` as a number, which gives the byte order. MATLAB's usual text alone is
/// sufficient.
fn is_mat(head: &[u8]) -> bool {
    let starts_with_text = head.iter().take(4).all(|&byte| byte != 0);
    head.starts_with(b"MATLAB 5.0 MAT-file")
        || starts_with_text
            && matches!(head.get(124..128), Some([0, 1, b'I', b'M'] | [1, 0, b'M', b'I']))
}

/// Returns whether the head is text, which has no control characters except for white space and
/// escape.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| !matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, content: &[u8]) -> std::result::Result<Format, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        Format::of(&Input::open(&path).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_content_decides_before_the_name() {
        assert_eq!(format("a.csv", b"\x93NUMPY\x01\x00"), Ok(Format::Npy));
        assert_eq!(format("a.npy", b"PK\x03\x04...."), Ok(Format::Npz));
        assert_eq!(format("a.fvecs", b"\x00\x00\x08\x03...."), Ok(Format::Idx));
        assert_eq!(format("a.npy", b"1,2,3\n"), Ok(Format::Text));
        assert_eq!(format("a.mat", b"caf\xc3\xa9\n"), Ok(Format::Text));
        assert_eq!(format("a.csv", b"PAR1...."), Ok(Format::Parquet));
        assert_eq!(format("a.csv", b"ARROW1.."), Ok(Format::Arrow));
        assert_eq!(format("a.fvecs", b"\xff\xff\xff\xff\x10\0\0\0...."), Ok(Format::Arrow));
        let mut mat73 = b"MATLAB 7.3 MAT-file".to_vec();
        mat73.resize(512, b' ');
        assert_eq!(format("a.mat", &mat73), Ok(Format::Hdf5));
        assert_eq!(format("a.npy", HDF5), Ok(Format::Hdf5));
    }

    #[test]
    fn the_name_decides_what_content_cannot() {
        let record = [1, 0, 0, 0, 7, 0, 0, 0];
        for (name, kind) in
            [("a.fvecs", VecsKind::F32), ("a.IVECS", VecsKind::I32), ("a.bvecs.gz", VecsKind::U8)]
        {
            assert_eq!(format(name, &record), Ok(Format::Vecs(kind)));
        }
        // These are numbers that happen to equal the end of a MATLAB header.
        let mut vectors = vec![40, 0, 0, 0];
        vectors.resize(124, 7);
        vectors.extend(b"\x00\x01IM");
        assert_eq!(format("a.fvecs", &vectors), Ok(Format::Vecs(VecsKind::F32)));
        assert!(format("a.mat", &record).unwrap_err().contains("-v7"));
        assert!(format("a.bin", &record).unwrap_err().contains("npy, npz, IDX"));
    }

    #[test]
    fn formats_that_are_not_read_are_called_by_name() {
        assert!(format("a.feather", b"FEA1....").unwrap_err().contains("version 1"));
        assert!(format("a.txt", b"\xff\xfea\0b\0").unwrap_err().contains("UTF-16"));
    }
}

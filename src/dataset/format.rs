//! Which format a file is in: by its content, and by its name where the content does not tell.

use std::path::Path;

use super::input::Input;
use super::vecs::{self, VecsKind};
use crate::tensors::INDEX_MAGIC;
use crate::{Error, Result};

const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";

/// The formats that are read.
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
    /// The format of a file that was opened just now.
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

/// What a file is called that this library wrote and that has no data in it.
fn own_file(head: &[u8]) -> Option<&'static str> {
    let has = |text: &[u8]| head.windows(text.len()).any(|part| part == text);
    match head {
        _ if head.starts_with(INDEX_MAGIC) => Some("an index"),
        [_, _, _, _, _, _, _, 0, b'{', ..] if has(b"hashbrook model") => Some("a model"),
        [_, _, _, _, _, _, _, 0, b'{', ..] if has(b"hashbrook function") => Some("a hash function"),
        _ => None,
    }
}

/// What a file's name ends in, in lower case and without `.gz`.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default()
}

/// Two zeros, a type and a number of dimensions.
fn is_idx(head: &[u8]) -> bool {
    matches!(head, [0, 0, 0x08 | 0x09 | 0x0b..=0x0e, 1..=32, ..])
}

/// The magic number at the start, or behind what someone else has put there: at 512 bytes, or at twice as
/// many, and so on.
fn is_hdf5(head: &[u8]) -> bool {
    let starts = std::iter::successors(Some(512), |start| Some(2 * start));
    let starts = std::iter::once(0).chain(starts.take_while(|&start| start < head.len()));
    head.starts_with(b"MATLAB 7.3") || starts.into_iter().any(|at| head[at..].starts_with(HDF5))
}

/// A word of ones, and the length of a description.
fn is_arrow_stream(head: &[u8]) -> bool {
    match head {
        [0xff, 0xff, 0xff, 0xff, a, b, c, d, ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]);
            length > 0 && length % 8 == 0 && length < 1 << 26
        }
        _ => false,
    }
}

/// A text of 124 bytes that does not begin with zeros, and mostly as here; a version; and `MI` as a
/// number, which tells the byte order.
fn is_mat(head: &[u8]) -> bool {
    let starts_with_text = head.iter().take(4).all(|&byte| byte != 0);
    head.starts_with(b"MATLAB 5.0 MAT-file")
        || starts_with_text
            && matches!(head.get(124..128), Some([0, 1, b'I', b'M'] | [1, 0, b'M', b'I']))
}

/// Text has no control characters beyond those that space it out.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| !matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, content: &[u8]) -> std::result::Result<Format, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
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
        // Numbers that happen to look like the end of a MATLAB header.
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

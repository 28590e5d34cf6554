//! Files of named arrays: models and hash functions.
//!
//! The files are safetensors files with one JSON string in their metadata. The string begins with
//! the kind and the format version of the file. The array `checksum` covers the string and all
//! other arrays. The head identifies the kind, so a file of another kind is refused before the rest
//! is read. No more bytes are read than the head declares.

use std::io::Read;
use std::path::Path;

use safetensors::tensor::Metadata;
use serde_json::Value;

use super::arrays::Tensors;
use crate::disk::{self, Mode};
use crate::{Error, Result};

/// Key of the JSON string in the metadata.
const KEY: &str = "hashbrook";

/// Length of the longest header that safetensors files may have, in bytes.
const LONGEST_HEADER: u64 = 100_000_000;

/// First bytes of an index file. Index files have no named arrays; the constant is defined here so
/// that the two kinds of files can be distinguished.
pub(crate) const INDEX_MAGIC: &[u8; 8] = b"HBROOKIX";

/// Each kind with its name in the JSON strings, which is the name of the kind's [`Format`].
const KNOWN: [(&str, FileKind); 2] =
    [("hashbrook model", FileKind::Model), ("hashbrook function", FileKind::Function)];

/// Format of a kind of file.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// Newest version, which is the version written.
    pub(crate) version: u32,
    pub(crate) kind: FileKind,
}

/// Kind of a hashbrook file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileKind {
    /// A [`Model`](crate::Model), which can continue to learn.
    Model,
    /// A [`HashFunction`](crate::HashFunction) alone.
    Function,
    /// An [`Index`](crate::Index).
    Index,
}

impl FileKind {
    /// Returns the kind of a file, as given by its head. The rest is not read, and may be damaged.
    ///
    /// # Errors
    /// When the file cannot be read, or is of none of these kinds.
    pub fn of(path: impl AsRef<Path>) -> Result<FileKind> {
        let path = path.as_ref();
        let mut file = disk::open(path, Mode::Read).map_err(Error::io(path))?;
        let expected = "is not a model file, nor that of a function or an index";
        Head::read(&mut file, path, expected)?.kind(path)
    }

    /// Returns the name of the kind for messages.
    fn name(self) -> &'static str {
        match self {
            FileKind::Model => "a model",
            FileKind::Function => "a hash function",
            FileKind::Index => "an index",
        }
    }

    /// Returns a message for a file of this kind where another kind was expected, with advice on
    /// what to do.
    pub(crate) fn in_place_of(self, expected: FileKind) -> String {
        let remedy = match (expected, self) {
            (FileKind::Model, FileKind::Function) => {
                "a function alone encodes and cannot learn; give the model that it was exported from"
            }
            (FileKind::Model, _) => "give the model that its codes were made with",
            (FileKind::Function, FileKind::Model) => "export the function from this model",
            (FileKind::Function, _) => "give the function that its codes were made with",
            (FileKind::Index, _) => "build an index with it first",
        };
        format!("is {}; expected {}: {remedy}", self.name(), expected.name())
    }
}

/// Head of a file: its description and its expected length.
struct Head {
    /// Bytes read so far.
    bytes: Vec<u8>,
    /// `None` for an index.
    description: Option<Description>,
}

struct Description {
    text: String,
    outline: Value,
    /// Number of bytes after the head.
    data: u64,
}

impl Head {
    /// Reads a head, and no more. `expected` describes the expected file in messages.
    fn read(file: &mut impl Read, path: &Path, expected: &str) -> Result<Head> {
        let wrong = |problem: String| Error::malformed(path, problem);
        let mut bytes = Vec::new();
        // The length of the header, and its opening brace.
        file.by_ref().take(9).read_to_end(&mut bytes).map_err(Error::io(path))?;
        if bytes.starts_with(INDEX_MAGIC) {
            return Ok(Head { bytes, description: None });
        }
        let [a, b, c, d, e, f, g, h, b'{'] = bytes[..] else {
            return Err(wrong(expected.to_owned()));
        };
        let length = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        if !(1..=LONGEST_HEADER).contains(&length) {
            return Err(wrong(expected.to_owned()));
        }
        file.by_ref().take(length - 1).read_to_end(&mut bytes).map_err(Error::io(path))?;
        if bytes.len() as u64 != 8 + length {
            return Err(wrong(format!("{expected}, or was cut short: its head is not all there")));
        }
        let header: Metadata = serde_json::from_slice(&bytes[8..])
            .map_err(|problem| wrong(format!("{expected}, or was cut short: {problem}")))?;
        let text = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY).cloned());
        let text = text.ok_or_else(|| {
            wrong("is a safetensors file, but not one that hashbrook wrote".to_owned())
        })?;
        let outline: Value = serde_json::from_str(&text).map_err(|problem| {
            Error::damaged(path, format!("its description is damaged: {problem}"))
        })?;
        let data = header.data_len() as u64;
        Ok(Head { bytes, description: Some(Description { text, outline, data }) })
    }

    fn kind(&self, path: &Path) -> Result<FileKind> {
        let Some(Description { outline, .. }) = &self.description else {
            return Ok(FileKind::Index);
        };
        let known = KNOWN.into_iter().find(|(name, _)| outline["format"] == *name);
        known.map(|(_, kind)| kind).ok_or_else(|| {
            let found = &outline["format"];
            Error::malformed(path, format!("is of a format that is not known: {found}"))
        })
    }

    /// Returns the head and the description if the file has this format in a supported version.
    fn expect(self, format: &Format, path: &Path) -> Result<(Vec<u8>, Description)> {
        let kind = self.kind(path)?;
        let description = match self.description {
            Some(description) if kind == format.kind => description,
            _ => return Err(Error::malformed(path, kind.in_place_of(format.kind))),
        };
        // The version is checked first, because all other fields may differ in a newer version.
        let found = description.outline["version"].as_u64().unwrap_or(0);
        let found = found.try_into().unwrap_or(u32::MAX);
        if found > format.version {
            let path = path.to_path_buf();
            return Err(Error::NewerVersion { path, found, supported: format.version });
        }
        Ok((self.bytes, description))
    }
}

impl Format {
    fn expected(&self) -> &'static str {
        match self.kind {
            FileKind::Model => "is not a model file",
            FileKind::Function => "is not the file of a hash function",
            FileKind::Index => "is not an index file",
        }
    }

    /// Returns the bytes of a file with these arrays, and a JSON string that begins with this
    /// format. The string may have up to a hundred million bytes.
    pub(crate) fn to_bytes(&self, text: String, mut arrays: Tensors) -> Result<Vec<u8>> {
        let checksum = arrays.checksum(&text);
        arrays.put("checksum", 1, &[checksum]);
        let length = text.len();
        arrays.to_bytes(KEY, text).map_err(|_| {
            let expected = "short enough for the head of a file, of 100 million bytes";
            Error::parameter("names of labels and notes", expected, format!("{length} bytes"))
        })
    }

    /// Reads the file if its head has this format.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let mut file = disk::open(path, Mode::Read).map_err(Error::io(path))?;
        let head = Head::read(&mut file, path, self.expected())?;
        let (mut bytes, description) = head.expect(self, path)?;
        let expected = description.data.saturating_add(bytes.len() as u64);
        // One byte more than expected, to detect trailing bytes.
        let rest = description.data.saturating_add(1);
        file.take(rest).read_to_end(&mut bytes).map_err(Error::io(path))?;
        check_length(path, bytes.len() as u64, expected)?;
        Ok(bytes)
    }

    /// Returns the JSON string and the arrays in the bytes of a file of this format. Errors name
    /// `path`.
    pub(crate) fn parse(&self, bytes: &[u8], path: &Path) -> Result<(String, Tensors)> {
        let wrong = |problem: String| Error::damaged(path, problem);
        let head = Head::read(&mut &bytes[..], path, self.expected())?;
        let (head, Description { text, data, .. }) = head.expect(self, path)?;
        check_length(path, bytes.len() as u64, data.saturating_add(head.len() as u64))?;
        let (mut arrays, _) = Tensors::from_bytes(bytes, KEY)
            .map_err(|problem| wrong(format!("{}, or is damaged: {problem}", self.expected())))?;
        let stored = arrays.take_rows::<u32>("checksum", 1, 1).map_err(wrong)?[0];
        let computed = arrays.checksum(&text);
        // Fuzzing accepts wrong checksums, to reach the code after this check.
        if stored != computed && !cfg!(fuzzing) {
            return Err(wrong(format!(
                "is damaged: its checksum is {computed:08x}, it should be {stored:08x}"
            )));
        }
        Ok((text, arrays))
    }
}

fn check_length(path: &Path, found: u64, expected: u64) -> Result<()> {
    let problem = match found {
        _ if found < expected => format!("is cut short: it has {found} of {expected} bytes"),
        _ if found > expected => format!("goes on behind its end, at {expected} bytes"),
        _ => return Ok(()),
    };
    Err(Error::damaged(path, problem))
}

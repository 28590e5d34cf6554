//! Files of named arrays: models and hash functions.
//!
//! They are safetensors with one JSON text in their metadata, which says first what the file is and
//! in which version of its format. The array `checksum` is that of the text and of all other arrays.
//! What a file is shows in its head, so a file of another kind is refused before the rest is read,
//! and no more is read than the head speaks of.

use std::io::Read;
use std::path::Path;

use safetensors::tensor::Metadata;
use serde_json::Value;

use super::arrays::Tensors;
use crate::disk::{self, Mode};
use crate::{Error, Result};

/// The key of the metadata under which the text stands.
const KEY: &str = "hashbrook";

/// The longest header that safetensors files may have.
const LONGEST_HEADER: u64 = 100_000_000;

/// What the file of an index begins with, which is none of named arrays: it is known here so that it can be
/// told from one.
pub(crate) const INDEX_MAGIC: &[u8; 8] = b"HBROOKIX";

/// What the texts of files call them: the name of the [`Format`] of each kind.
const KNOWN: [(&str, FileKind); 2] =
    [("hashbrook model", FileKind::Model), ("hashbrook function", FileKind::Function)];

/// A kind of file, as its text names it.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// The newest version, which is the one written.
    pub(crate) version: u32,
    pub(crate) kind: FileKind,
}

/// What a file of this library holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileKind {
    /// A [`Model`](crate::Model), which can learn on.
    Model,
    /// A [`HashFunction`](crate::HashFunction) alone.
    Function,
    /// An [`Index`](crate::Index).
    Index,
}

impl FileKind {
    /// What a file is, told by its head; the rest of it is not read, and may be damaged.
    ///
    /// # Errors
    /// When it cannot be read, or is none of these.
    pub fn of(path: impl AsRef<Path>) -> Result<FileKind> {
        let path = path.as_ref();
        let mut file = disk::open(path, Mode::Read).map_err(Error::io(path))?;
        let expected = "is not a model file, nor that of a function or an index";
        Head::read(&mut file, path, expected)?.kind(path)
    }

    /// What such a file is called.
    fn name(self) -> &'static str {
        match self {
            FileKind::Model => "a model",
            FileKind::Function => "a hash function",
            FileKind::Index => "an index",
        }
    }

    /// What is wrong with a file of this kind where another was expected, and what to do.
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

/// The head of a file: what it says it is, and how long it should be.
struct Head {
    /// The bytes that were read.
    bytes: Vec<u8>,
    /// None of an index.
    description: Option<Description>,
}

struct Description {
    text: String,
    outline: Value,
    /// How many bytes follow the head.
    data: u64,
}

impl Head {
    /// Reads a head, and no more; `expected` is what the file should have been.
    fn read(file: &mut impl Read, path: &Path, expected: &str) -> Result<Head> {
        let wrong = |problem: String| Error::malformed(path, problem);
        let mut bytes = Vec::new();
        // The length of the header, and the brace that it begins with.
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

    /// The description of a file that is of this format, in a version that is known.
    fn expect(self, format: &Format, path: &Path) -> Result<(Vec<u8>, Description)> {
        let kind = self.kind(path)?;
        let description = match self.description {
            Some(description) if kind == format.kind => description,
            _ => return Err(Error::malformed(path, kind.in_place_of(format.kind))),
        };
        // Looked at before all else, which may be different in a newer one.
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

    /// The bytes of a file with these arrays, and a text that begins with this format. There is room
    /// for a text of a hundred million bytes.
    pub(crate) fn to_bytes(&self, text: String, mut arrays: Tensors) -> Result<Vec<u8>> {
        let checksum = arrays.checksum(&text);
        arrays.put("checksum", 1, &[checksum]);
        let length = text.len();
        arrays.to_bytes(KEY, text).map_err(|_| {
            let expected = "short enough for the head of a file, of 100 million bytes";
            Error::parameter("names of labels and notes", expected, format!("{length} bytes"))
        })
    }

    /// Reads the file, once its head shows that it is of this format.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let mut file = disk::open(path, Mode::Read).map_err(Error::io(path))?;
        let head = Head::read(&mut file, path, self.expected())?;
        let (mut bytes, description) = head.expect(self, path)?;
        let expected = description.data.saturating_add(bytes.len() as u64);
        // One byte more, to see that there is none.
        let rest = description.data.saturating_add(1);
        file.take(rest).read_to_end(&mut bytes).map_err(Error::io(path))?;
        check_length(path, bytes.len() as u64, expected)?;
        Ok(bytes)
    }

    /// The text and the arrays in the bytes of a file of this format; errors name `path`.
    pub(crate) fn parse(&self, bytes: &[u8], path: &Path) -> Result<(String, Tensors)> {
        let wrong = |problem: String| Error::damaged(path, problem);
        let head = Head::read(&mut &bytes[..], path, self.expected())?;
        let (head, Description { text, data, .. }) = head.expect(self, path)?;
        check_length(path, bytes.len() as u64, data.saturating_add(head.len() as u64))?;
        let (mut arrays, _) = Tensors::from_bytes(bytes, KEY)
            .map_err(|problem| wrong(format!("{}, or is damaged: {problem}", self.expected())))?;
        let stored = arrays.take_rows::<u32>("checksum", 1, 1).map_err(wrong)?[0];
        let computed = arrays.checksum(&text);
        // Whoever feeds the reader with chance bytes wants to get behind the checksum.
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

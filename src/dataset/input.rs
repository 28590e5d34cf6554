//! Bytes of a file, decompressed if it is gzipped.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::{Error, Result};

/// Number of bytes that are read ahead to detect the format.
const HEAD: u64 = 1 << 16;

/// Number of bytes that are read in one call: enough to make system calls cheap, and few enough for
/// caches.
pub(super) const CHUNK: usize = 1 << 18;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Name that stands for the standard input in place of a file.
pub(super) const STANDARD_INPUT: &str = "-";

/// A file, or a part of a file, that is read from front to back.
pub(super) struct Input {
    path: PathBuf,
    /// The first bytes, read ahead.
    head: Vec<u8>,
    /// Bytes after the head.
    rest: Rest,
    /// Number of bytes that were returned; for a file also the offset in it.
    position: u64,
    /// End of the bytes, if it is known without reading them all.
    len: Option<u64>,
}

enum Rest {
    /// A regular file, which can be read at any offset.
    File(File),
    /// Anything else: decompressed data, a part of an archive, a pipe.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// Opens a file, or the standard input for `-`, and reads its first bytes.
    pub(super) fn open(path: &Path) -> Result<Input> {
        if path == Path::new(STANDARD_INPUT) {
            let plain = Input::stream(Path::new("standard input"), std::io::stdin(), None)?;
            return plain.decompressed();
        }
        let file = File::open(path).map_err(Error::io(path))?;
        let found = file.metadata().map_err(Error::io(path))?;
        if found.is_dir() {
            return Err(Error::malformed(path, "is a directory; a file was expected"));
        }
        let (rest, len) = if found.is_file() {
            (Rest::File(file), Some(found.len()))
        } else {
            (Rest::Stream(Box::new(file)), None)
        };
        let plain = Input { path: path.to_path_buf(), head: Vec::new(), rest, position: 0, len };
        plain.read_head()?.decompressed()
    }

    /// Returns the content of a gzipped file; any other file is returned unchanged.
    fn decompressed(self) -> Result<Input> {
        if self.head.is_empty() {
            return Err(Error::malformed(&self.path, "is empty"));
        }
        if !self.head.starts_with(&GZIP) {
            return Ok(self);
        }
        let path = self.path.clone();
        let packed = BufReader::with_capacity(CHUNK, self);
        let input = Input::stream(&path, MultiGzDecoder::new(packed), None)?;
        if input.head.is_empty() {
            return Err(Error::malformed(&path, "is empty once decompressed"));
        }
        Ok(input)
    }

    /// Creates an input from bytes inside of the file at `path`.
    pub(super) fn stream(
        path: &Path,
        bytes: impl Read + Send + 'static,
        len: Option<u64>,
    ) -> Result<Input> {
        let rest = Rest::Stream(Box::new(bytes));
        Input { path: path.to_path_buf(), head: Vec::new(), rest, position: 0, len }.read_head()
    }

    /// Creates an input from the bytes of a regular file from `start` to `end`.
    pub(super) fn part(path: &Path, mut file: File, start: u64, end: u64) -> Result<Input> {
        file.seek(SeekFrom::Start(start)).map_err(Error::io(path))?;
        let (path, rest) = (path.to_path_buf(), Rest::File(file));
        Ok(Input { path, head: Vec::new(), rest, position: start, len: Some(end) })
    }

    fn read_head(mut self) -> Result<Input> {
        let mut head = Vec::new();
        let read = match &mut self.rest {
            Rest::File(file) => file.take(HEAD).read_to_end(&mut head),
            Rest::Stream(stream) => stream.take(HEAD).read_to_end(&mut head),
        };
        read.map_err(|error| self.failure(error))?;
        self.head = head;
        Ok(self)
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the first bytes, even after they were read.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the number of remaining bytes, if it is known.
    pub(super) fn remaining(&self) -> Option<u64> {
        self.len.map(|len| len.saturating_sub(self.position))
    }

    /// Reads until `buffer` is full or the input ends; returns the number of bytes read.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        Ok(filled)
    }

    /// Reads `N` bytes of a header.
    pub(super) fn header<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill_header(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` with a part of a header.
    pub(super) fn fill_header(&mut self, bytes: &mut [u8]) -> Result<()> {
        let start = self.position;
        let found = self.fill(bytes)?;
        if found == bytes.len() {
            return Ok(());
        }
        let problem = format!(
            "ends in the middle of its header: expected at least {} bytes, it has {}",
            start + bytes.len() as u64,
            start + found as u64
        );
        Err(Error::malformed(&self.path, problem))
    }

    /// Converts an I/O error to one that a user understands.
    pub(super) fn failure(&self, error: std::io::Error) -> Error {
        match (&self.rest, error.kind()) {
            (Rest::Stream(_), ErrorKind::UnexpectedEof) => Error::malformed(
                &self.path,
                format!("the compressed data ends early, after {} bytes of content", self.position),
            ),
            (Rest::Stream(_), ErrorKind::InvalidData | ErrorKind::InvalidInput) => {
                Error::malformed(&self.path, format!("the compressed data is damaged: {error}"))
            }
            // Decoders of formats other than gzip describe the problem in their own error.
            (Rest::Stream(_), ErrorKind::Unsupported) => {
                Error::malformed(&self.path, format!("cannot be read: {error}"))
            }
            _ => Error::io(&self.path)(error),
        }
    }

    /// Converts the remaining bytes to a file that can be read at any offset. Returns the file, the
    /// offset where the bytes begin, and their number. Up to `most` bytes of anything but a regular
    /// file are copied to an unnamed temporary file.
    pub(super) fn into_file(mut self, most: u64) -> Result<(File, u64, u64)> {
        match (self.remaining(), self.rest) {
            (Some(len), Rest::File(file)) => return Ok((file, self.position, len)),
            (_, rest) => self.rest = rest,
        }
        let directory = std::env::temp_dir();
        let mut file = tempfile::tempfile().map_err(Error::io(&directory))?;
        let mut buffer = vec![0; CHUNK];
        let mut copied = 0;
        while copied < most {
            let want = usize::try_from(most - copied).unwrap_or(CHUNK).min(CHUNK);
            let came = self.fill(&mut buffer[..want])?;
            if came == 0 {
                break;
            }
            file.write_all(&buffer[..came]).map_err(Error::io(&directory))?;
            copied += came as u64;
        }
        Ok((file, 0, copied))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let remaining = self.remaining().unwrap_or(u64::MAX);
        let ahead = usize::try_from(self.position).ok().and_then(|at| self.head.get(at..));
        let count = match (ahead, &mut self.rest) {
            (Some(mut ahead), _) if !ahead.is_empty() => ahead.read(buffer)?,
            // A part of a file ends before the file does.
            (_, Rest::File(file)) => file.take(remaining).read(buffer)?,
            (_, Rest::Stream(stream)) => stream.read(buffer)?,
        };
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn open(content: &[u8]) -> Result<Input> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        Input::open(file.path())
    }

    /// Returns more data than is read ahead, with varying bytes.
    fn content() -> Vec<u8> {
        (0..200_000u32).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn plain_and_gzipped_files_read_the_same() {
        let content = content();
        // Two concatenated gzipped files decompress to the concatenated contents.
        let two = [gzip(&content[..5]), gzip(&content[5..])].concat();
        for (packed, len) in [(content.clone(), Some(200_000)), (gzip(&content), None), (two, None)]
        {
            let mut input = open(&packed).unwrap();
            assert_eq!(input.head(), &content[..HEAD as usize]);
            assert_eq!(input.remaining(), len);
            assert_eq!(input.header::<3>().unwrap(), [0, 1, 2]);
            let mut rest = vec![0; 300_000];
            assert_eq!(input.fill(&mut rest).unwrap(), content.len() - 3);
            assert_eq!(rest[..content.len() - 3], content[3..]);
            let error = input.header::<2>().unwrap_err().to_string();
            assert!(error.contains("at least 200002 bytes, it has 200000"), "{error}");
        }
    }

    #[test]
    fn any_input_becomes_a_file() {
        let content = content();
        for packed in [content.clone(), gzip(&content)] {
            let mut input = open(&packed).unwrap();
            input.header::<100>().unwrap();
            let (mut file, start, len) = input.into_file(u64::MAX).unwrap();
            assert_eq!(len, content.len() as u64 - 100);
            file.seek(SeekFrom::Start(start + 50)).unwrap();
            let mut byte = [0];
            file.read_exact(&mut byte).unwrap();
            assert_eq!(byte[0], content[150]);
        }
        let (_, _, len) = open(&gzip(&content)).unwrap().into_file(150_000).unwrap();
        assert_eq!(len, 150_000);
    }

    #[test]
    fn a_part_of_a_file_ends_where_it_should() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let mut part = Input::part(Path::new("a"), file, 2, 5).unwrap();
        let mut found = [0; 9];
        assert_eq!(part.remaining(), Some(3));
        assert_eq!(part.fill(&mut found).unwrap(), 3);
        assert_eq!(found[..3], *b"234");
    }

    #[test]
    fn damaged_compression_is_told_from_a_file_that_cannot_be_read() {
        let packed = gzip(&content());
        let cut = open(&packed[..packed.len() - 9]).and_then(|input| input.into_file(u64::MAX));
        assert!(cut.unwrap_err().to_string().contains("compressed data ends early"));
        let mut damaged = packed.clone();
        damaged[3] = 0xff;
        assert!(matches!(open(&damaged), Err(Error::Malformed { .. })));
    }
}

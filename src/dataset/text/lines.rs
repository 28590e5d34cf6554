//! Lines of text, and their numbers.

use std::io::{BufRead, BufReader, Error, Read};

use super::super::extent::MAX_DIM;
use super::super::input::{CHUNK, Input};
use crate::Result;

/// Maximum size of a line or CSV record in bytes: enough for a row of the largest dimension. The
/// limit keeps a missing quote, or a file that is not text, from filling the memory.
const LONGEST: usize = 1 << 26;

/// Maximum number of separators in a CSV record, including those in quotes. A parsed record takes
/// many times its bytes if most of them are separators.
pub(super) const MOST_SEPARATORS: usize = 2 * MAX_DIM;

/// Reader of text that counts its lines.
///
/// The [`Read`] implementation never returns more than one line at a time, so that callers know the
/// current line. (The line numbers of the csv crate are wrong after blank lines and with `\r\n`.)
pub(in crate::dataset) struct Lines {
    input: BufReader<Input>,
    /// Number of the line that was read last, from 1.
    line: u64,
    ended: bool,
    /// Separator of the fields of records, if it is known.
    separator: Option<u8>,
    /// Bytes since the last [`Lines::begin_record`], and separators among them.
    taken: usize,
    separators: usize,
}

impl Lines {
    /// Creates a reader of the lines of a file, without a byte order mark.
    pub(in crate::dataset) fn new(mut input: Input) -> Result<Lines> {
        if input.head().starts_with(b"\xef\xbb\xbf") {
            input.header::<3>()?;
        }
        let input = BufReader::with_capacity(CHUNK, input);
        Ok(Lines { input, line: 0, ended: true, separator: None, taken: 0, separators: 0 })
    }

    /// Sets the separator of the fields in a line.
    pub(super) fn separated_by(self, separator: Option<u8>) -> Lines {
        Lines { separator, ..self }
    }

    /// Returns the number of the line that was read last, from 1.
    pub(in crate::dataset) fn number(&self) -> u64 {
        self.line
    }

    /// Converts an I/O error to one that a user understands.
    pub(in crate::dataset) fn failure(&self, error: Error) -> crate::Error {
        self.input.get_ref().failure(error)
    }

    /// Resets the size limits for the next record.
    pub(super) fn begin_record(&mut self) {
        (self.taken, self.separators) = (0, 0);
    }

    /// Replaces `line` by the next line, without its line end; returns whether there was a line.
    pub(in crate::dataset) fn next_line(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        let most = LONGEST as u64 + 1;
        let read = (&mut self.input).take(most).read_until(b'\n', line);
        let found = read.map_err(|error| self.failure(error))?;
        self.line += u64::from(found > 0);
        if found > LONGEST {
            return Err(self.failure(too_long(self.line)));
        }
        if line.pop_if(|last| *last == b'\n').is_some() {
            line.pop_if(|last| *last == b'\r');
        }
        Ok(found > 0)
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let ready = self.input.fill_buf()?;
        let line_end = ready.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let count = line_end.unwrap_or(ready.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        self.input.consume(count);
        self.line += u64::from(self.ended && count > 0);
        self.ended = line_end == Some(count);
        self.taken += count;
        if self.taken > LONGEST {
            return Err(too_long(self.line));
        }
        if let Some(separator) = self.separator {
            self.separators += buffer[..count].iter().filter(|byte| **byte == separator).count();
            if self.separators > MOST_SEPARATORS {
                return Err(too_wide(self.line));
            }
        }
        Ok(count)
    }
}

fn too_long(line: u64) -> Error {
    Error::other(format!("what ends at line {line} is longer than {LONGEST} bytes"))
}

pub(super) fn too_wide(line: u64) -> Error {
    Error::other(format!("what ends at line {line} has more than {MAX_DIM} columns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &'static [u8]) -> Lines {
        Lines::new(Input::stream("a".as_ref(), content, None).unwrap()).unwrap()
    }

    #[test]
    fn lines_without_their_ends() {
        let mut lines = lines(b"\xef\xbb\xbfone\r\n\ntwo \r\nlast\r");
        let mut line = Vec::new();
        for (number, expected) in (1..).zip([&b"one"[..], b"", b"two ", b"last\r"]) {
            assert!(lines.next_line(&mut line).unwrap());
            assert_eq!(line, expected);
            assert_eq!(lines.number(), number);
        }
        assert!(!lines.next_line(&mut line).unwrap());
        assert_eq!(lines.number(), 4);
    }

    #[test]
    fn one_line_is_handed_out_at_a_time() {
        let mut lines = lines(b"one\n\ntwo");
        let mut buffer = [0; 3];
        let mut parts = Vec::new();
        loop {
            let count = lines.read(&mut buffer).unwrap();
            if count == 0 {
                break;
            }
            parts.push((buffer[..count].to_vec(), lines.number()));
        }
        let expected = [(&b"one"[..], 1), (b"\n", 1), (b"\n", 2), (b"two", 3)];
        assert_eq!(parts, expected.map(|(part, line)| (part.to_vec(), line)));
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let endless = || Input::stream("a".as_ref(), std::io::repeat(b'7'), None).unwrap();
        let mut line = Vec::new();
        let error = Lines::new(endless()).unwrap().next_line(&mut line).unwrap_err();
        assert!(error.to_string().contains("line 1 is longer than"), "{error}");
        let mut lines = Lines::new(endless()).unwrap();
        let error = std::io::copy(&mut lines, &mut std::io::sink()).unwrap_err();
        assert!(error.to_string().contains("line 1 is longer than"), "{error}");
    }
}

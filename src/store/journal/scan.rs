//! Reading a journal from a position onwards.

use std::sync::Arc;

use super::files::{FIRST, Files, file_of, offset_of, place};
use super::record::{Change, Head, RECORD_HEAD, Unreadable};
use crate::{Error, Result};

pub(in crate::store) struct Record {
    /// Position at which reading continued: the record's own, or the end of the previous file.
    pub(in crate::store) from: u64,
    pub(in crate::store) at: u64,
    /// Position after the record.
    pub(in crate::store) end: u64,
    pub(in crate::store) change: Change,
}

/// Iterates over the records of a journal.
pub(in crate::store) struct Cursor {
    files: Arc<Files>,
    at: u64,
}

/// Content at the position of a record.
enum Found {
    Record(Head, Vec<u8>),
    /// No record, and another file follows.
    NextFile(u32),
    /// No record, or an incomplete one.
    Nothing,
}

impl Cursor {
    /// Creates a cursor at a position where a record begins or will begin.
    pub(in crate::store) fn new(files: Arc<Files>, at: u64) -> Cursor {
        Cursor { files, at }
    }

    /// Returns the position where reading continues.
    pub(in crate::store) fn position(&self) -> u64 {
        self.at
    }

    /// Returns the next record before `end`, up to which records are acknowledged.
    pub(in crate::store) fn next(&mut self, end: u64) -> Result<Option<Record>> {
        if self.at >= end { Ok(None) } else { self.next_to_recover(end) }
    }

    /// Returns the next record. A record that begins before `acknowledged` must be sound; from
    /// there on, returns `None` if no sound record follows.
    pub(super) fn next_to_recover(&mut self, acknowledged: u64) -> Result<Option<Record>> {
        let from = self.at;
        loop {
            let (at, number) = (self.at, file_of(self.at));
            let path = self.files.path(number);
            let damaged = || {
                let problem =
                    format!("the change at byte {} is not what was written", offset_of(at));
                Error::damaged(&path, format!("is damaged: {problem}"))
            };
            let (head, body) = match self.find()? {
                Found::Record(head, body) => (head, body),
                Found::NextFile(next) => {
                    self.at = place(next, FIRST);
                    continue;
                }
                Found::Nothing if at < acknowledged => return Err(damaged()),
                Found::Nothing => return Ok(None),
            };
            let change = match Change::decode(self.files.shape, head, &body) {
                Ok(change) => change,
                Err(Unreadable::Newer(kind)) => return Err(Error::NewerChange { path, kind }),
                Err(Unreadable::Damaged) => return Err(damaged()),
            };
            self.at += (RECORD_HEAD + body.len()) as u64;
            return Ok(Some(Record { from, at, end: self.at, change }));
        }
    }

    fn find(&self) -> Result<Found> {
        let number = file_of(self.at);
        let (file, path) = (self.files.file(number)?, self.files.path(number));
        let length = file.len().map_err(Error::io(&path))?;
        let left = length.saturating_sub(offset_of(self.at));
        if left == 0
            && let Some(next) = self.files.next_after(number)
        {
            return Ok(Found::NextFile(next));
        }
        if left < RECORD_HEAD as u64 {
            return Ok(Found::Nothing);
        }
        let mut head = [0; RECORD_HEAD];
        file.read_exact_at(&mut head, offset_of(self.at)).map_err(Error::io(&path))?;
        let expected =
            |head: &Head| head.bytes <= left - RECORD_HEAD as u64 && head.place == self.at;
        let Some(head) = Head::decode(&head).filter(expected) else { return Ok(Found::Nothing) };
        let mut body = vec![0; head.bytes as usize];
        let start = offset_of(self.at) + RECORD_HEAD as u64;
        file.read_exact_at(&mut body, start).map_err(Error::io(&path))?;
        if !head.matches(&body) {
            return Ok(Found::Nothing);
        }
        Ok(Found::Record(head, body))
    }
}

//! Arrow files and streams, message by message.
//!
//! A stream is read from front to back, so that it may be read from a pipe. A file has a footer
//! with the offsets of its messages; the bytes before the messages differ from one writer to
//! another.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

use super::super::guard::guarded;
use super::super::input::{CHUNK, Input};
use super::batches::Batches;
use crate::{Error, Result};

/// First and last bytes of an Arrow file.
pub(in crate::dataset) const MAGIC: &[u8; 6] = b"ARROW1";

/// First bytes of a message of a stream.
pub(in crate::dataset) const CONTINUATION: [u8; 4] = [0xff; 4];

/// Maximum length of the description of a message, in bytes.
const LONGEST_DESCRIPTION: usize = 1 << 26;

/// Arrow file or stream whose schema was read.
pub(super) struct Stream {
    path: PathBuf,
    messages: Messages,
    schema: SchemaRef,
    rows: Option<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
    limit: Limit,
}

/// Maximum number of bytes after decompression.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    /// Limit for each batch.
    Batch(usize),
    /// Limit for the total of all further batches.
    All(usize),
}

impl Limit {
    /// Limit for batches that are in memory one at a time.
    const ONE_AT_A_TIME: Limit = Limit::Batch(1 << 32);

    /// Subtracts `bytes` from the limit. Fails if the limit is lower, or if the memory cannot be
    /// allocated.
    fn take(&mut self, bytes: usize) -> std::result::Result<(), ArrowError> {
        let (Limit::Batch(most) | Limit::All(most)) = *self;
        if bytes > most {
            return Err(wrong(format!(
                "a batch unpacks to {bytes} bytes; {most} are taken at most: there should be fewer rows"
            )));
        }
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            let problem = format!("a batch unpacks to {bytes} bytes, for which there is no memory");
            return Err(wrong(problem));
        }
        if let Limit::All(left) = self {
            *left -= bytes;
        }
        Ok(())
    }
}

/// Source of messages.
enum Messages {
    /// Messages one after the other.
    Stream(Box<Input>),
    /// Messages at byte ranges of a file, in reverse order: the last range is that of the next
    /// message.
    File(File, Vec<Range<u64>>),
}

/// Description of a message, and the data that belongs to it.
struct Message {
    description: Vec<u8>,
    body: Buffer,
}

impl Stream {
    pub(super) fn open(mut input: Input) -> Result<Stream> {
        if input.head().starts_with(MAGIC) {
            return Stream::open_file(input);
        }
        let path = input.path().to_path_buf();
        let Some(first) = read_message(&mut input, true)? else {
            return Err(Error::malformed(&path, "ends before its schema"));
        };
        let schema = guarded(&path, || {
            let message = described(&first)?;
            let schema = message.header_as_schema();
            let schema = schema.ok_or_else(|| wrong("it does not begin with a schema"))?;
            try_fb_to_schema(schema)
        })?;
        let (schema, messages) = (Arc::new(schema), Messages::Stream(Box::new(input)));
        let (dictionaries, limit) = (HashMap::new(), Limit::ONE_AT_A_TIME);
        Ok(Stream { path, messages, schema, rows: None, dictionaries, limit })
    }

    fn open_file(input: Input) -> Result<Stream> {
        /// Size of the last part of a file: the length of the footer, and the magic number.
        const END: u64 = 10;
        let path = input.path().to_path_buf();
        let (mut file, start, len) = input.into_file(u64::MAX)?;
        let end = start + len;
        let mut last = [0; END as usize];
        let read = file.seek(SeekFrom::Start(end.saturating_sub(END)));
        let read = read.and_then(|_| file.read_exact(&mut last));
        if read.is_err() || !last.ends_with(MAGIC) {
            let problem = "is cut off: an Arrow file ends with ARROW1, which is not there";
            return Err(Error::malformed(&path, problem));
        }
        let length = u64::from(u32::from_le_bytes([last[0], last[1], last[2], last[3]]));
        if length > LONGEST_DESCRIPTION as u64 || length + END > len {
            let problem = format!("claims a footer of {length} bytes in a file of {len}");
            return Err(Error::malformed(&path, problem));
        }
        let mut footer = vec![0; length as usize];
        let read = file.seek(SeekFrom::Start(end - END - length));
        read.and_then(|_| file.read_exact(&mut footer)).map_err(Error::io(&path))?;
        let (schema, places) = guarded(&path, || {
            let footer = root_as_footer(&footer)
                .map_err(|error| wrong(format!("its footer is damaged: {error}")))?;
            let schema = footer.schema().ok_or_else(|| wrong("its footer has no schema"))?;
            let blocks = footer.dictionaries().into_iter().flatten();
            let blocks = blocks.chain(footer.recordBatches().into_iter().flatten());
            let place = |block: &arrow_ipc::Block| {
                let at = start.checked_add(u64::try_from(block.offset()).ok()?)?;
                let bytes = u64::try_from(block.metaDataLength()).ok()?;
                let bytes = bytes.checked_add(u64::try_from(block.bodyLength()).ok()?)?;
                Some(at..at.checked_add(bytes).filter(|&to| to <= end)?)
            };
            let places: Option<Vec<Range<u64>>> = blocks.map(place).collect();
            let places = places.ok_or_else(|| wrong("its footer names places outside of it"))?;
            Ok::<_, ArrowError>((try_fb_to_schema(schema)?, places))
        })?;
        let mut rows = 0usize;
        for place in &places {
            rows = rows.saturating_add(count_rows(&path, &file, place)?);
        }
        let messages = Messages::File(file, places.into_iter().rev().collect());
        let (schema, rows) = (Arc::new(schema), Some(rows));
        let (dictionaries, limit) = (HashMap::new(), Limit::ONE_AT_A_TIME);
        Ok(Stream { path, messages, schema, rows, dictionaries, limit })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(super) fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// Limits the total size of decompressed data to `bytes`.
    pub(super) fn limited(self, bytes: usize) -> Stream {
        Stream { limit: Limit::All(bytes), ..self }
    }

    /// Returns the batches of the columns at these positions, in order.
    pub(super) fn batches(self, columns: Vec<usize>) -> IpcBatches {
        IpcBatches { stream: self, columns, ended: false }
    }

    /// Returns the next message, or `None` at the end.
    fn next(&mut self) -> Result<Option<Message>> {
        match &mut self.messages {
            Messages::Stream(input) => read_message(input, true),
            Messages::File(file, places) => {
                let Some(place) = places.pop() else { return Ok(None) };
                let file = file.try_clone().map_err(Error::io(&self.path))?;
                let mut part = Input::part(&self.path, file, place.start, place.end)?;
                match read_message(&mut part, true)? {
                    Some(message) => Ok(Some(message)),
                    None => {
                        let problem = format!("has no message at byte {}", place.start);
                        Err(Error::malformed(&self.path, problem))
                    }
                }
            }
        }
    }
}

/// Returns the number of rows in a message of a file, from its description alone.
fn count_rows(path: &Path, file: &File, place: &Range<u64>) -> Result<usize> {
    let file = file.try_clone().map_err(Error::io(path))?;
    let mut part = Input::part(path, file, place.start, place.end)?;
    let Some(message) = read_message(&mut part, false)? else { return Ok(0) };
    let rows = guarded(path, || {
        let batch = described(&message)?.header_as_record_batch().map(|batch| batch.length());
        Ok::<_, ArrowError>(batch.unwrap_or(0))
    })?;
    usize::try_from(rows)
        .map_err(|_| Error::malformed(path, format!("says that it has {rows} rows in a batch")))
}

fn wrong(problem: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(problem.into())
}

/// Batches of rows of an Arrow file or stream.
pub(super) struct IpcBatches {
    stream: Stream,
    columns: Vec<usize>,
    ended: bool,
}

impl Batches for IpcBatches {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            self.ended = true;
            let Some(message) = self.stream.next()? else { return Ok(None) };
            let Stream { path, schema, dictionaries, limit, .. } = &mut self.stream;
            let batch = guarded(path, || {
                let described = described(&message)?;
                let version = described.version();
                match described.header_type() {
                    MessageHeader::DictionaryBatch => {
                        let Some(batch) = described.header_as_dictionary_batch() else {
                            return Err(wrong("an empty dictionary"));
                        };
                        batch
                            .data()
                            .map_or(Ok(()), |data| check_parts(data, &message.body, limit))?;
                        read_dictionary(&message.body, batch, schema, dictionaries, &version)?;
                        Ok(None)
                    }
                    MessageHeader::RecordBatch => {
                        let Some(batch) = described.header_as_record_batch() else {
                            return Err(wrong("an empty batch"));
                        };
                        check_parts(batch, &message.body, limit)?;
                        let columns = Some(self.columns.as_slice());
                        let body = &message.body;
                        read_record_batch(
                            body,
                            batch,
                            schema.clone(),
                            dictionaries,
                            columns,
                            &version,
                        )
                        .map(Some)
                    }
                    MessageHeader::NONE => Ok(None),
                    other => Err(wrong(format!("a message of type {other:?}"))),
                }
            })?;
            self.ended = false;
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }
}

fn described(message: &Message) -> std::result::Result<arrow_ipc::Message<'_>, ArrowError> {
    root_as_message(&message.description)
        .map_err(|error| wrong(format!("a message is damaged: {error}")))
}

/// Fails if parts of a batch lie outside of it, or if compressed parts claim more bytes than the
/// limit. The check precedes any decompression.
fn check_parts(
    batch: arrow_ipc::RecordBatch<'_>,
    body: &[u8],
    limit: &mut Limit,
) -> std::result::Result<(), ArrowError> {
    let mut total = 0usize;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let length = usize::try_from(buffer.length()).ok();
        let part = start
            .zip(length)
            .and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let Some(part) = part else { return Err(wrong("a part of a batch lies outside of it")) };
        let claim = part.first_chunk::<8>().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        total = total.saturating_add(usize::try_from(claim).unwrap_or(0));
    }
    if batch.compression().is_some() { limit.take(total) } else { Ok(()) }
}

/// Reads the next message, with or without its body. Returns `None` at the end of a stream.
fn read_message(input: &mut Input, with_body: bool) -> Result<Option<Message>> {
    let cut = |input: &Input| {
        Error::malformed(input.path(), "is cut off: it ends in the middle of a message")
    };
    let mut word = [0; 4];
    match input.fill(&mut word)? {
        0 => return Ok(None),
        4 => {}
        _ => return Err(cut(input)),
    }
    // Old files have no continuation word before the length.
    if word == CONTINUATION && input.fill(&mut word)? < 4 {
        return Err(cut(input));
    }
    let length = u32::from_le_bytes(word) as usize;
    if length == 0 {
        return Ok(None);
    }
    if length > LONGEST_DESCRIPTION {
        let problem = format!("has a message whose description claims {length} bytes");
        return Err(Error::malformed(input.path(), problem));
    }
    let Some(description) = read_bytes(input, length)? else { return Err(cut(input)) };
    let body = guarded(input.path(), || {
        root_as_message(&description).map(|message| message.bodyLength())
    })?;
    let body = match usize::try_from(body) {
        Ok(_) if !with_body => Some(Vec::new()),
        Ok(body) => read_bytes(input, body)?,
        Err(_) => None,
    };
    let Some(body) = body else { return Err(cut(input)) };
    Ok(Some(Message { description, body: Buffer::from_vec(body) }))
}

/// Reads `count` bytes, or returns `None` if there are fewer. Memory is allocated as bytes arrive.
fn read_bytes(input: &mut Input, count: usize) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(left) = input.remaining() {
        if left < count as u64 {
            return Ok(None);
        }
        // All bytes are in the file, so the buffer need not grow step by step.
        let reserved = bytes.try_reserve_exact(count);
        reserved.map_err(|error| Error::io(input.path())(std::io::Error::other(error)))?;
    }
    while bytes.len() < count {
        let start = bytes.len();
        bytes.resize(count.min(start + start.max(CHUNK)), 0);
        if input.fill(&mut bytes[start..])? < bytes.len() - start {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

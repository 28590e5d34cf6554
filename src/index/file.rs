//! Index files: what was compacted, to be mapped, and a log of changes since.
//!
//! ```text
//! page 0    magic, version, checksum; where the sections are
//! pages 1-2 two places that say in turn how far the log is valid, each on a page of its own
//! sections  text (JSON), function (safetensors), ids, codes, labels, their checksums
//! log       records, each a change that is applied wholly or not at all
//! ```
//!
//! Sections are never changed. A change is appended to the log and brought to the disk; then one of
//! the two places is written that makes it valid, and that is brought to the disk too: only then is
//! it acknowledged. What stands behind the valid end is the rest of a write that was cut off, and is
//! written over. A file that is shorter than its log should be was cut short by someone else, which
//! is an error. Compaction writes a new file and renames it over the old one, which stays alive for
//! those who have it mapped.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::segment::{CHECKED, Checksums, Part, Segment};
use super::{Index, check_ids};
use crate::codes::check_bits;
use crate::file::AtomicFile;
use crate::kernel::{Column, Layout, map};
use crate::similarity::LabelSets;
use crate::tensors::Tensors;
use crate::{Codes, Error, HashFunction, HashParts, LabelNames, Labels, Lift, Result};

const MAGIC: &[u8; 8] = b"HBROOKIX";
const VERSION: u32 = 1;
const PAGE: usize = 4096;
/// What stands before the sections.
const HEAD: usize = 3 * PAGE;
/// The numbers of the header, after magic, version and checksum.
const HEADER: usize = 16;
/// Where the two places are that say how far the log is valid.
const PLACES: [usize; 2] = [PAGE, 2 * PAGE];
const PLACE: usize = 24;
/// Length, number and checksum of a record.
const RECORD: usize = 24;
/// Sections begin at multiples of this.
const ALIGNED: usize = 64;

/// The numbers of the header.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    bits: u64,
    count: u64,
    labelled: u64,
    /// Where each section begins, and how long it is.
    text: [u64; 2],
    function: [u64; 2],
    ids: [u64; 2],
    codes: [u64; 2],
    labels: [u64; 2],
    sums: [u64; 2],
    /// Of text, function and sums together.
    checksum: u64,
    /// Where the log begins, and after which number.
    log: u64,
    first: u64,
}

/// How many numbers that is.
const NUMBERS: usize = 18;

impl Header {
    fn numbers(&self) -> [u64; NUMBERS] {
        let sections = self.sections();
        let mut numbers = [0; NUMBERS];
        numbers[..3].copy_from_slice(&[self.bits, self.count, self.labelled]);
        numbers[3..15].copy_from_slice(sections.as_flattened());
        numbers[15..].copy_from_slice(&[self.checksum, self.log, self.first]);
        numbers
    }

    fn from_numbers(n: [u64; NUMBERS]) -> Self {
        let pair = |at: usize| [n[at], n[at + 1]];
        Header {
            bits: n[0],
            count: n[1],
            labelled: n[2],
            text: pair(3),
            function: pair(5),
            ids: pair(7),
            codes: pair(9),
            labels: pair(11),
            sums: pair(13),
            checksum: n[15],
            log: n[16],
            first: n[17],
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        let numbers: Vec<u8> = self.numbers().iter().flat_map(|n| n.to_le_bytes()).collect();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(crc32fast::hash(&numbers).to_le_bytes());
        bytes.extend(numbers);
        bytes
    }

    fn from_bytes(bytes: &[u8], path: &Path) -> Result<Header> {
        let wrong = |problem: &str| Error::malformed(path, problem);
        if !bytes.starts_with(MAGIC) {
            return Err(wrong("is not an index file"));
        }
        let found = number(bytes, 8) as u32;
        if found > VERSION {
            let path = path.to_path_buf();
            return Err(Error::NewerVersion { path, found, supported: VERSION });
        }
        if bytes.len() < HEAD {
            return Err(wrong("is cut short: not even its first pages are there"));
        }
        let numbers: [u64; NUMBERS] = std::array::from_fn(|at| number(bytes, HEADER + 8 * at));
        let stored = (number(bytes, 8) >> 32) as u32;
        if stored != crc32fast::hash(&bytes[HEADER..HEADER + 8 * numbers.len()]) {
            return Err(wrong("is damaged: the checksum of its header is wrong"));
        }
        let header = Header::from_numbers(numbers);
        // What changes stands behind what never does.
        let before_log = |[start, len]: [u64; 2]| {
            start >= HEAD as u64 && start.checked_add(len).is_some_and(|end| end <= header.log)
        };
        if !header.sections().into_iter().all(before_log) || header.first > u64::MAX / 2 {
            return Err(wrong("is damaged: its header makes no sense"));
        }
        Ok(header)
    }

    fn sections(&self) -> [[u64; 2]; 6] {
        [self.text, self.function, self.ids, self.codes, self.labels, self.sums]
    }
}

/// Eight bytes as a number; zero beyond the end.
fn number(bytes: &[u8], at: usize) -> u64 {
    let mut le = [0; 8];
    let end = bytes.len().min(at + 8);
    if at < end {
        le[..end - at].copy_from_slice(&bytes[at..end]);
    }
    u64::from_le_bytes(le)
}

/// The text of a file.
#[derive(Serialize, Deserialize)]
struct Text {
    program: String,
    label_sets: Vec<Vec<u32>>,
    label_names: LabelNames,
}

/// How changes are kept.
pub(super) enum Durable {
    /// In memory alone.
    No,
    /// Not at all: the file was opened for reading.
    ReadOnly {
        path: PathBuf,
        log_bytes: u64,
    },
    Log(Log),
}

/// A file that is open for changes.
pub(super) struct Log {
    path: PathBuf,
    /// Locked, so that no other process changes it.
    file: File,
    start: u64,
    end: u64,
    /// The number of the last record.
    last: u64,
    /// Whether it is not known if the last change counts.
    in_doubt: bool,
}

impl Durable {
    pub(super) fn log_bytes(&self) -> u64 {
        match self {
            Durable::No => 0,
            Durable::ReadOnly { log_bytes, .. } => *log_bytes,
            Durable::Log(log) => log.end - log.start,
        }
    }

    pub(super) fn put(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.append(|| Change::encode_put(ids, codes, labels))
    }

    pub(super) fn remove(&mut self, ids: &[u64]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.append(|| Change::encode_remove(ids))
    }

    pub(super) fn name(&mut self, names: &LabelNames) -> Result<()> {
        self.append(|| Change::encode_names(names))
    }

    fn append(&mut self, change: impl FnOnce() -> Vec<u8>) -> Result<()> {
        match self {
            Durable::No => Ok(()),
            Durable::ReadOnly { path, .. } => Err(Error::ReadOnly(path.clone())),
            Durable::Log(log) => log.append(&change()),
        }
    }
}

impl Log {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, change: &[u8]) -> Result<()> {
        if self.in_doubt {
            let problem = "the change before could not be written, and may or may not be there; \
                           open the file anew to go on";
            return Err(Error::malformed(&self.path, problem));
        }
        let next = self.last + 1;
        let record = record(next, change);
        let end = self.end + record.len() as u64;
        self.write(self.end, &record)?;
        // From here on the change may count even if what follows fails.
        self.in_doubt = true;
        self.write(PLACES[(next % 2) as usize] as u64, &place_bytes(next, end))?;
        (self.last, self.end, self.in_doubt) = (next, end, false);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let file = &mut self.file;
        let mut write = || {
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)?;
            file.sync_data()
        };
        write().map_err(Error::io(&self.path))
    }

    /// Writes the file anew, in the place of the old one: with one segment, as which it is mapped.
    pub(super) fn rewrite(&self, index: &Index, segment: &Segment) -> Result<(Log, Segment)> {
        let last = self.last + 1;
        let mut target = prepare(index, segment, last, &self.path)?;
        let (mapped, start) = open_written(&self.path, target.file())?;
        // Someone may have put another file there, who does not ask for locks.
        if !is_at(&self.file, &self.path) {
            return Err(Error::InUse(self.path.clone()));
        }
        let file = target.commit()?;
        let path = self.path.clone();
        Ok((Log { path, file, start, end: start, last, in_doubt: false }, mapped))
    }
}

fn record(number: u64, change: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD + change.len());
    bytes.extend((change.len() as u64).to_le_bytes());
    bytes.extend(number.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes);
    sum.update(change);
    bytes.extend(u64::from(sum.finalize()).to_le_bytes());
    bytes.extend_from_slice(change);
    bytes
}

fn place_bytes(number: u64, end: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend(end.to_le_bytes());
    bytes.extend(u64::from(crc32fast::hash(&bytes)).to_le_bytes());
    bytes
}

/// The last record's number and the end of the log, if the place is sound.
fn read_place(bytes: &[u8], at: usize) -> Option<(u64, u64)> {
    let place = bytes.get(at..at + PLACE)?;
    let sound = u64::from(crc32fast::hash(&place[..16])) == number(place, 16);
    sound.then(|| (number(place, 0), number(place, 8)))
}

/// A change, as it stands in a record.
enum Change {
    Names(LabelNames),
    Put { ids: Vec<u64>, codes: Codes, ends: Option<Vec<usize>>, labels: Vec<u32> },
    Remove(Vec<u64>),
}

const PUT: u64 = 1;
const REMOVE: u64 = 2;
const NAMES: u64 = 3;

impl Change {
    fn encode_put(ids: &[u64], codes: &Codes, labels: Option<Labels<'_>>) -> Vec<u8> {
        let mut numbers = vec![PUT, ids.len() as u64, u64::from(labels.is_some())];
        numbers.extend_from_slice(ids);
        numbers.extend_from_slice(codes.words());
        let mut values = Vec::new();
        if let Some(labels) = labels {
            for row in 0..labels.len() {
                values.extend_from_slice(labels.row(row));
                numbers.push(values.len() as u64);
            }
        }
        let values = values.iter().flat_map(|value| value.to_le_bytes());
        numbers.iter().flat_map(|number| number.to_le_bytes()).chain(values).collect()
    }

    fn encode_remove(ids: &[u64]) -> Vec<u8> {
        let numbers = [REMOVE, ids.len() as u64];
        numbers.iter().chain(ids).flat_map(|number| number.to_le_bytes()).collect()
    }

    fn encode_names(names: &LabelNames) -> Vec<u8> {
        let mut bytes = NAMES.to_le_bytes().to_vec();
        bytes.extend(serde_json::to_vec(names).unwrap_or_default());
        bytes
    }

    fn decode(bits: usize, bytes: &[u8]) -> Option<Change> {
        if number(bytes, 0) == NAMES {
            return serde_json::from_slice(bytes.get(8..)?).ok().map(Change::Names);
        }
        let count = usize::try_from(number(bytes, 8)).ok()?;
        let mut rest = bytes;
        let mut take = |numbers: usize| -> Option<Vec<u64>> {
            let size = numbers.checked_mul(8).filter(|&size| size <= rest.len())?;
            let (head, tail) = rest.split_at(size);
            rest = tail;
            Some(head.chunks_exact(8).map(|bytes| number(bytes, 0)).collect())
        };
        match number(bytes, 0) {
            REMOVE => {
                take(2)?;
                Some(Change::Remove(take(count)?))
            }
            PUT => {
                let labelled = take(3)?[2] == 1;
                let ids = take(count)?;
                let mut codes = Codes::new(bits).ok()?;
                let words = take(count.checked_mul(bits.div_ceil(64))?)?;
                for code in words.chunks_exact(bits.div_ceil(64)) {
                    codes.push(code).ok()?;
                }
                let ends = if labelled { Some(take(count)?) } else { None };
                let ends = ends.map(|ends| ends.iter().map(|&end| end as usize).collect());
                let value = |bytes: &[u8]| number(bytes, 0) as u32;
                let labels = rest.chunks_exact(4).map(value).collect();
                Some(Change::Put { ids, codes, ends, labels })
            }
            _ => None,
        }
    }
}

/// Opens a file, to change it if `write` is set.
pub(super) fn open(path: &Path, write: bool) -> Result<Index> {
    let wrong = |problem: String| Error::malformed(path, problem);
    let mut file = if write { locked(path)? } else { File::open(path).map_err(Error::io(path))? };
    // Read, not mapped: the places change. What they speak of is in the file before they do, so what
    // is mapped after this holds it.
    let mut head = Vec::new();
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(Error::io(path))?;
    if head.is_empty() {
        return Err(wrong("is empty, and not an index file".to_owned()));
    }
    let header = Header::from_bytes(&head, path)?;
    let bytes = map(&file).map_err(Error::io(path))?;
    let section = |[start, len]: [u64; 2]| {
        let end = start.checked_add(len).filter(|&end| end <= bytes.len() as u64);
        end.map(|end| &bytes[start as usize..end as usize])
            .ok_or_else(|| wrong("is cut short: its sections are not all there".to_owned()))
    };
    let (text, function, sums) =
        (section(header.text)?, section(header.function)?, section(header.sums)?);
    let mut sum = crc32fast::Hasher::new();
    [text, function, sums].iter().for_each(|section| sum.update(section));
    if u64::from(sum.finalize()) != header.checksum {
        return Err(wrong("is damaged: the checksum of its description is wrong".to_owned()));
    }
    let text: Text = serde_json::from_slice(text)
        .map_err(|problem| wrong(format!("its description is incomplete: {problem}")))?;
    let bits = usize::try_from(header.bits).unwrap_or(0);
    check_bits(bits).map_err(|problem| wrong(problem.to_string()))?;
    let layout = Layout::new(bits);
    let function = match function {
        [] => None,
        bytes => Some(read_function(bytes).map_err(&wrong)?),
    };
    if function.as_ref().is_some_and(|function| function.bits() != bits) {
        return Err(wrong(format!("its function does not make codes of {bits} bits")));
    }
    let mut index = Index::empty(layout, function);
    index.names = text.label_names;
    for (number, labels) in text.label_sets.iter().enumerate() {
        if index.sets.number(labels) != number {
            return Err(wrong("its label sets are not in order".to_owned()));
        }
    }
    let count = usize::try_from(header.count).unwrap_or(usize::MAX);
    if count > 0 {
        let segment = mapped_segment(path, &bytes, header, layout, count, sums, &index.sets);
        index.segments.push(
            segment
                .ok_or_else(|| wrong("is cut short: not all of its items are there".to_owned()))?,
        );
    }
    let places = PLACES.map(|at| read_place(&head, at));
    let (last, end) = replay(&mut index, &bytes, header, places, path)?;
    index.durable = if write {
        // By its real name: a link to it should go on to be one.
        let path = fs::canonicalize(path).map_err(Error::io(path))?;
        let mut log = Log { path, file, start: header.log, end, last, in_doubt: false };
        if places.contains(&None) {
            // The other one is all there is, and the next change would write over it.
            for place in PLACES {
                log.write(place as u64, &place_bytes(last, end))?;
            }
        }
        remove_leftovers(&log.path);
        Durable::Log(log)
    } else {
        Durable::ReadOnly { path: path.to_path_buf(), log_bytes: end - header.log }
    };
    Ok(index)
}

fn mapped_segment(
    path: &Path,
    bytes: &std::sync::Arc<memmap2::Mmap>,
    header: Header,
    layout: Layout,
    count: usize,
    sums: &[u8],
    sets: &LabelSets,
) -> Option<Segment> {
    if count > u32::MAX as usize || (header.labelled == 1 && sets.len() == 0) {
        return None;
    }
    let blocks = count.div_ceil(CHECKED);
    let parts = if header.labelled == 1 { 3 } else { 2 };
    if sums.len() != 4 * parts * blocks {
        return None;
    }
    let of_part = |part: usize| -> Vec<u32> {
        let sums = sums.chunks_exact(4).skip(part * blocks).take(blocks);
        sums.map(|bytes| number(bytes, 0) as u32).collect()
    };
    let sums = [of_part(0), of_part(1), of_part(2)];
    let place = |section: [u64; 2]| usize::try_from(section[0]).ok();
    let ids = Column::mapped(bytes, place(header.ids)?, count)?;
    let codes = Column::mapped(bytes, place(header.codes)?, layout.words(count))?;
    let labels = match header.labelled {
        1 => Some(Column::mapped(bytes, place(header.labels)?, count)?),
        _ => None,
    };
    let checksums = Checksums::new(path.to_path_buf(), sums);
    Some(Segment::new(layout, ids, codes, labels, Some(checksums)))
}

/// Applies the records of the log; the number of the last, and where it ends.
fn replay(
    index: &mut Index,
    bytes: &[u8],
    header: Header,
    places: [Option<(u64, u64)>; 2],
    path: &Path,
) -> Result<(u64, u64)> {
    let wrong = |problem: &str| Error::malformed(path, problem);
    let newest = places.iter().flatten().max().copied();
    let (valid, valid_end) =
        newest.ok_or_else(|| wrong("is damaged: it does not say how far its log goes"))?;
    if valid_end > bytes.len() as u64 {
        return Err(Error::malformed(
            path,
            format!("is cut short: it should have {valid_end} bytes, it has {}", bytes.len()),
        ));
    }
    let (mut at, mut last) = (header.log, header.first);
    while at < valid_end || (places.contains(&None) && last == valid) {
        let record = usize::try_from(at).ok().and_then(|at| read_record(bytes, at));
        let whole = record.filter(|(number, _)| *number == last.wrapping_add(1));
        let Some((number, change)) = whole else {
            if at >= valid_end {
                // One of the places is damaged: it may have stood for one record more, which is
                // not there, so it did not.
                break;
            }
            return Err(wrong("is damaged: a record of its log is not what was written"));
        };
        let change = Change::decode(index.bits(), change)
            .ok_or_else(|| wrong("is damaged: a record of its log makes no sense"))?;
        apply(index, change).map_err(|problem| {
            Error::malformed(path, format!("a record of its log cannot be applied: {problem}"))
        })?;
        at += (RECORD + record_len(bytes, at)) as u64;
        last = number;
    }
    if last < valid || (at != valid_end && last == valid) {
        return Err(wrong("is damaged: records of its log are missing"));
    }
    Ok((last, at))
}

fn record_len(bytes: &[u8], at: u64) -> usize {
    number(bytes, at as usize) as usize
}

/// A record's number and change, if it is sound.
fn read_record(bytes: &[u8], at: usize) -> Option<(u64, &[u8])> {
    let head = bytes.get(at..at.checked_add(RECORD)?)?;
    let len = usize::try_from(number(head, 0)).ok()?;
    let start = at + RECORD;
    let change = bytes.get(start..start.checked_add(len)?)?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..16]);
    sum.update(change);
    let sound = u64::from(sum.finalize()) == number(head, 16);
    sound.then(|| (number(head, 8), change))
}

fn apply(index: &mut Index, change: Change) -> Result<()> {
    match change {
        Change::Names(names) => {
            index.names = names;
            Ok(())
        }
        Change::Remove(ids) => index.take_out(&ids).map(drop),
        Change::Put { ids, codes, ends, labels } => {
            let labels = match &ends {
                Some(ends) => Some(Labels::sets(ends, &labels)?),
                None => None,
            };
            let order = check_ids(&ids, codes.len())?;
            index.take_out(&ids)?;
            index.put(&ids, &codes, labels, &order)
        }
    }
}

/// Opens a file that no other process has open for changes.
fn locked(path: &Path) -> Result<File> {
    loop {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(Error::io(path))?;
        lock(&file, path)?;
        // Another may have put a new file in its place before it let go of this one.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_path_buf())),
        // Where files cannot be locked, that nobody else writes is for the user to see to.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |left: fs::Metadata, right: fs::Metadata| {
        left.ino() == right.ino() && left.dev() == right.dev()
    };
    match (file.metadata(), fs::metadata(path)) {
        (Ok(left), Ok(right)) => same(left, right),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Writes a file with one segment and no changes, unless someone is writing what stands there.
pub(super) fn write(index: &Index, segment: &Segment, path: &Path) -> Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let stands = || fs::metadata(path).is_ok_and(|found| found.is_file());
    let guard = if stands() { Some(locked_to_replace(path)?) } else { None };
    let target = prepare(index, segment, 0, path)?;
    let as_before = guard.as_ref().map_or(!stands(), |guard| is_at(guard, path));
    if !as_before {
        return Err(Error::InUse(path.clone()));
    }
    target.commit().map(drop)
}

/// Locks a file that is to be replaced, whatever it holds.
fn locked_to_replace(path: &Path) -> Result<File> {
    loop {
        let file = File::open(path).map_err(Error::io(path))?;
        lock(&file, path)?;
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// A file with one segment and an empty log, whose last record has this number; to be put in place.
fn prepare(index: &Index, segment: &Segment, last: u64, path: &Path) -> Result<AtomicFile> {
    let mut target = AtomicFile::create_for(path, &leftover_prefix(path))?;
    if let Ok(standing) = fs::metadata(path) {
        target.file().set_permissions(standing.permissions()).map_err(Error::io(path))?;
    }
    lock(target.file(), path)?;
    write_to(target.file(), index, segment, last).map_err(Error::io(path))?;
    Ok(target)
}

/// How the files begin that a writer leaves which is killed while it compacts.
fn leftover_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}-")
}

/// Removes what writers of this file left that were killed; those who write still have it locked.
fn remove_leftovers(path: &Path) {
    let (Some(folder), prefix) = (path.parent(), leftover_prefix(path)) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_leftover = name.starts_with(&prefix) && name.ends_with(".part");
        if is_leftover && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn write_to(file: &mut File, index: &Index, segment: &Segment, last: u64) -> std::io::Result<()> {
    let text = Text {
        program: concat!("hashbrook ", env!("CARGO_PKG_VERSION")).to_owned(),
        label_sets: (0..index.sets.len()).map(|set| index.sets.labels(set).to_vec()).collect(),
        label_names: index.names.clone(),
    };
    let text = serde_json::to_vec(&text)?;
    let function = index.function.as_ref().map_or(Ok(Vec::new()), function_bytes)?;
    let parts: &[Part] = match segment.is_labelled() {
        true => &[Part::Ids, Part::Codes, Part::Labels],
        false => &[Part::Ids, Part::Codes],
    };
    let sums = parts.iter().flat_map(|&part| {
        let blocks = 0..segment.slots().div_ceil(CHECKED);
        blocks.flat_map(move |block| {
            crc32fast::hash(segment.checked_bytes(part, block)).to_le_bytes()
        })
    });
    let sums: Vec<u8> = sums.collect();
    let mut checksum = crc32fast::Hasher::new();
    [&text, &function, &sums].iter().for_each(|section| checksum.update(section));
    let mut out = BufWriter::new(file);
    let mut at = HEAD as u64;
    out.write_all(&[0; HEAD])?;
    let mut section = |bytes: &[u8]| -> std::io::Result<[u64; 2]> {
        let start = at.next_multiple_of(ALIGNED as u64);
        out.write_all(&[0; ALIGNED][..(start - at) as usize])?;
        out.write_all(bytes)?;
        at = start + bytes.len() as u64;
        Ok([start, bytes.len() as u64])
    };
    let mut header = Header {
        bits: index.bits() as u64,
        count: segment.slots() as u64,
        labelled: u64::from(segment.is_labelled()),
        text: section(&text)?,
        function: section(&function)?,
        ids: section(segment.bytes(Part::Ids))?,
        codes: section(segment.bytes(Part::Codes))?,
        labels: section(segment.bytes(Part::Labels))?,
        sums: section(&sums)?,
        checksum: u64::from(checksum.finalize()),
        log: 0,
        first: last,
    };
    header.log = section(&[])?[0];
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&header.to_bytes())?;
    for place in PLACES {
        out.seek(SeekFrom::Start(place as u64))?;
        out.write_all(&place_bytes(last, header.log))?;
    }
    out.flush()
}

/// The segment of a file that was just written, and where its log begins.
fn open_written(path: &Path, file: &File) -> Result<(Segment, u64)> {
    let wrong = || Error::malformed(path, "was not written as it should be");
    let bytes = map(file).map_err(Error::io(path))?;
    let header = Header::from_bytes(&bytes, path)?;
    let (start, len) = (header.sums[0] as usize, header.sums[1] as usize);
    let sums = bytes.get(start..start + len).ok_or_else(wrong)?;
    let layout = Layout::new(header.bits as usize);
    let mut sets = LabelSets::default();
    sets.number(&[]);
    let count = header.count as usize;
    let segment = mapped_segment(path, &bytes, header, layout, count, sums, &sets);
    Ok((segment.ok_or_else(wrong)?, header.log))
}

const FUNCTION: &str = "function";

#[derive(Serialize, Deserialize)]
struct FunctionText {
    dim: usize,
    bits: usize,
    unit: bool,
    lift: Lift,
}

fn function_bytes(function: &HashFunction) -> std::io::Result<Vec<u8>> {
    let HashParts { dim, bits, center, unit, lift, weights, offset } = function.parts();
    let mut tensors = Tensors::default();
    tensors.put("weights", *bits, weights);
    if let Some(center) = center {
        tensors.put("center", *dim, center);
    }
    if let Some(offset) = offset {
        tensors.put("offset", *bits, offset);
    }
    if let Lift::Rbf { anchors, .. } = lift {
        tensors.put("anchors", *dim, anchors);
    }
    let text = FunctionText { dim: *dim, bits: *bits, unit: *unit, lift: lift.clone() };
    let text = serde_json::to_string(&text)?;
    tensors.to_bytes(FUNCTION, text).map_err(std::io::Error::other)
}

fn read_function(bytes: &[u8]) -> std::result::Result<HashFunction, String> {
    let (mut tensors, text) = Tensors::from_bytes(bytes, FUNCTION)
        .map_err(|problem| format!("its function: {problem}"))?;
    let text = text.ok_or("its function says nothing of itself")?;
    let FunctionText { dim, bits, unit, mut lift } =
        serde_json::from_str(&text).map_err(|problem| format!("its function: {problem}"))?;
    let mut optional = |name: &str, width: usize| -> std::result::Result<_, String> {
        if tensors.contains(name) { tensors.take::<f32>(name, width).map(Some) } else { Ok(None) }
    };
    let (center, offset) = (optional("center", dim)?, optional("offset", bits)?);
    if let Lift::Rbf { anchors, .. } = &mut lift {
        *anchors = optional("anchors", dim)?.ok_or("its function has lost its anchors")?;
    }
    let weights = optional("weights", bits)?.ok_or("its function has lost its weights")?;
    HashFunction::new(HashParts { dim, bits, center, unit, lift, weights, offset })
        .map_err(|problem| format!("its function: {problem}"))
}

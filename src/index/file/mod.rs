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
//! those who have it mapped. Other programs may do otherwise; `opened.rs` has how that is seen.

mod change;
mod function;
mod header;
mod lock;
mod log;
mod opened;

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use self::header::MAGIC;
pub(super) use self::header::agree;
use self::header::{HEAD, Header, number};
pub(super) use self::lock::Locking;
pub(super) use self::log::Durable;
use self::log::{Log, PLACES, place_bytes, read_place, replay};
use self::opened::Opened;
use super::Index;
use super::segment::{CHECKED, Checksums, Part, Segment};
use crate::codes::check_bits;
use crate::file::{AtomicFile, destination, is_at, remove_leftovers};
use crate::kernel::{Column, Layout, map, read};
use crate::similarity::LabelSets;
use crate::{Error, LabelNames, Result};

/// Sections begin at multiples of this.
const ALIGNED: usize = 64;

/// The text of a file.
#[derive(Serialize, Deserialize)]
struct Text {
    program: String,
    label_sets: Vec<Vec<u32>>,
    label_names: LabelNames,
}

/// What a file is opened for.
#[derive(Clone, Copy)]
pub(super) enum Access {
    /// To search in it where it is.
    Map,
    /// To search in a copy, of which the file knows nothing.
    Load,
    Edit(Locking),
}

/// Opens a file.
pub(super) fn open(path: &Path, access: Access) -> Result<Index> {
    let wrong = |problem: String| Error::malformed(path, problem);
    let mut file = match access {
        Access::Map | Access::Load => File::open(path).map_err(Error::io(path))?,
        Access::Edit(locking) => lock::locked(path, true, locking)?,
    };
    // Read, not mapped: the places change. What they speak of is in the file before they do, so what
    // is mapped after this holds it.
    let mut head = Vec::new();
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(Error::io(path))?;
    if head.is_empty() {
        return Err(wrong("is empty, and not an index file".to_owned()));
    }
    let header = Header::from_bytes(&head, path)?;
    let bytes = match access {
        Access::Map | Access::Edit(_) => map(&file),
        Access::Load => read(&mut file),
    };
    let bytes = bytes.map_err(Error::io(path))?;
    let section = |[start, len]: [u64; 2]| {
        let end = start.checked_add(len).filter(|&end| end <= bytes.len() as u64);
        end.map(|end| &bytes[start as usize..end as usize])
            .ok_or_else(|| wrong("is cut short: its sections are not all there".to_owned()))
    };
    let (text, function, sums) =
        (section(header.text)?, section(header.function)?, section(header.sums)?);
    let mut sum = crc32fast::Hasher::new();
    [text, function, sums].iter().for_each(|section| sum.update(section));
    if !agree(header.checksum as u32, sum.finalize()) {
        return Err(wrong("is damaged: the checksum of its description is wrong".to_owned()));
    }
    let text: Text = serde_json::from_slice(text)
        .map_err(|problem| wrong(format!("its description is incomplete: {problem}")))?;
    let bits = usize::try_from(header.bits).unwrap_or(0);
    check_bits(bits).map_err(|problem| wrong(problem.to_string()))?;
    let layout = Layout::new(bits);
    let function = match function {
        [] => None,
        bytes => Some(function::read_function(bytes).map_err(&wrong)?),
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
    index.durable = match access {
        Access::Load => Durable::No,
        Access::Map => {
            let file = Opened::new(path.to_path_buf(), file, bytes.len() as u64, &head);
            Durable::ReadOnly { file, log_bytes: end - header.log }
        }
        Access::Edit(locking) => {
            // By its real name: a link to it should go on to be one.
            let path = fs::canonicalize(path).map_err(Error::io(path))?;
            let file = Opened::new(path, file, bytes.len() as u64, &head);
            let mut log = Log { file, locking, start: header.log, end, last, in_doubt: false };
            if places.contains(&None) {
                // The other one is all there is, and the next change would write over it.
                for place in PLACES {
                    log.write(place as u64, &place_bytes(last, end))?;
                }
            }
            remove_leftovers(log.path());
            Durable::Log(log)
        }
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

/// Writes a file with one segment and no changes, unless someone is writing what stands there.
pub(super) fn write(index: &Index, segment: &Segment, path: &Path, locking: Locking) -> Result<()> {
    let path = &destination(path)?;
    let stands = || fs::metadata(path).is_ok_and(|found| found.is_file());
    let guard = if stands() { Some(lock::locked(path, false, locking)?) } else { None };
    let target = prepare(index, segment, 0, path)?;
    let as_before = || guard.as_ref().map_or(!stands(), |guard| is_at(guard, path));
    let last_look = || if as_before() { Ok(()) } else { Err(Error::InUse(path.clone())) };
    target.commit_if(last_look).map(drop)
}

/// A file with one segment and an empty log, whose last record has this number; to be put in place.
fn prepare(index: &Index, segment: &Segment, last: u64, path: &Path) -> Result<AtomicFile> {
    let mut target = AtomicFile::create(path)?;
    write_to(target.file(), index, segment, last).map_err(Error::io(path))?;
    Ok(target)
}

fn write_to(file: &mut File, index: &Index, segment: &Segment, last: u64) -> std::io::Result<()> {
    let text = Text {
        program: concat!("hashbrook ", env!("CARGO_PKG_VERSION")).to_owned(),
        label_sets: (0..index.sets.len()).map(|set| index.sets.labels(set).to_vec()).collect(),
        label_names: index.names.clone(),
    };
    let text = serde_json::to_vec(&text)?;
    let function = match &index.function {
        Some(function) => function.try_to_bytes().map_err(std::io::Error::other)?,
        None => Vec::new(),
    };
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

/// The segment of a file that was just written, and its header.
fn open_written(path: &Path, file: &File) -> Result<(Segment, Header)> {
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
    Ok((segment.ok_or_else(wrong)?, header))
}

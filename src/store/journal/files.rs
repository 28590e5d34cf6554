//! Append-only files of a journal, and positions in these files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::row::{Row, RowShape, number64, row_bytes};
use crate::disk::{self, File, Mode};
use crate::{Error, Result};

/// First bytes of a file; the last byte is the version.
const MAGIC: &[u8; 8] = b"HBJRNL\0\x02";

/// Offset of the first record of a file.
pub(super) const FIRST: u64 = 24;

/// Position of the first record of a new journal.
pub(in crate::store) const START: u64 = FIRST;

/// Number of low bits of a position that are the offset in a file; the bits above are the number of
/// the file.
const OFFSET_BITS: u32 = 40;

/// Returns a position in a journal, given the number of a file and an offset in the file. Positions
/// ascend with time.
pub(in crate::store) fn place(file: u32, offset: u64) -> u64 {
    u64::from(file) << OFFSET_BITS | offset
}

pub(in crate::store) fn file_of(place: u64) -> u32 {
    (place >> OFFSET_BITS) as u32
}

pub(in crate::store) fn offset_of(place: u64) -> u64 {
    place & ((1 << OFFSET_BITS) - 1)
}

/// Part of a journal that is in use, as recorded by the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Extent {
    /// Position of the first record.
    pub(in crate::store) start: u64,
    /// Number of the last file that a committed compaction wrote; 0 if there is none.
    pub(in crate::store) compacted: u32,
    /// Position of the first record of the files that compaction replaced; `None` once their rows
    /// are no longer needed.
    pub(in crate::store) replaced: Option<u64>,
}

impl Extent {
    /// The extent of a journal that was never compacted.
    pub(in crate::store) const NEW: Extent = Extent { start: START, compacted: 0, replaced: None };
}

/// Origin of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Origin {
    /// Changes were appended as they were acknowledged.
    Appended,
    /// Compaction wrote the file, which replaces all files from this number up to its own.
    Compacted(u32),
}

/// Value of the source field in the head of a file that compaction did not write.
const NO_SOURCE: u32 = u32::MAX;

fn head(number: u32, origin: Origin) -> Vec<u8> {
    let source = match origin {
        Origin::Appended => NO_SOURCE,
        Origin::Compacted(source) => source,
    };
    let mut head = MAGIC.to_vec();
    head.extend(number.to_le_bytes());
    head.extend(source.to_le_bytes());
    head.extend(u64::from(crc32fast::hash(&head)).to_le_bytes());
    head
}

/// Open files by number.
#[derive(Clone, Default)]
pub(in crate::store) struct FilesOfNow {
    /// Files that records are read from, in order.
    pub(in crate::store) chain: BTreeMap<u32, Arc<File>>,
    /// Files that compaction replaced and whose rows are still needed.
    pub(in crate::store) replaced: BTreeMap<u32, Arc<File>>,
}

/// Open files of one version of the journal.
pub(in crate::store) type OpenFiles = Arc<FilesOfNow>;

/// All files of a journal, open to be read.
pub(in crate::store) struct Files {
    directory: PathBuf,
    pub(in crate::store) shape: RowShape,
    open: RwLock<OpenFiles>,
    /// Files that were removed; readable for as long as a reader of an older version holds them.
    removed: RwLock<BTreeMap<u32, Weak<File>>>,
}

/// A file in the directory of a journal.
pub(super) struct Listed {
    pub(super) number: u32,
    /// `None` if the creation of the file was cut off.
    pub(super) origin: Option<Origin>,
    file: Arc<File>,
}

/// Opens all files in a directory, in ascending order.
pub(super) fn list(directory: &Path) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for entry in disk::list(directory).map_err(Error::io(directory))? {
        let Some(number) = entry.name.to_str().and_then(number_of) else { continue };
        let path = path_of(directory, number);
        let file = disk::open(&path, Mode::Write).map_err(Error::io(&path))?;
        let mut head = [0; FIRST as usize];
        let read = file.read_up_to(&mut head, 0).map_err(Error::io(&path))?;
        // A file whose creation was cut off has no record, and its head may be torn.
        let is_blank = entry.len <= FIRST;
        let origin = match read == head.len() {
            true => check_head(&head, number, &path).map(Some),
            false if is_blank => Ok(None),
            false => Err(Error::damaged(&path, "is cut short: its head is not all there")),
        };
        let origin = if is_blank { origin.unwrap_or(None) } else { origin? };
        listed.push(Listed { number, origin, file: Arc::new(file) });
    }
    listed.sort_by_key(|file| file.number);
    Ok(listed)
}

impl Files {
    /// Opens the files of a journal. Removes files that a compaction replaced, files that an
    /// uncommitted compaction wrote, and files whose creation was cut off.
    pub(super) fn open(directory: PathBuf, shape: RowShape, extent: Extent) -> Result<Files> {
        let start = file_of(extent.start);
        let (mut open, mut removed) = (FilesOfNow::default(), false);
        for Listed { number, origin, file } in list(&directory)? {
            let is_committed = match origin {
                None => false,
                Some(Origin::Appended) => true,
                Some(Origin::Compacted(_)) => number <= extent.compacted,
            };
            let is_replaced = extent.replaced.is_some_and(|from| number >= file_of(from));
            if is_committed && number >= start {
                open.chain.insert(number, file);
            } else if is_committed && is_replaced {
                open.replaced.insert(number, file);
            } else {
                let path = path_of(&directory, number);
                disk::remove_file(&path).map_err(Error::io(&path))?;
                removed = true;
            }
        }
        if removed {
            disk::sync_dir(&directory).map_err(Error::io(&directory))?;
        }
        Ok(Files {
            directory,
            shape,
            open: RwLock::new(Arc::new(open)),
            removed: RwLock::default(),
        })
    }

    /// Returns listed files without removing any, for use by readers.
    pub(super) fn over(directory: PathBuf, shape: RowShape, files: Vec<Listed>) -> Files {
        let chain = files.into_iter().map(|listed| (listed.number, listed.file)).collect();
        let open = Arc::new(FilesOfNow { chain, replaced: BTreeMap::new() });
        Files { directory, shape, open: RwLock::new(open), removed: RwLock::default() }
    }

    /// Creates a file, replacing an unfinished file of the same number.
    pub(super) fn create(&self, number: u32, origin: Origin) -> Result<Arc<File>> {
        let file = create(&self.directory, number, origin)?;
        Arc::make_mut(&mut self.write_open()).chain.insert(number, file.clone());
        Ok(file)
    }

    /// Replaces all files before a boundary with compacted files. The replaced files can be read
    /// until they are [removed](Files::remove_replaced).
    pub(in crate::store) fn replace(&self, files: Vec<(u32, Arc<File>)>, boundary: u32) {
        let mut open = self.write_open();
        let open = Arc::make_mut(&mut open);
        let behind = open.chain.split_off(&boundary);
        let before = std::mem::replace(&mut open.chain, behind);
        open.replaced.extend(before);
        open.chain.extend(files);
    }

    fn write_open(&self) -> std::sync::RwLockWriteGuard<'_, OpenFiles> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all current files; they can be read for as long as the result is held.
    pub(in crate::store) fn pinned(&self) -> OpenFiles {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::store) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(in crate::store) fn path(&self, number: u32) -> PathBuf {
        path_of(&self.directory, number)
    }

    /// Returns the path of the file with this number in another directory.
    pub(super) fn path_in(&self, directory: &Path, number: u32) -> PathBuf {
        path_of(directory, number)
    }

    /// Returns the numbers of all files, in ascending order.
    pub(in crate::store) fn numbers(&self) -> Vec<u32> {
        self.pinned().chain.keys().copied().collect()
    }

    /// Returns the number of the file that follows another.
    pub(super) fn next_after(&self, number: u32) -> Option<u32> {
        self.pinned().chain.range(number.checked_add(1)?..).next().map(|(&next, _)| next)
    }

    /// Returns a file of the journal. Also returns a removed file if a version that used it is
    /// still held.
    pub(in crate::store) fn file(&self, number: u32) -> Result<Arc<File>> {
        let open = self.pinned();
        if let Some(file) = open.chain.get(&number).or_else(|| open.replaced.get(&number)) {
            return Ok(file.clone());
        }
        let removed = self.removed.read().unwrap_or_else(PoisonError::into_inner);
        removed.get(&number).and_then(Weak::upgrade).ok_or_else(|| {
            let path = self.path(number);
            Error::damaged(&path, "is missing; it has items of this store")
        })
    }

    /// Removes the files that compaction replaced. Readers that hold these files can still read
    /// them. The first file is removed durably before the others: if the first exists, all of them
    /// exist.
    pub(in crate::store) fn remove_replaced(&self) -> Result<()> {
        let mut first = true;
        for (number, file) in &self.pinned().replaced {
            let path = self.path(*number);
            match disk::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(Error::io(&path))?,
            }
            if std::mem::take(&mut first) {
                disk::sync_dir(&self.directory).map_err(Error::io(&self.directory))?;
            }
            let mut removed = self.removed.write().unwrap_or_else(PoisonError::into_inner);
            removed.retain(|_, file| file.strong_count() > 0);
            removed.insert(*number, Arc::downgrade(file));
            Arc::make_mut(&mut self.write_open()).replaced.remove(number);
        }
        Ok(())
    }

    /// Removes a file that has no acknowledged record.
    pub(super) fn remove_unfinished(&self, number: u32) -> Result<()> {
        let path = self.path(number);
        disk::remove_file(&path).map_err(Error::io(&path))?;
        Arc::make_mut(&mut self.write_open()).chain.remove(&number);
        Ok(())
    }

    /// Returns the number of bytes of all files up to a position.
    pub(in crate::store) fn bytes_up_to(&self, end: u64) -> u64 {
        let open = self.pinned();
        let before = open.replaced.iter().chain(&open.chain);
        let before = before.filter(|(number, _)| **number < file_of(end));
        // A file whose length cannot be read counts as empty: the result is used only for display
        // and estimates.
        before.map(|(_, file)| file.len().unwrap_or(0)).sum::<u64>() + offset_of(end)
    }

    /// Returns the row at a position; fails if it does not match its checksum.
    pub(in crate::store) fn row(&self, at: u64) -> Result<Row> {
        let number = file_of(at);
        let file = self.file(number)?;
        let path = self.path(number);
        let damaged = || {
            let problem = format!("the item at byte {} is not what was written", offset_of(at));
            Error::damaged(&path, format!("is damaged: {problem}"))
        };
        let mut bytes = vec![0; self.shape.usual_bytes()];
        let read = file.read_up_to(&mut bytes, offset_of(at)).map_err(Error::io(&path))?;
        bytes.truncate(read);
        let size = row_bytes(&bytes).ok_or_else(damaged)?;
        if size > bytes.len() {
            let length = file.len().map_err(Error::io(&path))?;
            if size as u64 > length.saturating_sub(offset_of(at)) {
                return Err(damaged());
            }
            bytes.resize(size, 0);
            file.read_exact_at(&mut bytes[read..], offset_of(at) + read as u64)
                .map_err(Error::io(&path))?;
        }
        Row::decode(self.shape, &bytes).ok_or_else(damaged)
    }
}

/// Creates a file and makes it and its name durable.
pub(in crate::store) fn create(directory: &Path, number: u32, origin: Origin) -> Result<Arc<File>> {
    let path = path_of(directory, number);
    let create = || {
        let file = disk::open(&path, Mode::Empty)?;
        file.write_all_at(&head(number, origin), 0)?;
        file.sync_all()?;
        disk::sync_dir(directory)?;
        Ok(Arc::new(file))
    };
    create().map_err(Error::io(&path))
}

fn check_head(head: &[u8; FIRST as usize], number: u32, path: &Path) -> Result<Origin> {
    let (magic, numbers) = (&head[..8], number64(head, 8));
    let (found, source) = (numbers as u32, (numbers >> 32) as u32);
    let version = MAGIC.len() - 1;
    if magic[..version] != MAGIC[..version] {
        return Err(Error::malformed(path, "is not a file of a journal"));
    }
    if magic[version] > MAGIC[version] {
        let (found, supported) = (u32::from(magic[version]), u32::from(MAGIC[version]));
        return Err(Error::NewerVersion { path: path.to_path_buf(), found, supported });
    }
    if number64(head, 16) != u64::from(crc32fast::hash(&head[..16])) && !cfg!(fuzzing) {
        return Err(Error::damaged(path, "is damaged: the checksum of its head is wrong"));
    }
    if found != number {
        let problem = format!("is damaged: expected number {number} in its head, found {found}");
        return Err(Error::damaged(path, problem));
    }
    Ok(if source == NO_SOURCE { Origin::Appended } else { Origin::Compacted(source) })
}

fn path_of(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number:08}.journal"))
}

fn number_of(name: &str) -> Option<u32> {
    name.strip_suffix(".journal").filter(|number| number.len() == 8)?.parse().ok()
}

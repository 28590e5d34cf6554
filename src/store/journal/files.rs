//! The files of a journal, which are appended to and never changed, and where in them something stands.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::row::{Row, RowShape, number64, row_bytes};
use crate::{Error, Result};

/// What a file begins with; its last byte is the version.
const MAGIC: &[u8; 8] = b"HBJRNL\0\x01";

/// Where the first record of a file stands.
pub(super) const FIRST: u64 = 16;

/// Bits of a place that tell where in a file it is; those above number the file.
const OFFSET_BITS: u32 = 40;

/// Where something stands in a journal: the number of a file, and how far from its start. Places ascend
/// with time.
pub(in crate::store) fn place(file: u32, offset: u64) -> u64 {
    u64::from(file) << OFFSET_BITS | offset
}

pub(in crate::store) fn file_of(place: u64) -> u32 {
    (place >> OFFSET_BITS) as u32
}

pub(in crate::store) fn offset_of(place: u64) -> u64 {
    place & ((1 << OFFSET_BITS) - 1)
}

/// All files of a journal, open to be read.
pub(in crate::store) struct Files {
    folder: PathBuf,
    pub(in crate::store) shape: RowShape,
    open: RwLock<BTreeMap<u32, Arc<File>>>,
}

impl Files {
    /// The files in a folder, which is there.
    pub(super) fn open(folder: PathBuf, shape: RowShape) -> Result<Files> {
        let mut open = BTreeMap::new();
        for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let name = entry.map_err(Error::io(&folder))?.file_name();
            let Some(number) = name.to_str().and_then(number_of) else { continue };
            let path = path_of(&folder, number);
            let file = OpenOptions::new().read(true).write(true).open(&path);
            let file = file.map_err(Error::io(&path))?;
            let mut magic = [0; FIRST as usize];
            // A file that was just begun when the process ended has no record yet.
            if file.metadata().map_err(Error::io(&path))?.len() >= FIRST {
                read_at(&file, &mut magic, 0).map_err(Error::io(&path))?;
                check_magic(&magic, number, &path)?;
            }
            open.insert(number, Arc::new(file));
        }
        Ok(Files { folder, shape, open: RwLock::new(open) })
    }

    /// Begins a file.
    pub(super) fn create(&self, number: u32) -> Result<Arc<File>> {
        let path = self.path(number);
        let create = || {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
            let mut head = MAGIC.to_vec();
            head.extend(u64::from(number).to_le_bytes());
            write_at(&file, &head, 0)?;
            file.sync_all()?;
            File::open(&self.folder)?.sync_all()?;
            Ok(Arc::new(file))
        };
        let file: Arc<File> = create().map_err(Error::io(&path))?;
        self.write_open().insert(number, file.clone());
        Ok(file)
    }

    fn write_open(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<u32, Arc<File>>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::store) fn path(&self, number: u32) -> PathBuf {
        path_of(&self.folder, number)
    }

    /// Where a file of this number stands in another folder.
    pub(super) fn path_in(&self, folder: &Path, number: u32) -> PathBuf {
        path_of(folder, number)
    }

    /// The numbers of all files, ascending.
    pub(in crate::store) fn numbers(&self) -> Vec<u32> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    /// A file, which should be there.
    pub(in crate::store) fn file(&self, number: u32) -> Result<Arc<File>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&number).cloned().ok_or_else(|| {
            let path = self.path(number);
            Error::damaged(&path, "is not there; it has items of this store")
        })
    }

    /// Removes a file that nothing needs any more. Whoever reads it still can.
    pub(in crate::store) fn remove(&self, number: u32) -> Result<()> {
        let path = self.path(number);
        fs::remove_file(&path).map_err(Error::io(&path))?;
        self.write_open().remove(&number);
        Ok(())
    }

    /// The bytes of a file so far.
    pub(in crate::store) fn len(&self, number: u32) -> Result<u64> {
        let file = self.file(number)?;
        Ok(file.metadata().map_err(Error::io(&self.path(number)))?.len())
    }

    /// The bytes of all files up to a place.
    pub(in crate::store) fn bytes_up_to(&self, end: u64) -> u64 {
        let before = self.numbers().into_iter().filter(|&number| number < file_of(end));
        before.map(|number| self.len(number).unwrap_or(0)).sum::<u64>() + offset_of(end)
    }

    /// The row that stands at a place, compared with its checksum.
    pub(in crate::store) fn row(&self, at: u64) -> Result<Row> {
        let number = file_of(at);
        let file = self.file(number)?;
        let path = self.path(number);
        let damaged = || {
            let problem = format!("the item at byte {} is not what was written", offset_of(at));
            Error::damaged(&path, format!("is damaged: {problem}"))
        };
        let mut bytes = vec![0; self.shape.usual_bytes()];
        let read = read_up_to(&file, &mut bytes, offset_of(at)).map_err(Error::io(&path))?;
        bytes.truncate(read);
        let size = row_bytes(&bytes).ok_or_else(damaged)?;
        if size > bytes.len() {
            let length = file.metadata().map_err(Error::io(&path))?.len();
            if size as u64 > length.saturating_sub(offset_of(at)) {
                return Err(damaged());
            }
            bytes.resize(size, 0);
            read_at(&file, &mut bytes[read..], offset_of(at) + read as u64)
                .map_err(Error::io(&path))?;
        }
        Row::decode(self.shape, &bytes).ok_or_else(damaged)
    }
}

fn check_magic(head: &[u8; FIRST as usize], number: u32, path: &Path) -> Result<()> {
    let (magic, found) = (&head[..8], number64(head, 8));
    let version = MAGIC.len() - 1;
    if magic[..version] != MAGIC[..version] {
        return Err(Error::malformed(path, "is no file of a journal"));
    }
    if magic[version] > MAGIC[version] {
        let (found, supported) = (u32::from(magic[version]), u32::from(MAGIC[version]));
        return Err(Error::NewerVersion { path: path.to_path_buf(), found, supported });
    }
    if found != u64::from(number) {
        return Err(Error::damaged(path, format!("is damaged: it says that it is number {found}")));
    }
    Ok(())
}

fn path_of(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:08}.journal"))
}

fn number_of(name: &str) -> Option<u32> {
    name.strip_suffix(".journal").filter(|number| number.len() == 8)?.parse().ok()
}

/// As many bytes as there are, up to the length of `out`.
fn read_up_to(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < out.len() {
        match read_some(file, &mut out[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

pub(super) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<()> {
    match read_up_to(file, out, offset)? {
        read if read == out.len() => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(unix)]
fn read_some(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_some(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, offset)
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        (bytes, offset) = (&bytes[written..], offset + written as u64);
    }
    Ok(())
}

//! String ids: the number of each string id in an index, and the file in which the strings are
//! stored.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Error, Result, disk, file};

/// First bytes of a file of ids. The last byte is the format version.
const MAGIC: &[u8; 8] = b"HBIDS\0\0\x01";

/// Strings as ids. An [`Index`](crate::Index) identifies items by numbers; this type maps strings
/// to numbers and back. Numbers count up from 0 in the order in which the strings first appear, and
/// are never reused.
///
/// The file is stored in the directory of the index file, with the suffix `.ids` added to its name.
/// It appears completely or not at all. Write the file before adding the items: if the process is
/// killed in between, every item has its string, and strings without an item do no harm.
///
/// ```
/// let mut names = hashbrook::IdNames::new();
/// assert_eq!((names.number("cat.jpg"), names.number("dog.jpg"), names.number("cat.jpg")), (0, 1, 0));
/// assert_eq!((names.find("bird.jpg"), names.name(1)), (None, Some("dog.jpg")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdNames {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u64>,
}

impl IdNames {
    /// Creates an empty map.
    pub fn new() -> IdNames {
        IdNames::default()
    }

    /// Returns the path of the file with the strings of an index.
    pub fn path_beside(index: impl AsRef<Path>) -> PathBuf {
        let mut path = index.as_ref().as_os_str().to_owned();
        path.push(".ids");
        path.into()
    }

    /// Loads the strings of an index with [string ids](crate::Snapshot::has_text_ids).
    ///
    /// # Errors
    /// As for [`load`](IdNames::load).
    pub fn load_beside(index: impl AsRef<Path>) -> Result<IdNames> {
        let path = IdNames::path_beside(index.as_ref());
        if let Ok(false) = disk::exists(&path) {
            let problem = format!(
                "is not there; it has the texts that the ids of {} stand for: move it along with the index",
                index.as_ref().display()
            );
            return Err(Error::io(&path)(io::Error::new(io::ErrorKind::NotFound, problem)));
        }
        IdNames::load(path)
    }

    /// Returns the number of a string. A new string gets the next number.
    pub fn number(&mut self, name: &str) -> u64 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let (name, number): (Arc<str>, u64) = (name.into(), self.names.len() as u64);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// Returns the number of a string, if it has one.
    pub fn find(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }

    /// Returns the string of a number.
    pub fn name(&self, number: u64) -> Option<&str> {
        self.names.get(usize::try_from(number).ok()?).map(|name| &**name)
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Iterates over all strings, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Writes the file: a magic number, the number of strings, each string after its length, and a
    /// checksum of all preceding bytes. Numbers are little-endian.
    ///
    /// # Errors
    /// When the file cannot be written; an existing file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.names.len() as u64).to_le_bytes());
        for name in &self.names {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        file::write(path, &bytes)
    }

    /// Reads a file of string ids.
    ///
    /// # Errors
    /// When the file cannot be read, is not a file of string ids, or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<IdNames> {
        let path = path.as_ref();
        let bytes = disk::read(path).map_err(Error::io(path))?;
        let magic = MAGIC.len() - 1;
        match bytes.get(..MAGIC.len()) {
            Some(found) if found == MAGIC => {}
            Some(found) if found[..magic] == MAGIC[..magic] => {
                let problem = format!("is of version {}; version 1 is read", found[magic]);
                return Err(Error::malformed(path, problem));
            }
            _ => return Err(Error::malformed(path, "is no file of ids that are texts")),
        }
        let damaged = |problem: &str| Error::damaged(path, problem);
        let (content, checksum) =
            bytes.split_last_chunk::<4>().ok_or_else(|| damaged("it is cut off"))?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(damaged("its checksum is not that of its content"));
        }
        let mut rest = &content[MAGIC.len()..];
        let mut number = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            usize::try_from(u64::from_le_bytes(*number)).ok()
        };
        let count = number().ok_or_else(|| damaged("it is cut off"))?;
        let mut names = IdNames::new();
        for place in 0..count {
            let name = rest.split_first_chunk::<8>().and_then(|(length, after)| {
                let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
                let (name, after) = after.split_at_checked(length)?;
                rest = after;
                std::str::from_utf8(name).ok()
            });
            match name {
                Some(name) if names.number(name) == place as u64 => {}
                _ => {
                    return Err(damaged(
                        "its texts are not as many, or not as different, as it says",
                    ));
                }
            }
        }
        match rest.is_empty() {
            true => Ok(names),
            false => Err(damaged("it has more bytes than its texts take")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn texts_come_back_with_their_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let index = directory.path().join("pets.index");
        let missing = IdNames::load_beside(&index).unwrap_err().to_string();
        assert!(missing.contains("move it along"), "{missing}");
        let mut names = IdNames::new();
        for (number, name) in ["cat", "", "žába", "17", "a\nb"].iter().enumerate() {
            assert_eq!((names.number(name), names.number(name)), (number as u64, number as u64));
        }
        let path = IdNames::path_beside(&index);
        assert_eq!(path, directory.path().join("pets.index.ids"));
        names.save(&path).unwrap();
        let loaded = IdNames::load_beside(&index).unwrap();
        assert_eq!((&loaded, loaded.len(), loaded.name(5)), (&names, 5, None));
        assert_eq!(loaded.iter().collect::<Vec<_>>(), ["cat", "", "žába", "17", "a\nb"]);
        IdNames::new().save(&path).unwrap();
        assert!(IdNames::load(&path).unwrap().is_empty());
    }

    #[test]
    fn any_damage_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ids");
        let mut names = IdNames::new();
        for name in ["one", "two", "three"] {
            names.number(name);
        }
        names.save(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            fs::write(&path, &whole[..at]).unwrap();
            assert!(IdNames::load(&path).is_err(), "cut at {at}");
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert!(IdNames::load(&path).is_err(), "damaged at {at}");
        }
        // Inconsistent content is refused even with a correct checksum.
        for (count, texts) in
            [(2u64, &[b"a"][..]), (1, &[b"a", b"b"]), (2, &[b"a", b"a"]), (1, &[b"\xff"])]
        {
            let mut bytes = [&MAGIC[..], &count.to_le_bytes()].concat();
            for text in texts {
                bytes.extend(1u64.to_le_bytes());
                bytes.extend_from_slice(&text[..]);
            }
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            fs::write(&path, &bytes).unwrap();
            assert!(IdNames::load(&path).is_err(), "{count} {texts:?}");
        }
    }
}

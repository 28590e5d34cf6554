//! Files and directories of a simulated disk: the state that programs see, the durable state, and
//! the effect of a crash on unsynced writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Directory under which all simulated disks are mounted.
pub(super) const ROOT: &str = "/simulated-disk";

/// Node number of the root directory of every disk.
pub(super) const TOP: u64 = 1;

/// Maximum number of versions of one sector that are remembered between two syncs.
const VERSIONS: usize = 4;

/// Small random number generator, with which a seed replays a run on every platform and version.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51_7c_c1_b7)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

#[derive(Clone, Default)]
pub(super) struct Bytes {
    /// Bytes that programs see.
    pub(super) cached: Vec<u8>,
    /// Bytes that are certainly on the disk.
    pub(super) durable: Vec<u8>,
    /// Versions of each sector that were written since the last sync, oldest first.
    pub(super) dirty: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Sectors whose sync failed: programs see them, the page cache holds them as clean, and the
    /// disk lacks them.
    pub(super) lost: BTreeSet<usize>,
    /// Lengths that the file has had since the last sync.
    pub(super) lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Rename {
    Set(OsString, u64),
    Unset(OsString),
    Move(OsString, OsString, u64),
}

#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) cached: BTreeMap<OsString, u64>,
    pub(super) durable: BTreeMap<OsString, u64>,
    pub(super) pending: Vec<Rename>,
}

#[derive(Clone)]
pub(super) enum Node {
    File(Arc<Bytes>),
    Dir(Arc<Names>),
}

/// Contents of a disk, which a crash changes.
#[derive(Clone)]
pub(super) struct Platter {
    pub(super) sector: usize,
    pub(super) nodes: BTreeMap<u64, Node>,
    pub(super) next: u64,
}

impl Names {
    pub(super) fn apply(&mut self, change: Rename) {
        apply(&mut self.cached, &change);
        self.pending.push(change);
    }
}

fn apply(names: &mut BTreeMap<OsString, u64>, change: &Rename) {
    match change {
        Rename::Set(name, node) => {
            names.insert(name.clone(), *node);
        }
        Rename::Unset(name) => {
            names.remove(name);
        }
        Rename::Move(from, to, node) => {
            names.remove(from);
            names.insert(to.clone(), *node);
        }
    }
}

impl Bytes {
    pub(super) fn set_len(&mut self, len: usize) {
        self.cached.resize(len, 0);
        self.lengths.push(len);
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: usize, sector: usize) {
        let end = offset + bytes.len();
        if end > self.cached.len() {
            self.set_len(end);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        for number in offset / sector..end.div_ceil(sector) {
            let start = number * sector;
            let version = self.cached[start..self.cached.len().min(start + sector)].to_vec();
            let versions = self.dirty.entry(number).or_default();
            if versions.len() == VERSIONS {
                versions.remove(1);
            }
            versions.push(version);
            self.lost.remove(&number);
        }
    }

    pub(super) fn sync(&mut self, sector: usize) {
        self.durable.resize(self.cached.len(), 0);
        for number in std::mem::take(&mut self.dirty).into_keys() {
            self.settle(number, sector);
        }
        self.lengths.clear();
    }

    /// Writes the cached bytes of a sector to the disk.
    pub(super) fn settle(&mut self, number: usize, sector: usize) {
        let start = number * sector;
        let end = self.cached.len().min(start + sector);
        if start < end {
            self.durable[start..end].copy_from_slice(&self.cached[start..end]);
        }
    }

    /// Fails a sync: some sectors reach the disk, and all of them are marked clean.
    pub(super) fn fail_to_sync(&mut self, sector: usize, chance: &mut Chance) {
        let reached = self.durable.len().max(self.cached.len());
        self.durable.resize(reached, 0);
        for number in std::mem::take(&mut self.dirty).into_keys() {
            if chance.one_in(2) {
                self.settle(number, sector);
            } else {
                self.lost.insert(number);
            }
        }
        self.durable.truncate(self.cached.len());
        self.lengths.clear();
    }

    pub(super) fn lose_power(&mut self, all: bool, sector: usize, chance: &mut Chance) {
        let mut image = self.durable.clone();
        if !all {
            let choices = self.lengths.len();
            let length = match chance.below(choices + 1) {
                0 => image.len(),
                choice => self.lengths[choice - 1],
            };
            let mode = chance.below(3);
            let longest = self.lengths.iter().copied().max().unwrap_or(0).max(image.len());
            image.resize(longest, 0);
            for (number, versions) in &self.dirty {
                let kept = match mode {
                    0 => versions.len(),
                    _ => chance.below(versions.len() + 1),
                };
                if let Some(version) = kept.checked_sub(1).map(|at| &versions[at]) {
                    let start = number * sector;
                    let end = image.len().min(start + version.len());
                    if start < end {
                        image[start..end].copy_from_slice(&version[..end - start]);
                    }
                }
            }
            image.resize(length, 0);
        }
        *self = Bytes { cached: image.clone(), durable: image, ..Bytes::default() };
    }
}

impl Platter {
    pub(super) fn names(&self, node: u64) -> io::Result<&Names> {
        match self.nodes.get(&node) {
            Some(Node::Dir(names)) => Ok(names),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn names_mut(&mut self, node: u64) -> io::Result<&mut Names> {
        match self.nodes.get_mut(&node) {
            Some(Node::Dir(names)) => Ok(Arc::make_mut(names)),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn bytes(&self, node: u64) -> io::Result<&Bytes> {
        match self.nodes.get(&node) {
            Some(Node::File(bytes)) => Ok(bytes),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn bytes_mut(&mut self, node: u64) -> io::Result<&mut Bytes> {
        match self.nodes.get_mut(&node) {
            Some(Node::File(bytes)) => Ok(Arc::make_mut(bytes)),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn find(&self, path: &Path) -> io::Result<u64> {
        let mut node = TOP;
        for name in path.strip_prefix(ROOT).unwrap_or(path).iter().skip(1) {
            node = *self.names(node)?.cached.get(name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    pub(super) fn parent(&self, path: &Path) -> io::Result<(u64, OsString)> {
        let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let name: &OsStr = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.find(dir)?, name.to_owned()))
    }

    /// Drops files and directories that no longer have a name. Called when no process has them
    /// open.
    pub(super) fn drop_unnamed(&mut self) {
        let (mut named, mut next) = (BTreeSet::from([TOP]), vec![TOP]);
        while let Some(node) = next.pop() {
            if let Some(Node::Dir(names)) = self.nodes.get(&node) {
                let pending = names.pending.iter().filter_map(|change| match change {
                    Rename::Set(_, node) | Rename::Move(_, _, node) => Some(node),
                    Rename::Unset(_) => None,
                });
                let all = names.cached.values().chain(names.durable.values()).chain(pending);
                next.extend(all.copied().filter(|&node| named.insert(node)));
            }
        }
        self.nodes.retain(|node, _| named.contains(node));
    }

    pub(super) fn lose_power(&mut self, all: bool, chance: &mut Chance) {
        let sector = self.sector;
        for node in self.nodes.values_mut() {
            match node {
                Node::File(bytes) => {
                    let clean =
                        bytes.dirty.is_empty() && bytes.lost.is_empty() && bytes.lengths.is_empty();
                    if !clean || bytes.cached != bytes.durable {
                        Arc::make_mut(bytes).lose_power(all, sector, chance);
                    }
                }
                Node::Dir(names) if !names.pending.is_empty() => {
                    let names = Arc::make_mut(names);
                    let mut image = names.durable.clone();
                    if !all {
                        let mode = chance.below(3);
                        let prefix = chance.below(names.pending.len() + 1);
                        for (number, change) in names.pending.iter().enumerate() {
                            let kept = match mode {
                                0 => number < prefix,
                                _ => chance.one_in(2),
                            };
                            if kept {
                                apply(&mut image, change);
                            }
                        }
                    }
                    *names = Names { cached: image.clone(), durable: image, pending: Vec::new() };
                }
                Node::Dir(_) => {}
            }
        }
    }
}

//! In-memory disk that records which writes were synced, for tests of crash safety.
//!
//! Every file has two contents: the bytes that programs see (the page cache) and the bytes that
//! would survive a loss of power. A [crash](Disk::crash) either keeps the page cache or builds an
//! image of what survived. In that image, each sector may have any version written since the last
//! sync, and each directory may lack any of its changes since the last sync. Calls can be made to
//! fail. All randomness follows from the seed.
//!
//! A disk is mounted at `/simulated-disk/<number>`, and handles all calls of [`disk`](super) below
//! that path.

mod platter;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::TryLockError;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub(crate) use self::platter::Chance;
use self::platter::{Node, Platter, ROOT, Rename, TOP};
use super::{Entry, Identity, Mode};

static DISKS: RwLock<BTreeMap<u64, Arc<Mutex<Machine>>>> = RwLock::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A kind of failing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Any call fails with an input/output error; a failed sync marks pages as clean even if it did
    /// not write them.
    Io,
    /// Calls that need space fail.
    NoSpace,
    /// Writes and reads are interrupted by a signal.
    Interrupted,
    /// Writes write only a part of the bytes.
    Short,
}

/// Range of calls that fail, by call number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) failure: Failure,
}

/// State of the disk after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// The process ends, and the operating system keeps all writes.
    Kill,
    /// Power is lost, and no unsynced write survives.
    LoseAll,
    /// Power is lost, and any subset of the unsynced writes survives.
    LoseSome,
}

/// Kind of call, which determines the failures that are possible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Look,
    Read,
    Write,
    Create,
    Change,
    Sync,
}

struct Machine {
    platter: Platter,
    calls: u64,
    drawn: u64,
    chance: Chance,
    faults: Vec<Fault>,
    crash_at: Option<u64>,
    is_off: bool,
    locks: BTreeMap<u64, u64>,
    handles: u64,
    /// Copies of the platter, each with the tag that was set when the copy was taken. One in
    /// `fork_one_in` changing calls takes a copy before it changes anything.
    forks: Vec<(Platter, u64)>,
    fork_one_in: usize,
    tag: u64,
}

/// A mounted disk.
#[derive(Clone)]
pub(crate) struct Disk {
    number: u64,
    machine: Arc<Mutex<Machine>>,
}

pub(crate) struct Open {
    disk: Disk,
    node: u64,
    handle: u64,
    cursor: Mutex<u64>,
}

fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EINTR: i32 = 4;

impl Disk {
    /// Mounts an empty disk.
    pub(crate) fn new(seed: u64) -> Disk {
        let mut chance = Chance::new(seed);
        let sector = if chance.one_in(2) { 512 } else { 4096 };
        let nodes = BTreeMap::from([(TOP, Node::Dir(Arc::default()))]);
        Disk::mount(Platter { sector, nodes, next: TOP + 1 }, chance)
    }

    fn mount(platter: Platter, chance: Chance) -> Disk {
        let machine = Arc::new(Mutex::new(Machine {
            platter,
            calls: 0,
            drawn: 0,
            chance,
            faults: Vec::new(),
            crash_at: None,
            is_off: false,
            locks: BTreeMap::new(),
            handles: 0,
            forks: Vec::new(),
            fork_one_in: 0,
            tag: 0,
        }));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        DISKS.write().unwrap_or_else(PoisonError::into_inner).insert(number, machine.clone());
        Disk { number, machine }
    }

    /// Unmounts the disk: no path leads to it any more.
    pub(crate) fn unmount(&self) {
        DISKS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }

    /// Returns the simulated disk that a path leads to, if any.
    pub(crate) fn at(path: &Path) -> Option<Disk> {
        let number = path.strip_prefix(ROOT).ok()?.components().next()?;
        let number = number.as_os_str().to_str()?.parse().ok()?;
        let disks = DISKS.read().unwrap_or_else(PoisonError::into_inner);
        disks.get(&number).map(|machine| Disk { number, machine: machine.clone() })
    }

    /// Returns the path of a name on this disk.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(ROOT).join(self.number.to_string()).join(name)
    }

    pub(crate) fn calls(&self) -> u64 {
        self.machine().calls
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.machine().faults.push(fault);
    }

    pub(crate) fn heal(&self) {
        self.machine().faults.clear();
    }

    /// Plans a crash: this call and all later calls fail.
    pub(crate) fn crash_at(&self, call: u64) {
        self.machine().crash_at = Some(call);
    }

    pub(crate) fn stay_on(&self) {
        self.machine().crash_at = None;
    }

    pub(crate) fn is_off(&self) -> bool {
        self.machine().is_off
    }

    /// Keeps a copy of the disk before one in `times` changing calls; 0 keeps none.
    pub(crate) fn fork_one_in(&self, times: usize) {
        self.machine().fork_one_in = times;
    }

    /// Sets the tag of later copies.
    pub(crate) fn tag(&self, tag: u64) {
        self.machine().tag = tag;
    }

    /// Takes the stored copies, and returns each as a crashed disk with its tag.
    pub(crate) fn take_forks(&self) -> Vec<(Disk, u64)> {
        let (forks, mut chance) = {
            let mut machine = self.machine();
            let chance = Chance::new(machine.chance.next());
            (std::mem::take(&mut machine.forks), chance)
        };
        let fork = |(platter, tag): (Platter, u64)| {
            let disk = Disk::mount(platter, Chance::new(chance.next()));
            let kind = match chance.below(8) {
                0 | 1 => Crash::Kill,
                2 | 3 => Crash::LoseAll,
                _ => Crash::LoseSome,
            };
            disk.crash(kind);
            (disk, tag)
        };
        forks.into_iter().map(fork).collect()
    }

    /// Ends all processes, and cuts the power if the kind of crash includes that; the machine is on
    /// again afterwards.
    pub(crate) fn crash(&self, kind: Crash) {
        let machine = &mut *self.machine();
        machine.locks.clear();
        machine.faults.clear();
        (machine.is_off, machine.crash_at) = (false, None);
        if kind != Crash::Kill {
            machine.platter.lose_power(kind == Crash::LoseAll, &mut machine.chance);
        }
        machine.platter.drop_unnamed();
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call; fails if a fault or a crash is planned for it.
    fn called(&self, call: Call) -> io::Result<MutexGuard<'_, Machine>> {
        let mut machine = self.machine();
        let machine_ref = &mut *machine;
        machine_ref.calls += 1;
        let number = machine_ref.calls;
        if machine_ref.crash_at.is_some_and(|at| number >= at) {
            machine_ref.is_off = true;
        }
        if machine_ref.is_off {
            return Err(error(EIO));
        }
        let times = machine_ref.fork_one_in;
        let changes = !matches!(call, Call::Look | Call::Read);
        if changes && times > 0 && machine_ref.chance.one_in(times) {
            let copy = (machine_ref.platter.clone(), machine_ref.tag);
            machine_ref.forks.push(copy);
        }
        let hit = |fault: &&Fault| (fault.from..fault.until).contains(&number);
        let failure = machine_ref.faults.iter().find(hit).map(|fault| fault.failure);
        let room = matches!(call, Call::Write | Call::Create | Call::Sync);
        match failure {
            Some(Failure::Io) if call == Call::Sync => {}
            Some(Failure::Io) => return Err(error(EIO)),
            Some(Failure::NoSpace) if room && call != Call::Sync => return Err(error(ENOSPC)),
            Some(Failure::Interrupted) if matches!(call, Call::Read | Call::Write) => {
                // A signal interrupts only once; otherwise programs that retry would never finish.
                let fault = machine_ref.faults.iter_mut().find(|fault| fault.until > number);
                if let Some(fault) = fault {
                    fault.until = number;
                }
                return Err(error(EINTR));
            }
            _ => {}
        }
        Ok(machine)
    }

    pub(super) fn open(&self, path: &Path, mode: Mode) -> io::Result<Open> {
        let call = if matches!(mode, Mode::Read | Mode::Write) { Call::Look } else { Call::Create };
        let mut machine = self.called(call)?;
        let platter = &mut machine.platter;
        let (dir, name) = platter.parent(path)?;
        let found = platter.names(dir)?.cached.get(&name).copied();
        let node = match (found, mode) {
            (Some(_), Mode::New(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(node), _) => {
                if !matches!(platter.nodes.get(&node), Some(Node::File(_))) {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                if mode == Mode::Empty {
                    platter.bytes_mut(node)?.set_len(0);
                }
                node
            }
            (None, Mode::Read | Mode::Write) => return Err(io::ErrorKind::NotFound.into()),
            (None, _) => {
                let node = platter.next;
                platter.next += 1;
                platter.nodes.insert(node, Node::File(Arc::default()));
                platter.names_mut(dir)?.apply(Rename::Set(name, node));
                node
            }
        };
        machine.handles += 1;
        let handle = machine.handles;
        drop(machine);
        Ok(Open { disk: self.clone(), node, handle, cursor: Mutex::new(0) })
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.called(Call::Change)?;
        let platter = &mut machine.platter;
        let ((dir, from), (other, to)) = (platter.parent(from)?, platter.parent(to)?);
        assert_eq!(dir, other, "renames stay within a directory");
        let names = platter.names(dir)?;
        let node = *names.cached.get(&from).ok_or(io::ErrorKind::NotFound)?;
        if let Some(there) = names.cached.get(&to)
            && let Node::Dir(there) = &platter.nodes[there]
            && !there.cached.is_empty()
        {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        platter.names_mut(dir)?.apply(Rename::Move(from, to, node));
        Ok(())
    }

    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.called(Call::Change)?;
        let platter = &mut machine.platter;
        let (dir, name) = platter.parent(path)?;
        if !platter.names(dir)?.cached.contains_key(&name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        platter.names_mut(dir)?.apply(Rename::Unset(name));
        Ok(())
    }

    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.called(Call::Create)?;
        let platter = &mut machine.platter;
        let (dir, name) = platter.parent(path)?;
        if platter.names(dir)?.cached.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let node = platter.next;
        platter.next += 1;
        platter.nodes.insert(node, Node::Dir(Arc::default()));
        platter.names_mut(dir)?.apply(Rename::Set(name, node));
        Ok(())
    }

    pub(super) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.called(Call::Sync)?;
        let fails = machine.sync_fails();
        let platter = &mut machine.platter;
        let node = platter.find(path)?;
        if let Some(code) = fails {
            return Err(error(code));
        }
        let names = platter.names_mut(node)?;
        names.durable = names.cached.clone();
        names.pending.clear();
        Ok(())
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        self.machine().platter.find(path).is_ok()
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        let machine = self.machine();
        let found = machine.platter.find(path);
        found.is_ok_and(|node| matches!(machine.platter.nodes.get(&node), Some(Node::Dir(_))))
    }

    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let machine = self.called(Call::Look)?;
        let platter = &machine.platter;
        let names = platter.names(platter.find(path)?)?;
        let entry = |(name, node): (&OsString, &u64)| {
            let (is_dir, len) = match &platter.nodes[node] {
                Node::Dir(_) => (true, 0),
                Node::File(bytes) => (false, bytes.cached.len() as u64),
            };
            Entry { name: name.clone(), is_dir, len }
        };
        Ok(names.cached.iter().map(entry).collect())
    }

    pub(super) fn identity_at(&self, path: &Path) -> io::Result<Identity> {
        let machine = self.called(Call::Look)?;
        machine.platter.find(path).map(|node| (1, node))
    }

    pub(super) fn draw(&self) -> u64 {
        let mut machine = self.machine();
        machine.drawn += 1;
        machine.drawn
    }
}

impl Machine {
    /// Returns the error code of the current sync, if a fault makes the sync fail.
    fn sync_fails(&self) -> Option<i32> {
        let hit = |fault: &&Fault| (fault.from..fault.until).contains(&self.calls);
        match self.faults.iter().find(hit)?.failure {
            Failure::Io => Some(EIO),
            Failure::NoSpace => Some(ENOSPC),
            Failure::Interrupted | Failure::Short => None,
        }
    }
}

impl Open {
    pub(super) fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let machine = self.disk.called(Call::Read)?;
        let bytes = &machine.platter.bytes(self.node)?.cached;
        let from = (offset as usize).min(bytes.len());
        let len = out.len().min(bytes.len() - from);
        out[..len].copy_from_slice(&bytes[from..from + len]);
        Ok(len)
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut machine = self.disk.called(Call::Write)?;
        let number = machine.calls;
        let short = machine.faults.iter().any(|fault| {
            fault.failure == Failure::Short && (fault.from..fault.until).contains(&number)
        });
        let taken = if short { bytes.len().div_ceil(2) } else { bytes.len() };
        let sector = machine.platter.sector;
        machine.platter.bytes_mut(self.node)?.write(&bytes[..taken], offset as usize, sector);
        Ok(taken)
    }

    pub(super) fn len(&self) -> io::Result<u64> {
        let machine = self.disk.called(Call::Look)?;
        Ok(machine.platter.bytes(self.node)?.cached.len() as u64)
    }

    pub(super) fn set_len(&self, len: u64) -> io::Result<()> {
        let mut machine = self.disk.called(Call::Change)?;
        let bytes = machine.platter.bytes_mut(self.node)?;
        if bytes.cached.len() as u64 != len {
            bytes.set_len(len as usize);
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let mut machine = self.disk.called(Call::Sync)?;
        let (sector, fails) = (machine.platter.sector, machine.sync_fails());
        let machine = &mut *machine;
        let bytes = machine.platter.bytes_mut(self.node)?;
        match fails {
            None => {
                bytes.sync(sector);
                Ok(())
            }
            Some(code) => {
                bytes.fail_to_sync(sector, &mut machine.chance);
                Err(error(code))
            }
        }
    }

    pub(super) fn try_lock(&self) -> Result<(), TryLockError> {
        let mut machine = self.disk.called(Call::Look).map_err(TryLockError::Error)?;
        match machine.locks.get(&self.node) {
            Some(&handle) if handle != self.handle => Err(TryLockError::WouldBlock),
            _ => {
                machine.locks.insert(self.node, self.handle);
                Ok(())
            }
        }
    }

    pub(super) fn unlock(&self) -> io::Result<()> {
        let mut machine = self.disk.machine();
        if machine.locks.get(&self.node) == Some(&self.handle) {
            machine.locks.remove(&self.node);
        }
        Ok(())
    }

    pub(super) fn identity(&self) -> Identity {
        (1, self.node)
    }

    pub(super) fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.read_at(out, *cursor)?;
        *cursor += read as u64;
        Ok(read)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.write_at(bytes, *cursor)?;
        *cursor += written as u64;
        Ok(written)
    }

    pub(super) fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        *cursor = match to {
            SeekFrom::Start(offset) => offset,
            SeekFrom::Current(by) => cursor.saturating_add_signed(by),
            SeekFrom::End(by) => self.len()?.saturating_add_signed(by),
        };
        Ok(*cursor)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut machine = self.disk.machine();
        if machine.locks.get(&self.node) == Some(&self.handle) {
            machine.locks.remove(&self.node);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::disk;

    fn put(path: &Path, bytes: &[u8]) -> disk::File {
        let file = disk::open(path, Mode::WriteOrCreate).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file
    }

    #[test]
    fn unsynced_bytes_and_names_are_lost() {
        let disk = Disk::new(1);
        let (a, b) = (disk.path("a"), disk.path("b"));
        put(&a, b"synced").sync_data().unwrap();
        disk::sync_dir(&disk.path("")).unwrap();
        put(&a, b"newer!");
        put(&b, b"synced, without a name").sync_data().unwrap();
        disk.crash(Crash::Kill);
        assert_eq!(disk::read(&a).unwrap(), b"newer!");
        disk.crash(Crash::LoseAll);
        assert_eq!(disk::read(&a).unwrap(), b"synced");
        assert!(!disk::exists(&b).unwrap());
    }

    #[test]
    fn a_failed_sync_leaves_pages_clean_and_off_the_disk() {
        let lost = (0..20).filter(|&seed| {
            let disk = Disk::new(seed);
            let path = disk.path("a");
            let file = put(&path, b"old");
            file.sync_data().unwrap();
            disk::sync_dir(&disk.path("")).unwrap();
            file.write_all_at(b"new", 0).unwrap();
            let from = disk.calls();
            disk.fail(Fault { from, until: from + 2, failure: Failure::Io });
            assert!(file.sync_data().is_err());
            disk.heal();
            // The second sync has nothing to write, and succeeds.
            file.sync_data().unwrap();
            assert_eq!(disk::read(&path).unwrap(), b"new");
            disk.crash(Crash::LoseAll);
            disk::read(&path).unwrap() == b"old"
        });
        assert!((1..20).contains(&lost.count()));
    }

    #[test]
    fn a_seed_replays_a_crash() {
        let image = |seed: u64| {
            let disk = Disk::new(seed);
            let path = disk.path("a");
            let file = put(&path, &[1; 9000]);
            file.sync_data().unwrap();
            disk::sync_dir(&disk.path("")).unwrap();
            for round in 2..5 {
                file.write_all_at(&[round; 9000], 0).unwrap();
            }
            disk.crash(Crash::LoseSome);
            disk::read(&path).unwrap()
        };
        let images: BTreeSet<Vec<u8>> = (0..50).map(image).collect();
        assert!(images.len() > 10, "{}", images.len());
        assert!((0..50).all(|seed| image(seed) == image(seed)));
    }
}

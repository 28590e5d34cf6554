//! Creating and opening a store. Opening catches the index up with the journal.

use std::fs::TryLockError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread::{self, JoinHandle};

use super::answer::Renewing;
use super::current::{Current, JOURNAL, LOCK, follows_from_journal};
use super::description::{Description, IdKind};
use super::journal::{Journal, RowShape};
use super::on_demand::{OnDemand, load};
use super::settings::Settings;
use super::shared::{Progress, Shared};
use super::tasks::{Task, Tasks};
use super::writer::{Jobs, Writer, replay};
use super::{learning, renewal};
use crate::background::{Background, Rank};
use crate::disk::{self, File, Mode};
use crate::{Error, IdNames, Index, Result};

/// Open store: the state that its threads share, and the threads.
pub(super) struct Opened {
    pub(super) shared: Arc<Shared>,
    pub(super) jobs: Jobs,
    /// Threads that learn and re-encode.
    pub(super) threads: Vec<JoinHandle<Result<()>>>,
    pub(super) writer: JoinHandle<()>,
}

/// Returns the files that remain in a directory from a store whose creation was cut off before any
/// change. Fails if the directory contains anything else.
fn left_over(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match disk::list(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io(directory))?,
    };
    let (mut left, mut begun) = (Vec::new(), false);
    for entry in entries {
        let path = directory.join(&entry.name);
        let known = match entry.name.to_str().unwrap_or_default() {
            // The journal is the first part of a store that is created.
            JOURNAL => {
                begun = true;
                Journal::is_blank(&path)?
            }
            LOCK => continue,
            name => follows_from_journal(name),
        };
        if !known {
            return Err(Error::NotEmpty(directory.to_path_buf()));
        }
        left.push(path);
    }
    match left.is_empty() || begun {
        true => Ok(left),
        false => Err(Error::NotEmpty(directory.to_path_buf())),
    }
}

/// Fails unless a store can be created in a directory.
pub(super) fn check_free(directory: &Path) -> Result<()> {
    left_over(directory).map(drop)
}

/// Creates a store in a directory that does not exist yet, or is empty.
pub(super) fn create(directory: &Path, description: &Description) -> Result<()> {
    let model = description.start()?;
    check_free(directory)?;
    create_dirs(directory)?;
    let lock = locked(directory)?;
    let journal = directory.join(JOURNAL);
    let (begun, others): (Vec<_>, Vec<_>) =
        left_over(directory)?.into_iter().partition(|left| *left == journal);
    for left in &others {
        disk::remove_file(left).map_err(Error::io(left))?;
    }
    // The other files are removed durably before the journal: without a journal next to them, a
    // later attempt could not recognize them as leftovers.
    disk::sync_dir(directory).map_err(Error::io(directory))?;
    for left in &begun {
        disk::remove_dir_all(left).map_err(Error::io(left))?;
    }
    Journal::create(&journal, shape(description))?;
    // For the same reason the journal's name is durable before the name of any other file.
    disk::sync_dir(directory).map_err(Error::io(directory))?;
    description.save(&journal)?;
    let mark = mark_of(&lock, directory)?;
    let mut current = Current::new();
    (current.index, current.model) =
        (current.next_name("index", mark), current.next_name("model", mark));
    model.save(current.model_path(directory))?;
    Index::with_places(model.try_hash_function()?).save(current.index_path(directory))?;
    current.save(directory)?;
    // Saved last: the description makes the directory a store.
    description.save(directory)
}

/// Creates a directory and its missing parents, each with a durable name.
fn create_dirs(directory: &Path) -> Result<()> {
    let parent =
        directory.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if parent != directory && !disk::is_dir(parent) {
        create_dirs(parent)?;
    }
    match disk::create_dir(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && disk::is_dir(directory) => {}
        created => created.map_err(Error::io(directory))?,
    }
    disk::sync_dir(parent).map_err(Error::io(parent))
}

/// Returns the mark in the names of new files; see [`Current::next_name`].
fn mark_of(lock: &File, directory: &Path) -> Result<u32> {
    let identity = lock.identity().map_err(Error::io(directory))?;
    let (device, number) = identity.unwrap_or_default();
    Ok(crc32fast::hash(&[device.to_le_bytes(), number.to_le_bytes()].concat()))
}

pub(super) fn shape(description: &Description) -> RowShape {
    RowShape { dim: description.dim, precision: description.precision }
}

/// Opens a store, and starts its threads.
pub(super) fn open(directory: &Path, settings: Settings) -> Result<Opened> {
    let encoders = Background::new("store-codes", cores(), Rank::AfterSearches);
    let (shared, writer) = read(directory, settings, encoders)?;
    start(shared, writer)
}

/// Opens a store without threads.
pub(super) fn read(
    directory: &Path,
    settings: Settings,
    encoders: Background,
) -> Result<(Arc<Shared>, Writer)> {
    settings.check()?;
    let description = Description::load(directory)?;
    let directory = &disk::canonicalize(directory).map_err(Error::io(directory))?;
    let lock = locked(directory)?;
    let mark = mark_of(&lock, directory)?;
    let mut current = Current::load(directory)?;
    // A killed process may have left names that can be read but are not durable. They must be
    // durable before the files that they replaced are removed, and before the journal's end is
    // recorded.
    if !take_closed_note(&lock, directory)? {
        sync_names(directory)?;
    }
    let tasks = Tasks::default();
    tasks.report(Task::Cleanup, &current.remove_others(directory).map(|()| false));
    let index_path = current.index_path(directory);
    let mut index = Index::over(&index_path)?;
    let texts_path = IdNames::path_beside(&index_path);
    let has_texts = disk::exists(&texts_path).map_err(Error::io(&texts_path))?;
    let mut texts = match description.ids {
        IdKind::Texts if has_texts => IdNames::load_beside(&index_path)?,
        _ => IdNames::new(),
    };
    let mut rows = current.rows;
    let journal = Journal::open(
        &directory.join(JOURNAL),
        shape(&description),
        current.extent(),
        current.index_position,
        &mut |record| {
            rows += replay(&mut index, record, &mut texts, directory)?;
            Ok(())
        },
    )?;
    index.set_search_structure(settings.structure);
    index.report_structures(Some(tasks.for_structures()));
    let learner = load(&current, directory, current.model_steps)?;
    // Files that were named before a crash may still be open in other processes, so their names are
    // not used again.
    current.serial += 1;
    let writer = Writer::new(journal, index, current.version, rows);
    let progress = Progress {
        end: writer.journal().end(),
        learned: learner.next,
        learning: learner.learning(),
        steps: current.model_steps,
        saved_steps: current.model_steps,
        renewed_steps: current.function_steps,
        ..Progress::default()
    };
    let mut renewing = Renewing::default();
    renewing.note_targets(&learner.model);
    // The learner takes as much memory as the codes of millions of items, so it is not loaded if
    // nothing is left to learn.
    let wanted = settings.learn && progress.end > progress.learned;
    let shared = Arc::new(Shared {
        directory: directory.clone(),
        description,
        settings,
        files: writer.journal().files().clone(),
        moment: RwLock::new(Arc::new(writer.moment())),
        texts: RwLock::new(texts),
        progress: Mutex::new(progress),
        changed: Condvar::new(),
        learner: OnDemand::new(Some(learner).filter(|_| wanted)),
        current: Mutex::new(current),
        quality: Mutex::default(),
        renewing: Mutex::new(renewing),
        encoders,
        tasks,
        layout: Mutex::default(),
        lock_identity: lock.identity().map_err(Error::io(directory))?,
        lock,
        mark,
    });
    Ok((shared, writer))
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Starts the threads of a store.
fn start(shared: Arc<Shared>, writer: Writer) -> Result<Opened> {
    let (jobs, received) = channel();
    let jobs = Jobs::Thread(jobs);
    let named = |name: &str| thread::Builder::new().name(name.to_owned());
    let directory = shared.directory.clone();
    let failed = |error| Error::io(&directory)(error);
    let for_writer = shared.clone();
    let writing = named("store-writer").spawn(move || writer.run(&for_writer, &received));
    let writing = writing.map_err(failed)?;
    let mut threads = Vec::new();
    if shared.settings.learn {
        let for_learner = shared.clone();
        let background = Background::new("store-learner", (cores() / 2).max(1), Rank::Last);
        let learning = move || learning::run(&for_learner, &background);
        threads.push(named("store-learning").spawn(learning).map_err(failed)?);
    }
    let (for_keeper, for_jobs) = (shared.clone(), jobs.clone());
    let background = Background::new("store-keeper", 1, Rank::Last);
    let keeping = move || renewal::run(&for_keeper, &for_jobs, &background);
    threads.push(named("store-renewal").spawn(keeping).map_err(failed)?);
    Ok(Opened { shared, jobs, threads, writer: writing })
}

/// Makes the names of all files of a store durable.
fn sync_names(directory: &Path) -> Result<()> {
    [directory, &directory.join(JOURNAL)]
        .into_iter()
        .try_for_each(|dir| disk::sync_dir(dir).map_err(Error::io(dir)))
}

/// Notes in the lock file that the store was closed cleanly and that the names of all its files are
/// durable. A copy of the directory has another lock file, so the note does not count there.
pub(super) fn note_closed(lock: &File, directory: &Path) -> Result<()> {
    sync_names(directory)?;
    let noted = closed_note(lock).and_then(|note| lock.write_all_at(&note, 0));
    noted.map_err(Error::io(directory))
}

/// Returns whether the store was closed cleanly, and removes the note that says so. A loss of power
/// may bring the note back, but then all names that can be read are durable.
fn take_closed_note(lock: &File, directory: &Path) -> Result<bool> {
    let take = || {
        let note = closed_note(lock)?;
        let mut found = vec![0; note.len() + 1];
        let length = lock.read_up_to(&mut found, 0)?;
        if length > 0 {
            lock.set_len(0)?;
        }
        Ok(!note.is_empty() && found[..length] == note)
    };
    take().map_err(Error::io(directory))
}

/// Returns the content of the note; empty on systems where files have no identity.
fn closed_note(lock: &File) -> std::io::Result<Vec<u8>> {
    let identity = lock.identity()?;
    Ok(identity.map_or(Vec::new(), |(device, file)| format!("closed {device} {file}\n").into()))
}

/// Locks a store against other processes for as long as the returned file is open.
pub(super) fn locked(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK);
    let file = disk::open(&path, Mode::WriteOrCreate).map_err(Error::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(directory.to_path_buf())),
        Err(TryLockError::Error(cause)) => Err(Error::CannotLock { path, cause }),
    }
}

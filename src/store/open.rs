//! How a store is made, and how it is opened: what is not yet in the index is read from the journal.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread::{self, JoinHandle};

use super::current::{Current, JOURNAL, LOCK, follows_from_journal};
use super::description::{Description, IdKind};
use super::journal::{Journal, RowShape, START};
use super::on_demand::{OnDemand, load};
use super::settings::Settings;
use super::shared::{Progress, Shared};
use super::writer::{Job, Writer, replay};
use super::{learning, renewal};
use crate::background::{Background, Rank};
use crate::{Error, IdNames, Index, Result};

/// A store that is open: what its threads share, and the threads.
pub(super) struct Opened {
    pub(super) shared: Arc<Shared>,
    pub(super) jobs: Sender<Job>,
    /// What learns and what makes codes anew.
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) writer: JoinHandle<()>,
}

/// What stands in a folder in which a store is to be made: nothing but what is left of one that was being made there
/// when its process ended, and has no changes.
fn left_over(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io(folder))?,
    };
    let (mut left, mut begun) = (Vec::new(), false);
    for entry in entries {
        let entry = entry.map_err(Error::io(folder))?;
        let name = entry.file_name();
        let known = match name.to_str().unwrap_or_default() {
            // The first that is made.
            JOURNAL => {
                begun = true;
                Journal::is_blank(&entry.path())?
            }
            LOCK => continue,
            name => follows_from_journal(name),
        };
        if !known {
            return Err(Error::NotEmpty(folder.to_path_buf()));
        }
        left.push(entry.path());
    }
    match left.is_empty() || begun {
        true => Ok(left),
        false => Err(Error::NotEmpty(folder.to_path_buf())),
    }
}

/// Fails unless a store can be made in a folder.
pub(super) fn check_free(folder: &Path) -> Result<()> {
    left_over(folder).map(drop)
}

/// Makes a store in a folder that is not there yet, or empty.
pub(super) fn create(folder: &Path, description: &Description) -> Result<()> {
    let model = description.start()?;
    check_free(folder)?;
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let _lock = locked(folder)?;
    for left in left_over(folder)? {
        let removed =
            if left.is_dir() { fs::remove_dir_all(&left) } else { fs::remove_file(&left) };
        removed.map_err(Error::io(&left))?;
    }
    Journal::create(&folder.join(JOURNAL), shape(description))?;
    let mut current = Current {
        serial: 0,
        version: 1,
        index: String::new(),
        index_position: START,
        rows: 0,
        model: String::new(),
        model_position: START,
        model_rows: 0,
        not_unlearned: 0,
    };
    (current.index, current.model) = (current.next_name("index"), current.next_name("model"));
    model.save(current.model_path(folder))?;
    Index::with_places(model.try_hash_function()?).save(current.index_path(folder))?;
    current.save(folder)?;
    // Last: with it, it is a store.
    description.save(folder)
}

fn shape(description: &Description) -> RowShape {
    RowShape { dim: description.dim, precision: description.precision }
}

/// Opens a store.
pub(super) fn open(folder: &Path, settings: Settings) -> Result<Opened> {
    settings.check()?;
    let description = Description::load(folder)?;
    let folder = &fs::canonicalize(folder).map_err(Error::io(folder))?;
    let lock = locked(folder)?;
    let current = Current::load(folder)?;
    current.remove_others(folder);
    let index_path = current.index_path(folder);
    let mut index = Index::over(&index_path)?;
    let has_texts = IdNames::path_beside(&index_path).exists();
    let mut texts = match description.ids {
        IdKind::Texts if has_texts => IdNames::load_beside(&index_path)?,
        _ => IdNames::new(),
    };
    let mut rows = current.rows;
    let journal = Journal::open(
        &folder.join(JOURNAL),
        shape(&description),
        current.index_position,
        &mut |record| {
            rows += replay(&mut index, record, &mut texts)?;
            Ok(())
        },
    )?;
    index.build_in_background(true);
    let learner = load(&current, folder, 0)?;
    let writer = Writer::new(journal, index, current.version, rows);
    let progress = Progress {
        end: writer.journal().end(),
        learned: learner.position,
        learning: learner.learning(),
        ..Progress::default()
    };
    // It takes as much memory as the codes of millions of items: where there is nothing to learn it need not stay.
    let wanted = settings.learn && progress.end > progress.learned;
    let shared = Arc::new(Shared {
        folder: folder.clone(),
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
        renewing: Mutex::default(),
        encoders: Background::new("store-codes", cores(), Rank::AfterSearches),
        lock,
    });
    start(shared, writer)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Starts the threads.
fn start(shared: Arc<Shared>, writer: Writer) -> Result<Opened> {
    let (jobs, received) = channel();
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
        thread.map_err(Error::io(&shared.folder))
    };
    let for_writer = shared.clone();
    let writing = spawn("store-writer", Box::new(move || writer.run(&for_writer, &received)))?;
    let mut threads = Vec::new();
    if shared.settings.learn {
        let for_learner = shared.clone();
        let background = Background::new("store-learner", (cores() / 2).max(1), Rank::Last);
        threads.push(spawn(
            "store-learning",
            Box::new(move || learning::run(&for_learner, &background)),
        )?);
    }
    let (for_keeper, for_jobs) = (shared.clone(), jobs.clone());
    let background = Background::new("store-keeper", 1, Rank::Last);
    threads.push(spawn(
        "store-renewal",
        Box::new(move || renewal::run(&for_keeper, &for_jobs, &background)),
    )?);
    Ok(Opened { shared, jobs, threads, writer: writing })
}

/// Keeps other processes out for as long as the file is open.
fn locked(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(Error::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(folder.to_path_buf())),
        Err(TryLockError::Error(cause)) => Err(Error::CannotLock { path, cause }),
    }
}

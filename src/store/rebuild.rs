//! Building an index of all items that replaces the index in use, by the same function or a newer
//! one. Items that change during the build are processed again in rounds until few are left; the
//! writer processes the rest.
//!
//! # How do codes follow, and no query sees two versions?
//!
//! When the policy allows it, `renewal.rs` requests the model's function. A low-priority thread
//! then encodes all items with this function and writes them to an index file, a thousand items at
//! a time with pauses in between. The writer records which items change meanwhile. These items are
//! re-encoded in rounds until few are left; the writer re-encodes the rest before it replaces the
//! index. A `Reader` holds one snapshot: version, function and codes are one value behind one
//! pointer.

use std::path::Path;
use std::time::{Duration, Instant};

use super::part::Part;
use super::shared::{Moment, Shared, lock};
use super::writer::{Job, Jobs, Swap, ask, catch_up};
use crate::{Error, HashFunction, IdNames, Index, IndexBuilder, Result};

/// Number of items that are encoded together.
const AT_ONCE: usize = 1024;

/// Maximum number of changed items that are left to the writer, unless [`ROUNDS`] is reached.
const LEFT_OVER: usize = 500;

/// Number of rounds after which the remaining items are left to the writer in any case.
const ROUNDS: usize = 8;

/// Function that items may be re-encoded with.
pub(super) struct Candidate {
    pub(super) function: HashFunction,
    /// Number of rows that the model had learned or unlearned when the function was made.
    pub(super) steps: u64,
    /// Journal position up to which the model had learned.
    pub(super) position: u64,
}

/// Builds an index and replaces the index in use with it. With a candidate, the new index has a
/// newer version.
pub(super) fn rebuild(shared: &Shared, jobs: &Jobs, candidate: Option<Candidate>) -> Result<()> {
    let steps = candidate.as_ref().map(|candidate| candidate.steps);
    let function = candidate.map(|candidate| candidate.function);
    let begun = ask(jobs, shared, Job::Begin)?;
    let build = || {
        let (path, name) = shared.new_file("index")?;
        let version = begun.version + u64::from(function.is_some());
        write(shared, function, &begun, &path, &|place| place)?;
        shared.change_current(|current| {
            current.index = name;
            (current.version, current.index_position, current.rows) =
                (version, begun.position, begun.rows);
            current.function_steps = steps.unwrap_or(current.function_steps);
        })?;
        swap_in(shared, jobs, Index::over(&path)?, version, 0).map(drop)
    };
    abandon_unless(build(), jobs)
}

/// Makes the writer forget an index whose build failed.
pub(super) fn abandon_unless<T>(built: Result<T>, jobs: &Jobs) -> Result<T> {
    if built.is_err() {
        // If the writer has ended, it has nothing to forget.
        jobs.send(Job::Abandon).ok();
    }
    built
}

/// Replaces the index in use with another, after applying everything that changed since the new
/// index was begun. Returns the position up to which changes refer to the old index.
pub(super) fn swap_in(
    shared: &Shared,
    jobs: &Jobs,
    mut index: Index,
    version: u64,
    reclaimed: u64,
) -> Result<u64> {
    for _ in 0..ROUNDS {
        let (moment, touched) = ask(jobs, shared, Job::Round)?;
        let left = touched.len();
        catch_up(&mut index, version, &moment, touched, shared)?;
        if left <= LEFT_OVER {
            break;
        }
    }
    ask(jobs, shared, |reply| Job::Swap(Swap { index, version, reclaimed }, reply))
}

/// Writes the file of an index of all items of a snapshot; `moved` maps old positions of rows to
/// new ones.
pub(super) fn write(
    shared: &Shared,
    function: Option<HashFunction>,
    moment: &Moment,
    path: &Path,
    moved: &dyn Fn(u64) -> u64,
) -> Result<()> {
    let renewed = function.is_some();
    let function = match function {
        Some(function) => function,
        None => moment.index.function().cloned().ok_or(Error::NoFunction)?,
    };
    if renewed {
        lock(&shared.renewing).progress = Some(0.0);
    }
    let builder = IndexBuilder::with_places(path, function.clone())?;
    let mut builder = builder.search_structure(shared.settings.structure);
    builder.set_label_names(moment.index.label_names().clone());
    let texts = shared.texts.read().unwrap_or_else(|held| held.into_inner()).clone();
    if !texts.is_empty() {
        builder.set_text_ids(true);
        IdNames::save(&texts, IdNames::path_beside(path))?;
    }
    let mut part = Part::default();
    let mut done = 0;
    let count = moment.index.len();
    let mut pace = Pace::new(shared.settings.renewal_share);
    let mut finish = |part: &mut Part| -> Result<()> {
        let codes = part.codes(shared, &function, renewed)?;
        let places: Vec<u64> = part.places.iter().map(|&place| moved(place)).collect();
        builder.add_places(&part.ids, &codes, part.labels.view(), &places)?;
        done += part.ids.len();
        *part = Part::default();
        if renewed {
            lock(&shared.renewing).progress = Some(done as f64 / count.max(1) as f64);
        }
        let stop = lock(&shared.progress).stop;
        if !stop {
            pace.keep();
        }
        match stop && renewed {
            true => Err(Error::Stopped {
                path: shared.directory.clone(),
                problem: "it was closed before all codes were made".to_owned(),
            }),
            false => Ok(()),
        }
    };
    moment.index.each_placed(|item| {
        part.push(item);
        if part.ids.len() == AT_ONCE { finish(&mut part) } else { Ok(()) }
    })?;
    if !part.ids.is_empty() {
        finish(&mut part)?;
    }
    builder.finish()
}

/// Limits work to a share of the time.
struct Pace {
    share: f64,
    since: Instant,
}

impl Pace {
    fn new(share: f64) -> Pace {
        Pace { share: share.clamp(0.01, 1.0), since: Instant::now() }
    }

    /// Sleeps in proportion to the work since the last sleep.
    fn keep(&mut self) {
        let rest = self.since.elapsed().mul_f64(1.0 / self.share - 1.0);
        if rest > Duration::ZERO {
            std::thread::sleep(rest.min(Duration::from_secs(1)));
        }
        self.since = Instant::now();
    }
}

//! An index of all items that takes the place of the one in use, by the same function or a newer one. Items are
//! changed all the while: what was changed meanwhile is done again, until little is left, which the writer does.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::shared::{Moment, Shared, lock};
use super::writer::{Job, Swap, ask, catch_up};
use crate::index::Placed;
use crate::{Codes, Features, HashFunction, IdNames, Index, IndexBuilder, LabelList, Result};

/// Items that are encoded together.
const AT_ONCE: usize = 1024;

/// So many changed items may be left to the writer.
const LEFT_OVER: usize = 500;

/// After so many rounds the rest is left to it in any case.
const ROUNDS: usize = 8;

/// Builds the index and puts it in place; under a newer version if there is a function.
pub(super) fn rebuild(
    shared: &Shared,
    jobs: &Sender<Job>,
    function: Option<HashFunction>,
) -> Result<()> {
    let begun = ask(jobs, shared, Job::Begin)?;
    let built = build(shared, jobs, function, &begun);
    if built.is_err() {
        let _ = jobs.send(Job::Abandon);
    }
    built
}

fn build(
    shared: &Shared,
    jobs: &Sender<Job>,
    function: Option<HashFunction>,
    begun: &Moment,
) -> Result<()> {
    let (path, name) = shared.new_file("index");
    let version = begun.version + u64::from(function.is_some());
    write(shared, function, begun, &path)?;
    shared.change_current(|current| {
        current.index = name;
        (current.version, current.index_position, current.rows) =
            (version, begun.position, begun.rows);
    })?;
    let mut index = Index::over(&path)?;
    for _ in 0..ROUNDS {
        let (moment, touched) = ask(jobs, shared, Job::Round)?;
        let left = touched.len();
        catch_up(&mut index, version, &moment, touched, shared)?;
        if left <= LEFT_OVER {
            break;
        }
    }
    ask(jobs, shared, |reply| Job::Swap(Swap { index, version }, reply))
}

/// Writes the file of an index of all items that are there at a moment.
fn write(
    shared: &Shared,
    function: Option<HashFunction>,
    moment: &Moment,
    path: &Path,
) -> Result<()> {
    let renewed = function.is_some();
    let function = match function {
        Some(function) => function,
        None => moment.index.function().cloned().expect("the index of a store has one"),
    };
    if renewed {
        lock(&shared.renewing).progress = Some(0.0);
    }
    let mut builder = IndexBuilder::with_places(path, function.clone())?;
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
        let codes = match renewed {
            true => part.encoded(shared, &function)?,
            false => Codes::from_words(function.bits(), std::mem::take(&mut part.words))?,
        };
        builder.add_places(&part.ids, &codes, part.labels.view(), &part.places)?;
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
            true => Err(crate::Error::Stopped {
                path: shared.folder.clone(),
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

/// Items that are put into the index together.
#[derive(Default)]
struct Part {
    ids: Vec<u64>,
    words: Vec<u64>,
    labels: LabelList,
    places: Vec<u64>,
}

impl Part {
    fn push(&mut self, item: Placed<'_>) {
        self.ids.push(item.id);
        self.words.extend_from_slice(item.code);
        self.labels.push_set(item.labels);
        self.places.push(item.place);
    }

    /// Their codes by a function.
    fn encoded(&self, shared: &Shared, function: &HashFunction) -> Result<Codes> {
        let mut values = Vec::with_capacity(self.ids.len() * shared.description.dim);
        for &place in &self.places {
            values.extend(shared.files.row(place)?.vector);
        }
        function.encode(Features::new(&values, shared.description.dim)?)
    }
}

/// Keeps work to a share of the time.
struct Pace {
    share: f64,
    since: Instant,
}

impl Pace {
    fn new(share: f64) -> Pace {
        Pace { share: share.clamp(0.01, 1.0), since: Instant::now() }
    }

    /// Rests as long as the work since the last rest demands.
    fn keep(&mut self) {
        let rest = self.since.elapsed().mul_f64(1.0 / self.share - 1.0);
        if rest > Duration::ZERO {
            std::thread::sleep(rest.min(Duration::from_secs(1)));
        }
        self.since = Instant::now();
    }
}

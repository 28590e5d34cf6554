//! What a store answers.

use std::path::PathBuf;

use serde::Serialize;

use super::item::ItemId;
use super::settings::Renewal;
use crate::learner::MeasuredTargets;
use crate::{Codes, Dial, Features, Model};

/// What items are searched for with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Queries<'a> {
    /// Vectors, which are encoded by the function that made the codes they are compared with.
    Vectors(Features<'a>),
    /// Codes of that function.
    Codes(&'a Codes),
    /// Items of the store: their vectors as they are kept.
    Items(&'a [ItemId]),
}

/// How items are searched for. Begin with the default, and change what should be different.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// What label bits and detail bits weigh, if not each bit 1.
    pub dial: Option<Dial>,
    /// Number of the first hits by codes that are re-ranked by their vectors and the metric of the store.
    pub rerank: Option<usize>,
    /// How many items within a radius are given for a query at most: more are an error
    /// ([`Error::TooManyHits`](crate::Error::TooManyHits)), found out before they are put together.
    pub most: Option<usize>,
    /// Items must have one of these labels, if any are named.
    pub labels: Vec<String>,
    /// Items must have none of these labels.
    pub without_labels: Vec<String>,
}

/// An item that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Its id.
    pub id: ItemId,
    /// How far its code is from that of the query, in bits, or as the dial weighs them.
    pub distance: u32,
    /// Score of its vector by the [metric](super::Description::metric) of the store, if hits were re-ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Its labels, by name.
    pub labels: Vec<String>,
}

/// What was found for each query.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The version of the function that made the query's code and those that it was compared with.
    pub version: u64,
    /// What was found, query by query, the nearest first; ids ascend where distances are equal.
    pub results: Vec<Vec<Found>>,
}

/// What was put in or labelled, once it is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Acknowledged {
    /// How many items there were.
    pub items: usize,
    /// How many of them took the place of others.
    pub replaced: usize,
    /// Whether what was learned of those is taken back: the method can do that, and learning is on.
    pub unlearned: bool,
    /// End of the journal, for [`wait`](super::Store::wait).
    pub position: u64,
}

/// What was removed, once that is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Removed {
    /// How many of the items were there.
    pub removed: usize,
    /// Whether what was learned of them is taken back: the method can do that, and learning is on.
    pub unlearned: bool,
    /// End of the journal, for [`wait`](super::Store::wait).
    pub position: u64,
}

/// What to wait for after a change is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Labels are learned.
    Learned,
    /// Labels are learned, and the codes in use follow them: all items were re-encoded since, or the
    /// [policy](super::Settings::renewal) found that re-encoding does not pay yet.
    Searchable,
}

/// What a store holds and does, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Items that are there.
    pub items: usize,
    /// The version of the function that their codes are of.
    pub version: u64,
    /// Labels that any item ever had.
    pub labels: usize,
    /// Bytes of the journal, which holds all items.
    pub journal_bytes: u64,
    /// Those of them that no item needs any more.
    pub dead_bytes: u64,
    /// What is learned.
    pub learning: Learning,
    /// How codes are made anew.
    pub renewal: Renewing,
    /// How good search is.
    pub quality: Quality,
    /// Background work, and writing to the journal: what was done, and what fails.
    pub tasks: Vec<TaskStatus>,
}

impl Stats {
    /// Returns why changes are refused, if the last one was because it could not be written.
    pub fn cannot_write(&self) -> Option<&str> {
        let journal = self.tasks.iter().find(|status| status.task == "journal");
        journal.and_then(|status| status.problem.as_deref())
    }
}

/// State of one task that a store runs in the background. A task that fails is tried again, after waits from half a
/// second to a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// Name: `journal`, `learning`, `saving`, `renewal`, `measurement`, `checkpoint`, `structures`, `compaction` or
    /// `cleanup`.
    pub task: &'static str,
    /// How many times it succeeded since the store was opened.
    pub done: u64,
    /// How many times it failed since the store was opened.
    pub failures: u64,
    /// Why it failed, if it did the last time.
    pub problem: Option<String>,
    /// Since when it fails, in seconds since 1970.
    pub since: Option<u64>,
}

/// What [`Store::repair`](super::Store::repair) did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Repaired {
    /// Directory of the repaired store.
    pub directory: PathBuf,
    /// Directory that the damaged store was moved to, if it was repaired in place.
    pub damaged: Option<PathBuf>,
    /// Items in the repaired store.
    pub items: usize,
    /// Damaged parts of the journal that were skipped.
    pub losses: Vec<Loss>,
    /// Bytes of a change that was never acknowledged, which were cut off.
    pub unfinished_bytes: u64,
    /// Names of labels that were lost; items have `lost label N` in their place.
    pub lost_label_names: usize,
    /// What was damaged or missing and was rebuilt from the journal, with the reason.
    pub rebuilt: Vec<String>,
}

/// A damaged part of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Loss {
    /// The file.
    pub path: PathBuf,
    /// Offset of the first damaged byte.
    pub offset: u64,
    /// Number of bytes that were skipped.
    pub bytes: u64,
    /// What is missing.
    pub problem: String,
}

impl Loss {
    pub(super) fn of_file(path: PathBuf, bytes: u64, problem: String) -> Loss {
        Loss { path, offset: 0, bytes, problem }
    }
}

/// How far learning is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Learning {
    /// Rows that were learned, less those that were taken back. Held-out items are not learned
    /// ([`Description::held_out`](super::Description::held_out)).
    pub rows: u64,
    /// Whether the store learns at all ([`Settings::learn`](super::Settings::learn)).
    pub enabled: bool,
    /// Bytes of the journal that are still to be looked at.
    pub behind_bytes: u64,
    /// About how many rows these are, with and without labels.
    pub behind_rows: u64,
    /// Whether what is fixed before learning is fixed.
    pub warm: bool,
    /// Number of rows that fix it.
    pub warmup_rows: usize,
    /// Rows that could not be taken back.
    pub not_unlearned: u64,
    /// Why learning stands still, if it does.
    pub problem: Option<String>,
}

/// How codes are made anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Renewing {
    /// How many times all codes were made anew since the store was opened.
    pub done: u64,
    /// The share of the items that has new codes, while they are being made.
    pub progress: Option<f64>,
    /// Rows learned that the codes in use know nothing of.
    pub lag_rows: u64,
    /// When all items are re-encoded.
    pub policy: Renewal,
    /// Seconds without anything new to learn after which all items are re-encoded, except under [`Renewal::Never`].
    pub catch_up_seconds: f64,
    /// The share of the bits of a sample that would change, when last looked at.
    pub would_flip: Option<f64>,
    /// The share of the bits of a sample that changed by the last renewal.
    pub flipped: Option<f64>,
    /// Gain of re-encoding when last checked: how much more distances would report of whether two items share a label, as
    /// a share of all there is to know. `None` where few items share labels.
    pub would_gain: Option<f64>,
    /// Gain of the last renewal.
    pub gained: Option<f64>,
    /// How long the last one took, in seconds.
    pub seconds: Option<f64>,
    /// What the bits of the last function that was made are made of, of methods that measure that.
    pub measured_targets: Option<MeasuredTargets>,
    /// Those of the labels sampled for it whose items are found no better than by chance.
    pub not_distinguished: Vec<String>,
    /// Why it failed, if the last one did.
    pub problem: Option<String>,
}

impl Renewing {
    /// Notes what the bits of a model's last function are made of.
    pub(super) fn note_targets(&mut self, model: &Model) {
        let Some(measured) = model.measured_targets() else { return };
        let names = model.label_names();
        let name =
            |&label: &u32| names.name(label).map_or_else(|| label.to_string(), str::to_owned);
        self.not_distinguished = measured.not_distinguished.iter().map(name).collect();
        self.measured_targets = Some(measured);
    }
}

/// Quality of search, measured in the background: after each renewal, and now and then while items change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Quality {
    /// Share of the labelled ones among the ten nearest items that have a label of the query's, as the mean over the
    /// queries. These are labelled items of the store, each searched for among all others. Those that find no labelled item
    /// do not count.
    pub precision_at_10: Option<f64>,
    /// The same as the mean over the classes, each of which has the mean over its queries: a rare class counts as much as a
    /// frequent one.
    pub precision_at_10_per_class: Option<f64>,
    /// Number of queries that the precision is the mean of.
    pub queries: usize,
    /// Whether the queries are held-out items or learned ones.
    pub measured_on: Option<MeasuredOn>,
    /// About how many items are held out.
    pub held_out_items: usize,
    /// When the precision was measured, in seconds since 1970.
    pub measured_at: Option<f64>,
    /// Why there is no precision, if there is none.
    pub unmeasured: Option<&'static str>,
    /// The share of a sample of items that have the most frequent code, measured at the same time. Close to 1 the codes
    /// have collapsed: search cannot distinguish items.
    pub same_code: Option<f64>,
}

/// Items that the precision is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MeasuredOn {
    /// Held-out items, which the store never learns: new items find about as many of their label.
    HeldOut,
    /// A sample of all labelled items, where fewer than 30 of them are held out. Most of them were learned: new items find
    /// fewer of their label.
    Learned,
}

impl MeasuredOn {
    /// Returns the name: `held_out` or `learned`.
    pub fn name(self) -> &'static str {
        match self {
            MeasuredOn::HeldOut => "held_out",
            MeasuredOn::Learned => "learned",
        }
    }
}

impl Quality {
    pub(super) const NO_LABELS: &'static str = "it needs labelled items";
    const NOT_YET: &'static str =
        "it is measured in the background, and has not been since the start";
}

impl Default for Quality {
    /// The quality of a store that was not measured.
    fn default() -> Quality {
        Quality {
            precision_at_10: None,
            precision_at_10_per_class: None,
            queries: 0,
            measured_on: None,
            held_out_items: 0,
            measured_at: None,
            unmeasured: Some(Quality::NOT_YET),
            same_code: None,
        }
    }
}

//! Requests to a store and its answers.

use std::path::PathBuf;

use serde::Serialize;

use super::item::ItemId;
use super::settings::Renewal;
use crate::learner::MeasuredTargets;
use crate::{Codes, Dial, Features, Model};

/// Queries of a search.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Queries<'a> {
    /// Vectors, which the search encodes with the function in use.
    Vectors(Features<'a>),
    /// Codes made by the function in use.
    Codes(&'a Codes),
    /// Items of the store, searched for by their stored vectors.
    Items(&'a [ItemId]),
}

/// Options of a search. Start from the default and change individual fields.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// Weights of label bits and detail bits; `None` weighs each bit 1.
    pub dial: Option<Dial>,
    /// Number of nearest hits by code that are re-ranked by vector, under the store's metric.
    pub rerank: Option<usize>,
    /// Maximum number of hits per query within a radius. More hits are an error
    /// ([`Error::TooManyHits`](crate::Error::TooManyHits)), detected before the hits are assembled.
    pub most: Option<usize>,
    /// Labels of which a hit must have at least one; empty for no restriction.
    pub labels: Vec<String>,
    /// Labels that a hit must not have.
    pub without_labels: Vec<String>,
}

/// Item found by a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Id of the item.
    pub id: ItemId,
    /// Hamming distance in bits between item and query; with a dial, the weighted distance.
    pub distance: u32,
    /// Score of the item's vector by the store's [metric](super::Description::metric), if hits were
    /// re-ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Labels of the item, by name.
    pub labels: Vec<String>,
}

/// Hits of each query.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// Version of the function that made the codes of queries and items.
    pub version: u64,
    /// Hits of each query, nearest first; ties in distance are in ascending order of id.
    pub results: Vec<Vec<Found>>,
}

/// Acknowledgement of a durable change that inserted or relabelled items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Acknowledged {
    /// Number of items.
    pub items: usize,
    /// Number of items that replaced others.
    pub replaced: usize,
    /// Whether the replaced items are unlearned, that is, the method supports unlearning and
    /// learning is on.
    pub unlearned: bool,
    /// End of the journal, for [`wait`](super::Store::wait).
    pub position: u64,
}

/// Acknowledgement of a durable change that removed items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Removed {
    /// Number of items that existed and were removed.
    pub removed: usize,
    /// Whether the removed items are unlearned, that is, the method supports unlearning and
    /// learning is on.
    pub unlearned: bool,
    /// End of the journal, for [`wait`](super::Store::wait).
    pub position: u64,
}

/// State to wait for after a change is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Labels are learned.
    Learned,
    /// Labels are learned, and the codes are up to date: either all items were re-encoded since, or
    /// the [policy](super::Settings::renewal) found that re-encoding does not pay off yet.
    Searchable,
}

/// Statistics of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Number of items.
    pub items: usize,
    /// Version of the function that made the codes of the items.
    pub version: u64,
    /// Number of different labels that items have ever had.
    pub labels: usize,
    /// Bytes of the journal, which holds all items.
    pub journal_bytes: u64,
    /// Bytes of the journal that no item needs any more.
    pub dead_bytes: u64,
    /// State of learning.
    pub learning: Learning,
    /// State of re-encoding.
    pub renewal: Renewing,
    /// Quality of search.
    pub quality: Quality,
    /// State of background work and of writing to the journal.
    pub tasks: Vec<TaskStatus>,
}

impl Stats {
    /// Returns the reason why the last change could not be written, if it was refused.
    pub fn cannot_write(&self) -> Option<&str> {
        let journal = self.tasks.iter().find(|status| status.task == "journal");
        journal.and_then(|status| status.problem.as_deref())
    }
}

/// State of one task that a store runs in the background. A failed task is retried after a wait,
/// which grows from half a second to a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// Name: `journal`, `learning`, `saving`, `renewal`, `measurement`, `checkpoint`, `structures`,
    /// `compaction` or `cleanup`.
    pub task: &'static str,
    /// Number of times that the task succeeded since the store was opened.
    pub done: u64,
    /// Number of times that the task failed since the store was opened.
    pub failures: u64,
    /// Reason of the failure, if the last attempt failed.
    pub problem: Option<String>,
    /// Start of the current series of failures, in seconds since 1970.
    pub since: Option<u64>,
}

/// Report of [`Store::repair`](super::Store::repair).
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
    /// Number of bytes that were cut off: an incomplete change that was never acknowledged.
    pub unfinished_bytes: u64,
    /// Number of labels whose names were lost; these labels are now named `lost label N`.
    pub lost_label_names: usize,
    /// Parts that were damaged or missing and were rebuilt from the journal, each with the reason.
    pub rebuilt: Vec<String>,
}

/// A damaged part of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Loss {
    /// Path of the damaged file.
    pub path: PathBuf,
    /// Offset of the first damaged byte.
    pub offset: u64,
    /// Number of bytes that were skipped.
    pub bytes: u64,
    /// Description of what is missing.
    pub problem: String,
}

impl Loss {
    pub(super) fn of_file(path: PathBuf, bytes: u64, problem: String) -> Loss {
        Loss { path, offset: 0, bytes, problem }
    }
}

/// State of learning.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Learning {
    /// Number of rows learned, minus those unlearned. Held-out items are not learned
    /// ([`Description::held_out`](super::Description::held_out)).
    pub rows: u64,
    /// Whether the store learns at all ([`Settings::learn`](super::Settings::learn)).
    pub enabled: bool,
    /// Bytes of the journal that are still to be read.
    pub behind_bytes: u64,
    /// Estimated number of rows in `behind_bytes`, labelled or not.
    pub behind_rows: u64,
    /// Whether the warm-up is complete.
    pub warm: bool,
    /// Number of rows of the warm-up.
    pub warmup_rows: usize,
    /// Number of rows that could not be unlearned.
    pub not_unlearned: u64,
    /// Reason why learning has stopped, if it has.
    pub problem: Option<String>,
}

/// State of re-encoding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Renewing {
    /// Number of times that all items were re-encoded since the store was opened.
    pub done: u64,
    /// Share of the items that already have new codes, while a re-encoding runs.
    pub progress: Option<f64>,
    /// Number of learned rows that the codes in use do not reflect.
    pub lag_rows: u64,
    /// Policy that decides when all items are re-encoded.
    pub policy: Renewal,
    /// Seconds without anything new to learn after which all items are re-encoded, except under
    /// [`Renewal::Never`].
    pub catch_up_seconds: f64,
    /// Share of the bits of a sample that would flip, at the last check.
    pub would_flip: Option<f64>,
    /// Share of the bits of a sample that the last re-encoding flipped.
    pub flipped: Option<f64>,
    /// Gain of re-encoding at the last check: how much more information distances would carry about
    /// whether two items share a label, as a share of the maximum. `None` where few items share
    /// labels.
    pub would_gain: Option<f64>,
    /// Gain of the last re-encoding.
    pub gained: Option<f64>,
    /// Duration of the last re-encoding, in seconds.
    pub seconds: Option<f64>,
    /// Targets of the bits of the last function, for methods that measure such targets.
    pub measured_targets: Option<MeasuredTargets>,
    /// Labels whose items are found no better than by chance, in the sample that the targets were
    /// measured on.
    pub not_distinguished: Vec<String>,
    /// Reason why the last re-encoding failed, if it did.
    pub problem: Option<String>,
}

impl Renewing {
    /// Records the targets of the bits of a model's last function.
    pub(super) fn note_targets(&mut self, model: &Model) {
        let Some(measured) = model.measured_targets() else { return };
        let names = model.label_names();
        let name =
            |&label: &u32| names.name(label).map_or_else(|| label.to_string(), str::to_owned);
        self.not_distinguished = measured.not_distinguished.iter().map(name).collect();
        self.measured_targets = Some(measured);
    }
}

/// Quality of search, measured in the background: after each re-encoding, and from time to time
/// while items change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Quality {
    /// Of the labelled items among a query's ten nearest, the share that have a label of the query,
    /// averaged over all queries. Queries are labelled items of the store, each searched for among
    /// all other items. Queries that find no labelled item do not count.
    pub precision_at_10: Option<f64>,
    /// Mean of the precision over the classes, where the precision of a class is the mean over its
    /// queries. A rare class counts as much as a frequent one.
    pub precision_at_10_per_class: Option<f64>,
    /// Number of queries that the precision is averaged over.
    pub queries: usize,
    /// Whether the queries are held-out items or learned ones.
    pub measured_on: Option<MeasuredOn>,
    /// Estimated number of held-out items.
    pub held_out_items: usize,
    /// Time when the precision was measured, in seconds since 1970.
    pub measured_at: Option<f64>,
    /// Reason why the precision is unavailable, if it is.
    pub unmeasured: Option<&'static str>,
    /// Share of the items in a sample that have the most frequent code, measured with the
    /// precision. A value close to 1 means that the codes have collapsed: search cannot distinguish
    /// items.
    pub same_code: Option<f64>,
}

/// Items that the precision is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MeasuredOn {
    /// Held-out items, which the store never learns: the precision is about the same for new items.
    HeldOut,
    /// Sample of all labelled items, used if fewer than 30 labelled items are held out. Most items
    /// of the sample were learned, so the precision is lower for new items.
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
    /// Returns the quality of a store that was not yet measured.
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

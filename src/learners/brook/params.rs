//! The parameters, each a number or a rule that finds it.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::kernel::Gram;
use crate::{Labels, Result};

/// The widest sum of products that is kept: 2 GB, and twice that again while it is solved.
pub(super) const MAX_WIDTH: usize = 16_384;

/// Number of classes that take part in the search for codes: the most frequent.
pub(super) const MOST_CLASSES: usize = 1024;

/// How many times the anchors of the warm-up there may be in the end, where they follow the stream.
pub(super) const MOST_TIMES: usize = 2;

/// The parameters of brook. What is [`Choice::Auto`] is found from the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What vectors are mapped by before they are learned.
    pub lift: LiftBy,
    /// Number of the stream's first rows that become anchors of the lift; fewer if the warm-up is shorter. Rows with labels
    /// come before others. Automatic: `300 sqrt(C)` for `C` classes among the first 3,000 rows with labels, from 3,000 to 6,000, and within [`memory`](Self::memory).
    /// The warm-up has the same number of rows, unless another is given. Twice the number of anchors takes four times the
    /// memory and, for each row, three times the time.
    pub anchors: Choice<usize>,
    /// Bytes that learning may take, by which an automatic number of anchors and the number of labels are bounded.
    pub memory: u64,
    /// Whether rows become anchors, too, when many come whose labels the first rows did not have, up to as
    /// many again. In a stream that is mixed none do.
    pub follow: bool,
    /// How fast similarity to an anchor falls with distance. By itself: one over the mean squared
    /// distance between anchors.
    pub gamma: Choice,
    /// How exactly similarity to anchors is computed.
    pub precision: Precision,
    /// How much large weights are punished. By itself: the mean squared length of the centred
    /// vectors, times 1 without a lift and 0.0005 with one.
    pub ridge: Choice,
    /// How much bits are preferred that vectors can tell, over codes that lie far apart. By itself:
    /// `60 (1 - e) / C`, at most 0.6, where `e` is the share of the classes' variance that the vectors
    /// explain and `C` the number of classes, with rare ones counting less.
    pub fit_weight: Choice,
    /// How much near codes are driven apart more than far ones: `r` above.
    pub repulsion: f64,
    /// The share of bits that keep what is near by the vectors themselves, and not labels: the last
    /// bits of a code. By itself: a third of the bits beyond `5 sqrt(C)`, for `C` classes, with rare
    /// ones counting less and those of rows with several labels more; from 1/32 to 1/4 of all.
    pub detail: Choice,
    /// What bits are made of.
    pub targets: Targets,
    /// What the search for codes starts from.
    pub start: StartFrom,
    /// With `start = steady`: after how many rows the codes in use are renewed. 0: whenever the
    /// stream has doubled.
    pub renew_every: u64,
    /// After how many rows a row counts half. 0: never.
    pub half_life: f64,
}

/// What vectors are mapped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LiftBy {
    /// Nothing: codes are linear in the vectors.
    None,
    /// Similarity to anchors: [`Lift::Rbf`](crate::Lift::Rbf).
    Rbf,
}

/// How exactly similarity to anchors is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Precision {
    /// `compact` where it saves much: from 131,072 products of a vector with the anchors on.
    #[default]
    Auto,
    /// In single precision and all dimensions: [`Lift::Rbf`](crate::Lift::Rbf).
    Full,
    /// By whole numbers, in the directions that hold 93 % of the first rows if 128 or 256 do:
    /// [`Lift::Compact`](crate::Lift::Compact). Several times as fast, and as good. (Vectors whose
    /// squared length is beyond single precision are lifted in full.)
    Compact,
}

/// What bits are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Targets {
    /// Whatever finds most items that share a label, on a sample of the rows learned.
    #[default]
    Auto,
    /// Codes of classes; of rows with several labels, their presence or mixtures of them.
    Classes,
    /// Directions of the vectors along which labels differ most, compared with the rows of a label. For many labels with few
    /// rows each, and for labels that are not known yet. Linear, whatever the lift.
    Discriminant,
    /// Of one label each whether a row has it, by thresholds between rows with the label and rows without it. For rare labels.
    Presence,
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Targets::Auto => "auto",
            Targets::Classes => "classes",
            Targets::Discriminant => "discriminant",
            Targets::Presence => "presence",
        })
    }
}

/// What the search for codes starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartFrom {
    /// The seed. The function depends on what was learned, and on nothing else: not on its order,
    /// nor on how it was cut into batches.
    Seeded,
    /// The codes in use, which change only for a gain worth the change: a function that is asked
    /// for again later leaves most codes as they are.
    Steady,
}

/// A number that is given, or found from the data: a number or `"auto"` in files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Choice<T = f64> {
    /// Found from the data.
    #[default]
    Auto,
    /// Given.
    Fixed(T),
}

impl<T> Choice<T> {
    pub(super) fn or(self, rule: impl FnOnce() -> T) -> T {
        match self {
            Choice::Auto => rule(),
            Choice::Fixed(value) => value,
        }
    }

    pub(super) fn check(self, check: impl FnOnce(T) -> Result<()>) -> Result<()> {
        match self {
            Choice::Auto => Ok(()),
            Choice::Fixed(value) => check(value),
        }
    }
}

impl<T: Serialize> Serialize for Choice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Choice::Auto => serializer.serialize_str("auto"),
            Choice::Fixed(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Number + Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form<T> {
            Number(T),
            Text(String),
        }
        match Form::deserialize(deserializer) {
            Ok(Form::Number(value)) => Ok(Choice::Fixed(value)),
            Ok(Form::Text(text)) if text == "auto" => Ok(Choice::Auto),
            _ => Err(de::Error::custom(format_args!("expected {} or auto", T::NAME))),
        }
    }
}

/// A kind of number, with its name in error messages.
trait Number {
    const NAME: &'static str;
}

impl Number for f64 {
    const NAME: &'static str = "a number";
}

impl Number for usize {
    const NAME: &'static str = "an integer of 0 or more";
}

/// Number of the stream's first rows whose classes decide the number of anchors.
pub(super) const FIRST_ROWS: usize = 3_000;

/// Most rows that the warm-up has where few of them have labels, and the part of the memory that they may take.
const MOST_WARMUP: usize = 30_000;
const MEMORY_OF_WARMUP: u64 = 8;

/// Largest number of anchors that is chosen automatically.
const MOST_ANCHORS: usize = 6_000;

/// Anchors for each root of the number of classes.
const PER_ROOT: f64 = 300.0;

impl Params {
    /// Returns the number of anchors, for a stream whose first rows have these labels and codes of `bits` bits.
    pub(super) fn anchors_for(&self, first: Option<Labels<'_>>, bits: usize) -> usize {
        self.anchors.or(|| {
            let labelled = first.iter().flat_map(|labels| labels.iter());
            let labelled = labelled.filter(|labels| !labels.is_empty()).take(FIRST_ROWS);
            let seen: HashSet<u32> = labelled.flatten().copied().collect();
            let wanted = (PER_ROOT * (seen.len() as f64).sqrt()) as usize;
            wanted.clamp(FIRST_ROWS, MOST_ANCHORS).min(self.most_anchors(seen.len(), bits))
        })
    }

    /// Returns how many rows of `dim` numbers the warm-up needs to have enough rows with labels, by its first rows.
    pub(super) fn rows_with_labels(&self, first: Labels<'_>, dim: usize) -> usize {
        let labelled = first.iter().filter(|labels| !labels.is_empty()).count();
        if 2 * labelled >= first.len() {
            return first.len();
        }
        let most = (self.memory / MEMORY_OF_WARMUP) as usize / (size_of::<f32>() * dim);
        let wanted = FIRST_ROWS * first.len() / labelled.max(1);
        wanted.min(most).min(MOST_WARMUP).max(first.len())
    }

    /// Returns the largest number of anchors with which classes can be learned, and solved for codes of `bits` bits, within
    /// the memory.
    pub(super) fn most_anchors(&self, classes: usize, bits: usize) -> usize {
        let fits = |anchors: usize| {
            let numbers = Gram::numbers(anchors) + numbers_to_solve(anchors, classes, bits);
            8 * numbers as u64 <= self.memory
        };
        // The first one that does not fit, by halving.
        let (mut low, mut high) = (1, MAX_WIDTH + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// Returns how many numbers solving takes besides the sums.
pub(super) fn numbers_to_solve(width: usize, classes: usize, bits: usize) -> usize {
    let right_sides = classes.min(MOST_CLASSES).max(bits);
    // The sums with the rows that wait, their factor, and the right sides with their solutions.
    2 * Gram::numbers(width) + 3 * width * right_sides
}

impl Default for Params {
    fn default() -> Self {
        Params {
            lift: LiftBy::Rbf,
            anchors: Choice::Auto,
            memory: 1 << 30,
            follow: true,
            gamma: Choice::Auto,
            precision: Precision::Auto,
            ridge: Choice::Auto,
            fit_weight: Choice::Auto,
            repulsion: 6.0,
            detail: Choice::Auto,
            targets: Targets::Auto,
            start: StartFrom::Seeded,
            renew_every: 0,
            half_life: 0.0,
        }
    }
}

//! The parameters of brook: numbers, and rules that derive them from the data.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::kernel::Gram;
use crate::{Labels, Result};

/// Largest supported width of the sums. Their Gram matrix then takes 2 GB, and solving takes twice
/// as much again.
pub(super) const MAX_WIDTH: usize = 16_384;

/// Number of classes whose codes are optimized: the most frequent ones.
pub(super) const MOST_CLASSES: usize = 1024;

/// Largest number of anchors, relative to those of the warm-up, if anchors follow the stream.
pub(super) const MOST_TIMES: usize = 2;

/// The parameters of brook. Those that are [`Choice::Auto`] are derived from the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Mapping of the vectors before they are learned.
    pub lift: LiftBy,
    /// Number of the stream's first rows that become anchors of the lift; fewer if the warm-up is
    /// shorter. Rows with labels have priority over others. Automatic: `300 sqrt(C)` for `C`
    /// classes among the first 3,000 rows with labels, from 3,000 to 6,000, and within
    /// [`memory`](Self::memory). The warm-up has the same number of rows, unless its length is
    /// given. Doubling the number of anchors takes four times the memory and, for each row, three
    /// times the time.
    pub anchors: Choice<usize>,
    /// Memory limit for learning, in bytes. It bounds an automatic number of anchors and the number
    /// of labels.
    pub memory: u64,
    /// Whether anchors are added, up to twice their initial number, when many rows arrive with
    /// labels that the first rows did not have. In a shuffled stream no anchors are added.
    pub follow: bool,
    /// Rate at which similarity to an anchor falls with distance. Automatic: one over the mean
    /// squared distance between anchors.
    pub gamma: Choice,
    /// Precision of the similarities to anchors.
    pub precision: Precision,
    /// Penalty on large weights. Automatic: the mean squared length of the centred vectors, times 1
    /// without a lift and 0.0005 with one.
    pub ridge: Choice,
    /// Preference for bits that the vectors can predict, over codes that are far apart. Automatic:
    /// `60 (1 - e) / C`, at most 0.6, where `e` is the share of the classes' variance that the
    /// vectors explain and `C` the number of classes, with rare classes counting less.
    pub fit_weight: Choice,
    /// Strength with which near codes are driven apart more than distant ones: `r` in the objective
    /// `J` of brook.
    pub repulsion: f64,
    /// Share of the bits that preserve similarity of the vectors instead of labels; they are the
    /// last bits of a code. Automatic: a third of the bits beyond `5 sqrt(C)`, for `C` classes,
    /// from 1/32 to 1/4 of all bits. Rare classes count less, and classes of rows with several
    /// labels more.
    pub detail: Choice,
    /// Targets that the bits are made of.
    pub targets: Targets,
    /// Starting point of the search for codes.
    pub start: StartFrom,
    /// With `start = steady`: number of rows after which the codes in use are re-encoded. 0:
    /// whenever the stream has doubled.
    pub renew_every: u64,
    /// Number of later rows after which a row counts half. 0: never.
    pub half_life: f64,
}

/// Mapping of the vectors before they are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LiftBy {
    /// No mapping: codes are linear in the vectors.
    None,
    /// Similarity to anchors: [`Lift::Rbf`](crate::Lift::Rbf).
    Rbf,
}

/// Precision of the similarities to anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Precision {
    /// `compact` where it saves much: if a vector has at least 131,072 products with the anchors.
    #[default]
    Auto,
    /// Single precision and all dimensions: [`Lift::Rbf`](crate::Lift::Rbf).
    Full,
    /// Integer arithmetic, in 128 or 256 directions if these hold 93 % of the first rows:
    /// [`Lift::Compact`](crate::Lift::Compact). Several times as fast, and as good. Vectors whose
    /// squared length exceeds single precision are lifted in full precision.
    Compact,
}

/// Targets that the bits are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Targets {
    /// The target that scores highest when searching a sample of the learned rows.
    #[default]
    Auto,
    /// Codes of classes; for rows with several labels, presence bits or mixtures of the labels.
    Classes,
    /// Directions of the vectors along which labels differ most, relative to the differences within
    /// a label. For many labels with few rows each, and for labels that are not known yet. Linear,
    /// whatever the lift.
    Discriminant,
    /// Presence of one label per bit, by thresholds between rows with the label and rows without
    /// it. For rare labels.
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

/// Starting point of the search for codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartFrom {
    /// The seed. The function depends only on the learned rows, not on their order or on how the
    /// stream was split into batches.
    Seeded,
    /// The codes in use, which change only if the gain justifies the change. A function computed
    /// later in the stream therefore leaves most codes as they are.
    Steady,
}

/// A value that is given or derived from the data. In files: a number or `"auto"`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Choice<T = f64> {
    /// Derived from the data.
    #[default]
    Auto,
    /// A given value.
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

/// Largest number of rows of the warm-up if few rows have labels. Their size is also bounded by the
/// memory limit divided by `MEMORY_OF_WARMUP`.
const MOST_WARMUP: usize = 30_000;
const MEMORY_OF_WARMUP: u64 = 8;

/// Largest number of anchors that is chosen automatically.
const MOST_ANCHORS: usize = 6_000;

/// Number of anchors per square root of the number of classes.
const PER_ROOT: f64 = 300.0;

impl Params {
    /// Returns the number of anchors, for a stream whose first rows have these labels and codes of
    /// `bits` bits.
    pub(super) fn anchors_for(&self, first: Option<Labels<'_>>, bits: usize) -> usize {
        self.anchors.or(|| {
            let labelled = first.iter().flat_map(|labels| labels.iter());
            let labelled = labelled.filter(|labels| !labels.is_empty()).take(FIRST_ROWS);
            let seen: HashSet<u32> = labelled.flatten().copied().collect();
            let wanted = (PER_ROOT * (seen.len() as f64).sqrt()) as usize;
            wanted.clamp(FIRST_ROWS, MOST_ANCHORS).min(self.most_anchors(seen.len(), bits))
        })
    }

    /// Returns the length of warm-up that has enough rows with labels, extrapolated from the
    /// `first` rows of `dim` numbers.
    pub(super) fn rows_with_labels(&self, first: Labels<'_>, dim: usize) -> usize {
        let labelled = first.iter().filter(|labels| !labels.is_empty()).count();
        if 2 * labelled >= first.len() {
            return first.len();
        }
        let most = (self.memory / MEMORY_OF_WARMUP) as usize / (size_of::<f32>() * dim);
        let wanted = FIRST_ROWS * first.len() / labelled.max(1);
        wanted.min(most).min(MOST_WARMUP).max(first.len())
    }

    /// Returns the largest number of anchors for which learning `classes` classes and solving for
    /// codes of `bits` bits stays within the memory limit.
    pub(super) fn most_anchors(&self, classes: usize, bits: usize) -> usize {
        let fits = |anchors: usize| {
            let numbers = Gram::numbers(anchors) + numbers_to_solve(anchors, classes, bits);
            8 * numbers as u64 <= self.memory
        };
        // Binary search for the smallest number that does not fit.
        let (mut low, mut high) = (1, MAX_WIDTH + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// Returns the number of values that solving needs in addition to the sums.
pub(super) fn numbers_to_solve(width: usize, classes: usize, bits: usize) -> usize {
    let right_sides = classes.min(MOST_CLASSES).max(bits);
    // The sums with the buffered rows, their factor, and the right-hand sides with their solutions.
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

//! The parameters, each a number or a rule that finds it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Result;

/// How many times the anchors of the warm-up there may be in the end, where they follow the stream.
pub(super) const MOST_TIMES: usize = 2;

/// The parameters of brook. What is [`Choice::Auto`] is found from the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What vectors are mapped by before they are learned.
    pub lift: LiftBy,
    /// How many of the stream's first rows become anchors of the lift; fewer if the warm-up is
    /// shorter.
    pub anchors: usize,
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
pub enum Choice {
    /// Found from the data.
    #[default]
    Auto,
    /// Given.
    Fixed(f64),
}

impl Choice {
    pub(super) fn or(self, rule: impl FnOnce() -> f64) -> f64 {
        match self {
            Choice::Auto => rule(),
            Choice::Fixed(value) => value,
        }
    }

    pub(super) fn check(self, check: impl FnOnce(f64) -> Result<()>) -> Result<()> {
        match self {
            Choice::Auto => Ok(()),
            Choice::Fixed(value) => check(value),
        }
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Choice::Auto => serializer.serialize_str("auto"),
            Choice::Fixed(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Text(String),
        }
        match Form::deserialize(deserializer) {
            Ok(Form::Number(value)) => Ok(Choice::Fixed(value)),
            Ok(Form::Text(text)) if text == "auto" => Ok(Choice::Auto),
            _ => Err(de::Error::custom("expected a number or auto")),
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            lift: LiftBy::Rbf,
            anchors: 3000,
            follow: true,
            gamma: Choice::Auto,
            precision: Precision::Auto,
            ridge: Choice::Auto,
            fit_weight: Choice::Auto,
            repulsion: 6.0,
            detail: Choice::Auto,
            start: StartFrom::Seeded,
            renew_every: 0,
            half_life: 0.0,
        }
    }
}

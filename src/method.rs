//! [`Method`]: all methods, their parameters, and their learners.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::labels::LabelNames;
use crate::learner::{BuiltIn, Loaded, MeasuredTargets, Start, TrainingCodes};
use crate::learners::{
    adapthash, brook, bsodh, frosh, hcoh, hmoh, itq, lsh, mihash, okh, osh, sketchhash,
};
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, HashParts, Labels, Learner, Result, Step};

/// Defines [`Method`] and the learners behind it from one list.
macro_rules! methods {
    ($($(#[doc = $doc:literal])* $variant:ident($module:ident) => $learner:ident,)*) => {
        /// A method with its parameters: a published method, or `brook`, the library's own.
        ///
        /// In JSON and TOML a method is one flat table, tagged by its name. Omitted parameters have
        /// the values of the paper; unknown parameters are rejected:
        ///
        /// ```
        /// use hashbrook::Method;
        ///
        /// let method: Method = serde_json::from_str(r#"{ "method": "bsodh", "ridge": 0.3 }"#)?;
        /// assert_eq!(method.name(), "bsodh");
        /// let misspelt = r#"{ "method": "bsodh", "rigde": 0.3 }"#;
        /// assert!(serde_json::from_str::<Method>(misspelt).is_err());
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method", rename_all = "lowercase")]
        #[non_exhaustive]
        pub enum Method {
            $($(#[doc = $doc])* $variant($module::Params),)*
        }

        impl Method {
            /// Returns every method with the parameters of its paper.
            pub fn all() -> Vec<Method> {
                vec![$(Method::$variant($module::Params::default()),)*]
            }

            /// Returns the method's name, as in files and on the command line.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Method::$variant(_) => $module::$learner::NAME,)*
                }
            }

            /// Returns whether the method learns from labels and requires them.
            pub fn is_supervised(&self) -> bool {
                match self {
                    $(Method::$variant(_) => $module::$learner::SUPERVISED,)*
                }
            }

            /// Returns whether the method must see the first rows of a stream before it can learn.
            pub(crate) fn warms_up(&self) -> bool {
                match self {
                    $(Method::$variant(_) => $module::$learner::WARMS_UP,)*
                }
            }

            /// Returns the default number of warm-up rows. `brook` may warm up with more rows if
            /// these have many labels: see [`anchors`](crate::learners::brook::Params::anchors).
            pub fn warmup(&self) -> usize {
                match self {
                    $(Method::$variant(params) => $module::$learner::warmup(params),)*
                }
            }

            /// Returns the default total number of warm-up rows, if the first
            /// [`warmup`](Method::warmup) rows have these labels. `shape` is the dimension and the
            /// number of bits.
            pub(crate) fn warmup_after(&self, first: Labels<'_>, shape: (usize, usize)) -> usize {
                match self {
                    $(Method::$variant(params) => $module::$learner::warmup_after(params, first, shape),)*
                }
            }

            pub(crate) fn start_learner(&self, start: Start) -> Result<AnyLearner> {
                self.check(&start)?;
                Ok(match self {
                    $(Method::$variant(params) => {
                        AnyLearner::$variant($module::$learner::start(params, start))
                    })*
                })
            }

            fn check(&self, start: &Start) -> Result<()> {
                match self {
                    $(Method::$variant(params) => $module::$learner::check(params, start),)*
                }
            }

            pub(crate) fn load_learner(&self, start: Start, state: &mut Tensors) -> Loaded<AnyLearner> {
                self.check(&start).map_err(|error| error.to_string())?;
                Ok(match self {
                    $(Method::$variant(params) => {
                        AnyLearner::$variant($module::$learner::load(params, start, state)?)
                    })*
                })
            }
        }

        /// Any built-in learner.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyLearner {
            $($variant($module::$learner),)*
        }

        impl AnyLearner {
            pub(crate) fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.learn(batch),)*
                }
            }

            pub(crate) fn hash_parts_and_directions(&self) -> Result<(HashParts, Option<usize>)> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.hash_parts_and_directions(),)*
                }
            }

            pub(crate) fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.warm_up(first),)*
                }
            }

            /// Adds everything that `other` learned. Fails if the two are of different methods.
            pub(crate) fn merge(
                &mut self,
                other: &AnyLearner,
                translate: &dyn Fn(u32) -> u32,
            ) -> Result<()> {
                match (self, other) {
                    $((AnyLearner::$variant(learner), AnyLearner::$variant(other)) => {
                        learner.merge(other, translate)
                    })*
                    _ => Err(Error::NotMergeable { problem: "their methods differ".to_owned() }),
                }
            }

            pub(crate) fn unlearn(
                &mut self,
                batch: Batch<'_>,
                name: &dyn Fn(u32) -> String,
            ) -> Result<()> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.unlearn(batch, name),)*
                }
            }

            pub(crate) fn relabel(
                &mut self,
                features: Features<'_>,
                old_and_new: (Labels<'_>, Labels<'_>),
                name: &dyn Fn(u32) -> String,
            ) -> Result<()> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.relabel(features, old_and_new, name),)*
                }
            }

            pub(crate) fn sibling(&self) -> Result<AnyLearner> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.sibling().map(AnyLearner::$variant),)*
                }
            }

            pub(crate) fn with_bits(&self, bits: usize) -> Result<AnyLearner> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.with_bits(bits).map(AnyLearner::$variant),)*
                }
            }

            pub(crate) fn measured_targets(&self) -> Option<MeasuredTargets> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.measured_targets(),)*
                }
            }

            pub(crate) fn training_codes(&self) -> Option<TrainingCodes> {
                match self {
                    $(AnyLearner::$variant(learner) => learner.training_codes(),)*
                }
            }

            pub(crate) fn is_warm(&self) -> bool {
                match self {
                    $(AnyLearner::$variant(learner) => learner.is_warm(),)*
                }
            }

            pub(crate) fn name_labels(&mut self, names: &LabelNames) {
                match self {
                    $(AnyLearner::$variant(learner) => learner.name_labels(names),)*
                }
            }

            pub(crate) fn save(&self, state: &mut Tensors) {
                match self {
                    $(AnyLearner::$variant(learner) => learner.save(state),)*
                }
            }

            pub(crate) fn save_learned(&self, state: &mut Tensors) {
                match self {
                    $(AnyLearner::$variant(learner) => learner.save_learned(state),)*
                }
            }
        }
    };
}

methods! {
    /// The library's own method: it learns from the whole stream at once, through sums.
    Brook(brook) => Brook,
    /// Balanced similarity for online discrete hashing (AAAI 2019).
    Bsodh(bsodh) => Bsodh,
    /// Online kernel hashing (IJCAI 2013).
    Okh(okh) => Okh,
    /// Online sketching hashing (CVPR 2015), without labels.
    SketchHash(sketchhash) => SketchHash,
    /// Faster online sketching hashing (UAI 2017), without labels.
    Frosh(frosh) => Frosh,
    /// Adaptive hashing (ICCV 2015).
    AdaptHash(adapthash) => AdaptHash,
    /// Online supervised hashing (CVIU 2017).
    Osh(osh) => Osh,
    /// Hashing with mutual information (ICCV 2017).
    MiHash(mihash) => MiHash,
    /// Hadamard codebook learning (ACM MM 2018).
    Hcoh(hcoh) => Hcoh,
    /// Hadamard matrix guided online hashing (IJCV 2020).
    Hmoh(hmoh) => Hmoh,
    /// Iterative quantization (TPAMI 2013), without labels, from the first rows alone.
    Itq(itq) => Itq,
    /// Random projections, which learn nothing.
    Lsh(lsh) => Lsh,
}

/// Returns a readable description of a parameter's expected value, from the message of a parser.
fn expectation(message: &str) -> String {
    let Some((_, expected)) = message.split_once("expected ") else { return message.to_owned() };
    let expected = expected.replace('`', "").replace("one of ", "");
    let expected = match expected.as_str() {
        "usize" | "u64" | "u32" => "a whole number of 0 or more",
        "f64" | "f32" => "a number",
        "a boolean" => "true or false",
        other => other,
    };
    match expected.rsplit_once(", ") {
        Some((others, last)) => format!("expected {others} or {last}"),
        None => format!("expected {expected}"),
    }
}

/// The parameters that the papers use on their data sets.
const PRESETS: &str = include_str!("presets.json");

impl Method {
    /// Returns a method by its name, with the parameters of its paper.
    ///
    /// # Errors
    /// When the method does not exist.
    pub fn named(name: &str) -> Result<Method> {
        let all = Method::all();
        let known = all.iter().map(Method::name).collect::<Vec<_>>().join(", ");
        all.into_iter()
            .find(|method| method.name() == name)
            .ok_or(Error::UnknownMethod { name: name.to_owned(), known })
    }

    /// Returns the names of the data sets with presets.
    pub fn presets() -> Vec<String> {
        Method::preset_table().into_iter().map(|(name, _)| name).collect()
    }

    fn preset_table() -> serde_json::Map<String, Value> {
        serde_json::from_str(PRESETS).expect("the presets are part of the library, and tested")
    }

    /// Sets the method's parameters to those that the papers use on a data set. If the method has
    /// no preset for the data set, its parameters stay unchanged.
    ///
    /// # Errors
    /// When no method has a preset for the data set.
    pub fn preset(&mut self, dataset: &str) -> Result<()> {
        let table = Method::preset_table();
        let Some(presets) = table.get(dataset) else {
            let known = Method::presets().join(", ");
            return Err(Error::UnknownPreset { name: dataset.to_owned(), known });
        };
        let Some(Value::Object(parameters)) = presets.get(self.name()) else { return Ok(()) };
        parameters.iter().try_for_each(|(name, value)| self.set_value(name, value.clone()))
    }

    /// Sets one parameter from a string, as a user would write it.
    ///
    /// ```
    /// use hashbrook::Method;
    ///
    /// let mut method = Method::named("bsodh")?;
    /// method.set("ridge", "0.3")?;
    /// method.set("order", "alternating")?;
    /// assert!(method.set("rigde", "0.3").is_err());
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the method has no such parameter, or the value has the wrong type. The range of the
    /// value is checked by [`start`](Method::start).
    pub fn set(&mut self, parameter: &str, value: &str) -> Result<()> {
        // Numbers, true and false are parsed; any other value is a string.
        let value = match serde_json::from_str::<Value>(value) {
            Ok(value) if value.is_number() || value.is_boolean() => value,
            _ => Value::String(value.to_owned()),
        };
        self.set_value(parameter, value)
    }

    /// Sets one parameter from a JSON value. See [`set`](Method::set).
    ///
    /// # Errors
    /// As for [`set`](Method::set).
    pub fn set_value(&mut self, parameter: &str, value: Value) -> Result<()> {
        let mut table = self.table();
        let Some(slot) = table.get_mut(parameter).filter(|_| parameter != "method") else {
            return Err(Error::UnknownParameter {
                method: self.name(),
                name: parameter.to_owned(),
                known: self.parameters().join(", "),
            });
        };
        let found = value.to_string();
        *slot = value;
        match serde_json::from_value(Value::Object(table.clone())) {
            Ok(method) => *self = method,
            Err(problem) => {
                // The parser lists the valid names only in its error for an unknown name, so it
                // gets an empty name here.
                let name = Value::String(String::new());
                let problem = match table.insert(parameter.to_owned(), name) {
                    Some(Value::String(_)) => problem,
                    _ => match serde_json::from_value::<Method>(Value::Object(table)) {
                        Err(other) if other.to_string().contains("variant") => other,
                        _ => problem,
                    },
                };
                let (name, problem) = (parameter.to_owned(), expectation(&problem.to_string()));
                return Err(Error::ParameterValue { name, found, problem });
            }
        }
        Ok(())
    }

    /// Returns the names of the method's parameters.
    pub fn parameters(&self) -> Vec<String> {
        self.table().into_iter().map(|(name, _)| name).filter(|name| name != "method").collect()
    }

    /// Returns the method and all its parameters as one flat JSON table.
    pub(crate) fn table(&self) -> serde_json::Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(table)) => table,
            // A struct of numbers and names always serializes to a table.
            _ => serde_json::Map::new(),
        }
    }
}

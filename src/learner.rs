//! [`Learner`], the trait behind every method, and [`Method`], the methods there are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::learners::bsodh;
use crate::{Batch, Error, HashFunction, Model, Result, Setup};

/// Learns a hash function from a stream, batch by batch.
///
/// Methods of one's own implement this; those that come with the library are chosen by
/// [`Method`] and run in a [`Model`].
pub trait Learner: Send + Sync {
    /// Updates the learner with the next batch of the stream. A batch that fails leaves the
    /// learner as it was.
    ///
    /// # Errors
    /// When the batch does not fit the learner or cannot be learned.
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step>;

    /// Freezes the hash function learned so far; usable before the first batch.
    fn hash_function(&self) -> HashFunction;
}

/// What one call of [`Learner::learn`] did, for those who watch. Methods that do not iterate
/// leave it at its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Passes of the inner optimisation over the batch's codes.
    pub iterations: usize,
    /// How many bits of the batch's codes these passes changed.
    pub changed_bits: u64,
}

impl std::ops::AddAssign for Step {
    fn add_assign(&mut self, other: Step) {
        self.iterations += other.iterations;
        self.changed_bits += other.changed_bits;
    }
}

/// A published method with its parameters.
///
/// In JSON and TOML it is one flat table, tagged by name; what is left out has the value of the
/// paper, and what is not known is refused:
///
/// ```
/// use hashbrook::Method;
///
/// let method: Method = serde_json::from_str(r#"{ "method": "bsodh", "ridge": 0.3 }"#)?;
/// assert_eq!(method.name(), "bsodh");
/// assert!(serde_json::from_str::<Method>(r#"{ "method": "bsodh", "rigde": 0.3 }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Method {
    /// Balanced similarity for online discrete hashing (AAAI 2019).
    Bsodh(bsodh::Params),
}

impl Method {
    /// Every method with the parameters of its paper.
    pub fn all() -> Vec<Method> {
        vec![Method::Bsodh(bsodh::Params::default())]
    }

    /// A method by its name, with the parameters of its paper.
    ///
    /// # Errors
    /// When there is no such method.
    pub fn named(name: &str) -> Result<Method> {
        let all = Method::all();
        let known = all.iter().map(Method::name).collect::<Vec<_>>().join(", ");
        all.into_iter()
            .find(|method| method.name() == name)
            .ok_or(Error::UnknownMethod { name: name.to_owned(), known })
    }

    /// The method's name, as in files and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Bsodh(_) => bsodh::NAME,
        }
    }

    /// Sets one parameter from text, as a user would write it.
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
    /// When the method has no such parameter, or the value is not of its kind. Whether the value
    /// is in range is checked by [`start`](Method::start).
    pub fn set(&mut self, parameter: &str, value: &str) -> Result<()> {
        // Numbers, true and false are read as such, all else as text.
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
        *self = serde_json::from_value(Value::Object(table)).map_err(|problem| {
            // The error names the alternatives or the type; the parameter it does not name.
            Error::ParameterValue {
                name: parameter.to_owned(),
                found,
                problem: problem.to_string(),
            }
        })?;
        Ok(())
    }

    /// The names of the method's parameters.
    pub fn parameters(&self) -> Vec<String> {
        self.table().into_iter().map(|(name, _)| name).filter(|name| name != "method").collect()
    }

    /// The method and all its parameters as one flat JSON table.
    pub fn table(&self) -> serde_json::Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(table)) => table,
            // A struct of numbers and names always serialises to a table.
            _ => serde_json::Map::new(),
        }
    }

    /// Whether the method learns from labels and cannot do without them.
    pub fn is_supervised(&self) -> bool {
        match self {
            Method::Bsodh(_) => true,
        }
    }

    /// Starts learning vectors of `dim` dimensions into codes of `bits` bits, centred on the
    /// first rows of the stream and scaled to unit length.
    ///
    /// # Errors
    /// When a parameter, the dimension or the number of bits is out of range.
    pub fn start(&self, dim: usize, bits: usize, seed: u64) -> Result<Model> {
        self.start_with(dim, bits, seed, Setup::default())
    }

    /// Starts learning with a preparation of one's own choice. See [`start`](Method::start).
    ///
    /// # Errors
    /// As for [`start`](Method::start), and when the setup does not fit.
    pub fn start_with(&self, dim: usize, bits: usize, seed: u64, setup: Setup) -> Result<Model> {
        Model::start(self.clone(), dim, bits, seed, setup)
    }
}

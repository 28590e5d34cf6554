//! Labels of Python as labels of the library.

use std::collections::HashMap;

use hashbrook::{LabelList, LabelNames};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::exception;

/// Labels as they were given, each distinct one once. They go by their texts, as in the command: 7 and
/// "7" are one label.
pub struct Given {
    texts: Vec<String>,
    /// For each label given, which of the texts it is.
    places: Vec<u32>,
    /// Where the labels of each row end; `None` if each has one.
    ends: Option<Vec<usize>>,
}

impl Given {
    /// From a list of strings or an array of int64, and where the labels of each row end.
    ///
    /// # Errors
    /// When they are neither.
    pub fn new(
        labels: &Bound<'_, PyAny>,
        ends: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Given> {
        let ends = ends.map(|ends| ends.as_array().iter().map(|&end| end as usize).collect());
        let mut given = Given { texts: Vec::new(), places: Vec::new(), ends };
        if let Ok(numbers) = labels.extract::<PyReadonlyArray1<'_, i64>>() {
            let mut seen = HashMap::new();
            for &number in numbers.as_array() {
                let place = *seen.entry(number).or_insert_with(|| {
                    given.texts.push(number.to_string());
                    given.texts.len() as u32 - 1
                });
                given.places.push(place);
            }
            return Ok(given);
        }
        let mut seen: HashMap<String, u32> = HashMap::new();
        for label in labels.try_iter()? {
            let label = label?;
            let text = label.cast::<PyString>().map_err(|_| {
                PyTypeError::new_err(format!("labels are texts or whole numbers, not {label:?}"))
            })?;
            let text = text.to_cow()?;
            let place = match seen.get(text.as_ref()) {
                Some(&place) => place,
                None => {
                    let place = given.texts.len() as u32;
                    given.texts.push(text.clone().into_owned());
                    seen.insert(text.into_owned(), place);
                    place
                }
            };
            given.places.push(place);
        }
        Ok(given)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.as_ref().map_or(self.places.len(), Vec::len)
    }

    /// With their numbers; texts that have none are given one.
    ///
    /// # Errors
    /// When the ends do not ascend.
    pub fn number(self, names: &mut LabelNames) -> PyResult<LabelList> {
        let numbers: Vec<u32> = self.texts.iter().map(|text| names.id(text)).collect();
        let values = self.places.iter().map(|&place| numbers[place as usize]).collect();
        match self.ends {
            None => Ok(LabelList::single(values)),
            Some(ends) => LabelList::sets(ends, values).map_err(exception),
        }
    }

    /// The labels of each row, by name.
    ///
    /// # Errors
    /// When the ends do not ascend.
    pub fn rows(self) -> PyResult<Vec<Vec<String>>> {
        let mut names = LabelNames::new();
        let labels = self.number(&mut names)?;
        let text = |&label: &u32| names.name(label).unwrap_or_default().to_owned();
        Ok(labels.view().iter().map(|row| row.iter().map(text).collect()).collect())
    }

    /// Whether all of them have numbers.
    pub fn are_in(&self, names: &LabelNames) -> bool {
        self.texts.iter().all(|text| names.find(text).is_some())
    }

    /// Their numbers in an index.
    ///
    /// # Errors
    /// `ValueError`, when the index has no such label.
    pub fn known(&self, index: &hashbrook::Snapshot) -> PyResult<Vec<u32>> {
        self.texts.iter().map(|text| index.find_label(text).map_err(exception)).collect()
    }
}

/// Labels as the Python part gives them: a list or an array, and where the labels of each row end.
pub type FromPython<'py> = (Bound<'py, PyAny>, Option<PyReadonlyArray1<'py, u64>>);

/// Labels, if there are any.
///
/// # Errors
/// As for [`Given::new`].
pub fn given(labels: Option<FromPython<'_>>) -> PyResult<Option<Given>> {
    labels.map(|(labels, ends)| Given::new(&labels, ends)).transpose()
}

/// All names, in the order of their numbers.
pub fn texts(names: &LabelNames) -> Vec<String> {
    names.iter().map(str::to_owned).collect()
}

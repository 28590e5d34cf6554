//! Conversion of Python labels to the library's labels.

use std::collections::HashMap;

use hashbrook::{LabelList, LabelNames};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::exception;

/// Labels as passed by Python, each distinct label stored once. Labels are compared as strings, as
/// in the command: 7 and "7" are the same label.
pub struct Given {
    texts: Vec<String>,
    /// Position in `texts` of each label passed.
    places: Vec<u32>,
    /// End of the labels of each row; `None` if each row has exactly one label.
    ends: Option<Vec<usize>>,
}

impl Given {
    /// Reads labels, a list of strings or an array of int64, and the end of the labels of each row.
    ///
    /// # Errors
    /// If the labels are neither strings nor int64.
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

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.as_ref().map_or(self.places.len(), Vec::len)
    }

    /// Converts the labels to their numbers in `names`; new strings are added to `names`.
    ///
    /// # Errors
    /// If the ends are not ascending.
    pub fn number(self, names: &mut LabelNames) -> PyResult<LabelList> {
        let numbers: Vec<u32> = self.texts.iter().map(|text| names.id(text)).collect();
        let values = self.places.iter().map(|&place| numbers[place as usize]).collect();
        match self.ends {
            None => Ok(LabelList::single(values)),
            Some(ends) => LabelList::sets(ends, values).map_err(exception),
        }
    }

    /// Returns the labels of each row by name.
    ///
    /// # Errors
    /// If the ends are not ascending.
    pub fn rows(self) -> PyResult<Vec<Vec<String>>> {
        let mut names = LabelNames::new();
        let labels = self.number(&mut names)?;
        let text = |&label: &u32| names.name(label).unwrap_or_default().to_owned();
        Ok(labels.view().iter().map(|row| row.iter().map(text).collect()).collect())
    }

    /// Returns true if `names` contains all labels.
    pub fn are_in(&self, names: &LabelNames) -> bool {
        self.texts.iter().all(|text| names.find(text).is_some())
    }

    /// Returns the numbers of the labels in an index.
    ///
    /// # Errors
    /// `ValueError` if the index does not have a label.
    pub fn known(&self, index: &hashbrook::Snapshot) -> PyResult<Vec<u32>> {
        self.texts.iter().map(|text| index.find_label(text).map_err(exception)).collect()
    }
}

/// Labels as passed by the Python part: a list or an array, and the end of the labels of each row.
pub type FromPython<'py> = (Bound<'py, PyAny>, Option<PyReadonlyArray1<'py, u64>>);

/// Converts optional labels.
///
/// # Errors
/// As for [`Given::new`].
pub fn given(labels: Option<FromPython<'_>>) -> PyResult<Option<Given>> {
    labels.map(|(labels, ends)| Given::new(&labels, ends)).transpose()
}

/// Returns all label names in the order of their numbers.
pub fn texts(names: &LabelNames) -> Vec<String> {
    names.iter().map(str::to_owned).collect()
}

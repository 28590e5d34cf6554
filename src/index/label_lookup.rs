//! Lookup of labels by their names.

use super::snapshot::Snapshot;
use crate::{Error, LabelNames, Result};

/// Number of label names that an error lists.
const LISTED: usize = 20;

impl Snapshot {
    /// Returns the number of a label by its name, or by its number in decimal where labels have no
    /// names. A [`Filter`](crate::Filter) takes this number.
    ///
    /// ```
    /// use hashbrook::{Codes, Index, LabelNames, Labels};
    ///
    /// let mut index = Index::of_codes(8)?;
    /// let mut names = LabelNames::new();
    /// let labels = [names.id("cat"), names.id("dog")];
    /// index.set_label_names(names)?;
    /// index.add_codes(&[1, 2], &Codes::from_bytes(8, &[0, 1])?, Some(Labels::single(&labels)))?;
    ///
    /// assert_eq!(index.find_label("dog")?, 1);
    /// let unknown = index.find_label("cow").unwrap_err();
    /// assert_eq!(unknown.to_string(), "no item has the label \"cow\"; there are: cat, dog");
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownLabel`], when the label does not exist.
    pub fn find_label(&self, name: &str) -> Result<u32> {
        let names = self.label_names();
        let found = match names.is_empty() {
            true => name.parse().ok().filter(|&label| label < self.label_bound()),
            false => names.find(name),
        };
        found.ok_or_else(|| Error::UnknownLabel { name: name.to_owned(), known: self.known() })
    }

    /// Returns the names of labels, to which names of new labels can be added. Labels without names
    /// get their numbers as names, so that no new name gets the number of a label in use.
    ///
    /// # Errors
    /// When some labels have names and others have none.
    pub fn complete_label_names(&self) -> Result<LabelNames> {
        let mut names = self.label_names().clone();
        let (named, used) = (names.len(), self.label_bound() as usize);
        if used > named && named > 0 {
            let expected = format!("as many as the {used} labels of the index");
            return Err(Error::parameter("names of labels", &expected, named));
        }
        for label in named..used {
            names.id(&label.to_string());
        }
        Ok(names)
    }

    /// Returns the existing labels as text for an error message.
    fn known(&self) -> String {
        let names = self.label_names();
        match (names.len(), self.label_bound()) {
            (0, 0) => "the items of this index have none".to_owned(),
            (0, bound) => format!("they have no names here: there are 0 to {}", bound - 1),
            (count, _) => {
                let mut listed: Vec<String> = names.iter().take(LISTED).map(listed).collect();
                if count > LISTED {
                    listed.push(format!("and {} more", count - LISTED));
                }
                format!("there are: {}", listed.join(", "))
            }
        }
    }
}

/// Returns a name for a list, in quotes where it could be misread.
fn listed(name: &str) -> String {
    match name.is_empty() || name.contains([',', '"', '\n', '\r']) {
        true => format!("{name:?}"),
        false => name.to_owned(),
    }
}

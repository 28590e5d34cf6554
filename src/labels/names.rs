//! Names of labels.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Names of labels, numbered in the order in which they came up.
///
/// It is stored as a plain list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelNames {
    names: Vec<String>,
    ids: HashMap<String, u32>,
}

impl LabelNames {
    /// No names yet.
    pub fn new() -> LabelNames {
        LabelNames::default()
    }

    /// The number of a name, which it is given now if it has none.
    ///
    /// # Panics
    /// When there are more than 2^32 names.
    pub fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = u32::try_from(self.names.len()).expect("there are at most 2^32 label names");
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// The number of a name, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// The name with a number.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.names.get(usize::try_from(id).ok()?).map(String::as_str)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All names, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

impl Serialize for LabelNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.names.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LabelNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut names = LabelNames::default();
        for (place, name) in Vec::<String>::deserialize(deserializer)?.iter().enumerate() {
            if let Some(before) = names.find(name) {
                let problem = format!("label {name:?} has two numbers, {before} and {place}");
                return Err(de::Error::custom(problem));
            }
            names.id(name);
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_they_come() {
        let mut names = LabelNames::new();
        assert!(names.is_empty());
        assert_eq!([names.id("cat"), names.id("dog"), names.id("cat")], [0, 1, 0]);
        assert_eq!((names.find("dog"), names.find("cow")), (Some(1), None));
        assert_eq!((names.name(0), names.name(2)), (Some("cat"), None));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["cat", "dog"]);
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn stored_as_a_list_without_duplicates() {
        let names: LabelNames = serde_json::from_str(r#"["b","a"]"#).unwrap();
        assert_eq!(names.find("a"), Some(1));
        assert_eq!(serde_json::to_string(&names).unwrap(), r#"["b","a"]"#);
        let error = serde_json::from_str::<LabelNames>(r#"["b","a","b"]"#).unwrap_err();
        assert!(error.to_string().contains("two numbers, 0 and 2"), "{error}");
    }
}

//! Names of labels.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Names of labels, numbered in the order in which they first occurred.
///
/// The names are serialised as a plain list. Clones share all names, so a snapshot with a million
/// names costs as little as a snapshot with ten.
#[derive(Clone, Debug, Default)]
pub struct LabelNames {
    /// Levels in ascending order of their numbers. Each level is at least twice as large as the
    /// next, so there are few levels.
    levels: Vec<Arc<Level>>,
    len: usize,
}

/// Names with consecutive numbers.
#[derive(Clone, Debug, Default)]
struct Level {
    first: usize,
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u32>,
}

impl Level {
    fn push(&mut self, name: Arc<str>, id: u32) {
        self.names.push(name.clone());
        self.ids.insert(name, id);
    }
}

impl LabelNames {
    /// Creates an empty list of names.
    pub fn new() -> LabelNames {
        LabelNames::default()
    }

    /// Returns the number of a name. A new name gets the next number.
    ///
    /// # Panics
    /// When there are more than 2^32 names.
    pub fn id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = u32::try_from(self.len).expect("there are at most 2^32 label names");
        match self.levels.last_mut().and_then(Arc::get_mut) {
            Some(last) => last.push(name.into(), id),
            // The last level is shared with a clone.
            None => {
                let mut level = Level { first: self.len, ..Level::default() };
                level.push(name.into(), id);
                self.levels.push(Arc::new(level));
                self.merge_last();
            }
        }
        self.len += 1;
        id
    }

    fn merge_last(&mut self) {
        while let [.., before, last] = &self.levels[..]
            && before.names.len() <= 2 * last.names.len()
        {
            let mut merged = Level::clone(before);
            for (name, id) in last.names.iter().zip(last.first as u32..) {
                merged.push(name.clone(), id);
            }
            self.levels.truncate(self.levels.len() - 2);
            self.levels.push(Arc::new(merged));
        }
    }

    /// Returns the number of a name, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.levels.iter().find_map(|level| level.ids.get(name).copied())
    }

    /// Returns the name with a number.
    pub fn name(&self, id: u32) -> Option<&str> {
        let id = usize::try_from(id).ok()?;
        let above = self.levels.partition_point(|level| level.first <= id);
        let level = self.levels.get(above.checked_sub(1)?)?;
        level.names.get(id - level.first).map(|name| &**name)
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over all names, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len).map(|id| self.name(id as u32).unwrap_or_default())
    }
}

impl PartialEq for LabelNames {
    fn eq(&self, other: &LabelNames) -> bool {
        let same = |(left, right): (&Arc<Level>, &Arc<Level>)| Arc::ptr_eq(left, right);
        let shared = self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(same);
        self.len == other.len && (shared || self.iter().eq(other.iter()))
    }
}

impl Eq for LabelNames {}

impl Serialize for LabelNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
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
    fn clones_share_names_and_grow_apart() {
        let (mut names, mut clones) = (LabelNames::new(), Vec::new());
        for number in 0..1000 {
            assert_eq!(names.id(&number.to_string()), number);
            assert!(names.levels.len() <= 11, "{}", names.levels.len());
            clones.push(names.clone());
        }
        for (count, clone) in (1..).zip(&clones) {
            let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            assert_eq!(clone.iter().collect::<Vec<_>>(), expected);
        }
        for number in 0..1000 {
            let name = number.to_string();
            assert_eq!((names.find(&name), names.name(number)), (Some(number), Some(&*name)));
        }
        assert_eq!((names.find("1000"), names.name(1000)), (None, None));
        let mut other = clones[499].clone();
        other.id("another");
        assert_eq!((other.find("500"), other.find("another")), (None, Some(500)));
        let alone: LabelNames =
            serde_json::from_str(&serde_json::to_string(&names).unwrap()).unwrap();
        assert_eq!((alone.levels.len(), alone == names, alone == other), (1, true, false));
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

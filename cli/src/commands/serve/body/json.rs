//! JSON values that may be written in more than one way.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};
use hashbrook::store::{IdKind, ItemId};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::errors::Problem;

/// An id: an integer or a string.
#[derive(Clone, Debug)]
pub struct Id(pub ItemId);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfId;
        impl Visitor<'_> for OfId {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id, which is a whole number from 0 to 2^64 - 1 or a text")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Id, E> {
                Ok(Id(ItemId::Number(number)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id(ItemId::Text(text.to_owned())))
            }
        }
        deserializer.deserialize_any(OfId)
    }
}

/// Parses an id in a path or a query, where numbers and strings look the same.
pub fn id_of_kind(text: &str, kind: IdKind) -> Result<ItemId, Problem> {
    match kind {
        IdKind::Texts => Ok(ItemId::Text(text.to_owned())),
        IdKind::Numbers => text.parse().map(ItemId::Number).map_err(|_| {
            Problem::unprocessable(format!(
                "the ids of this collection are whole numbers from 0 to 2^64 - 1, and {text:?} is none"
            ))
        }),
    }
}

/// Labels: one, or a list of them. Each is a string, or an integer, which stands for its decimal
/// string.
#[derive(Clone, Debug, Default)]
pub struct Names(pub Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfNames {
            /// False inside a list, since lists must not be nested.
            alone: bool,
        }
        impl<'de> Visitor<'de> for OfNames {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self.alone {
                    true => "a label, which is a text or a whole number, or a list of labels",
                    false => "a label, which is a text or a whole number",
                })
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Names, E> {
                Ok(Names(vec![number.to_string()]))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Names, E> {
                Ok(Names(vec![number.to_string()]))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Names, E> {
                Ok(Names(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                if !self.alone {
                    return Err(A::Error::custom("a list of labels has a list in it"));
                }
                let mut names = Vec::new();
                while let Some(one) = list.next_element::<One>()? {
                    names.push(one.0);
                }
                Ok(Names(names))
            }
        }

        struct One(String);
        impl<'de> Deserialize<'de> for One {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let Names(mut names) = deserializer.deserialize_any(OfNames { alone: false })?;
                Ok(One(names.pop().unwrap_or_default()))
            }
        }
        deserializer.deserialize_any(OfNames { alone: true })
    }
}

/// Returns a payload as JSON: exactly as it was inserted, or a base64 string if it is not JSON.
/// `None` if there is no payload.
pub fn payload(bytes: Vec<u8>) -> Option<Box<RawValue>> {
    if bytes.is_empty() {
        return None;
    }
    let json = match String::from_utf8(bytes) {
        Ok(text) => RawValue::from_string(text.clone()).map_err(|_| text.into_bytes()),
        Err(error) => Err(error.into_bytes()),
    };
    let text = |bytes: Vec<u8>| format!("\"{}\"", BASE64_STANDARD.encode(bytes));
    json.or_else(|bytes| RawValue::from_string(text(bytes))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_labels_are_read_as_people_write_them() {
        let id = |text: &str| serde_json::from_str::<Id>(text).map(|id| id.0);
        assert_eq!(id("7").unwrap(), 7.into());
        assert_eq!(id("18446744073709551615").unwrap(), u64::MAX.into());
        assert_eq!(id("\"7\"").unwrap(), "7".into());
        for wrong in ["-1", "1.5", "null", "[7]", "{}", "true", "18446744073709551616"] {
            assert!(id(wrong).unwrap_err().to_string().contains("an id, which is"), "{wrong}");
        }
        let names = |text: &str| serde_json::from_str::<Names>(text).map(|names| names.0);
        assert_eq!(names("\"cat\"").unwrap(), ["cat"]);
        assert_eq!(names("3").unwrap(), ["3"]);
        assert_eq!(names("[\"cat\", 3, -1]").unwrap(), ["cat", "3", "-1"]);
        assert!(names("[]").unwrap().is_empty());
        for wrong in ["null", "1.5", "[[]]", "[[\"cat\"]]", "[null]", "{}"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn payloads_come_back_as_they_were_sent() {
        let text = |bytes: &[u8]| payload(bytes.to_vec()).map(|value| value.get().to_owned());
        assert_eq!(text(b""), None);
        assert_eq!(text(b"{\"a\": 1}"), Some("{\"a\": 1}".to_owned()));
        assert_eq!(text(b"not json"), Some("\"bm90IGpzb24=\"".to_owned()));
        assert_eq!(text(b"\xff\x00"), Some("\"/wA=\"".to_owned()));
    }
}

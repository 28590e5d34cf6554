//! `--where`: restricts the items that a search may return.

use anyhow::{Result, bail};
use hashbrook::dataset::{file_of, split_labels};
use hashbrook::{Filter, Index};

use super::super::index::text_ids::TextIds;

/// Forms of `--where` conditions, for messages.
const FORMS: &str = "label=NAME,..., label!=NAME,..., id=NUMBER,... and id=FILE are";

/// Returns the files that conditions name.
pub fn files(conditions: &[String]) -> Vec<String> {
    let file = |condition: &String| {
        let value = condition.strip_prefix("id=")?;
        ids(value).is_none().then(|| value.to_owned())
    };
    conditions.iter().filter_map(file).collect()
}

/// Parses conditions into a filter for items that meet all of them.
pub fn parse(index: &Index, texts: &TextIds, conditions: &[String]) -> Result<Filter> {
    let mut filter = Filter::all();
    for condition in conditions {
        filter = match condition.split_once('=') {
            Some((_, value)) if value.trim().is_empty() => {
                bail!("{condition:?} names nothing after the =; {FORMS} conditions")
            }
            Some(("label", names)) => filter.labels(&labels(index, names)?),
            Some(("label!", names)) => filter.without_labels(&labels(index, names)?),
            Some(("id", value)) if texts.in_use() && texts.number(value).is_none() => {
                match file_of(value)?.is_file() {
                    true => filter.ids(&texts.read_known(value)?),
                    false => {
                        filter.ids_in(split_labels(value).iter().filter_map(|id| texts.number(id)))
                    }
                }
            }
            Some(("id", value)) if texts.in_use() => filter.ids_in(texts.number(value)),
            Some(("id", value)) => match ids(value) {
                Some(ids) => filter.ids(&ids),
                None => filter.ids(&texts.read_known(value)?),
            },
            _ => bail!("{condition:?} is no condition; {FORMS}"),
        };
    }
    Ok(filter)
}

/// Parses ids separated by commas; `None` if the value is a file name.
fn ids(value: &str) -> Option<Vec<u64>> {
    value.split(',').map(|id| id.trim().parse().ok()).collect()
}

/// Returns the numbers of the labels in a list of names. A name that contains a comma must be the
/// whole list or in quotes.
fn labels(index: &Index, list: &str) -> Result<Vec<u32>> {
    if let Ok(label) = index.find_label(list.trim()) {
        return Ok(vec![label]);
    }
    let names = split_labels(list);
    Ok(names.iter().map(|name| index.find_label(name.trim())).collect::<Result<_, _>>()?)
}

/// Formats a name as it is written in a list, in quotes if needed.
pub fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

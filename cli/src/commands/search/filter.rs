//! `--where`: which items a search may find.

use anyhow::{Result, bail};
use hashbrook::dataset::{file_of, split_labels};
use hashbrook::{Filter, Index};

use super::super::index::text_ids::TextIds;

/// What `--where` takes, for messages.
const FORMS: &str = "label=NAME,..., label!=NAME,..., id=NUMBER,... and id=FILE are";

/// The files that conditions name.
pub fn files(conditions: &[String]) -> Vec<String> {
    let file = |condition: &String| {
        let value = condition.strip_prefix("id=")?;
        ids(value).is_none().then(|| value.to_owned())
    };
    conditions.iter().filter_map(file).collect()
}

/// The filter that lets through what meets all conditions.
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

/// Ids that are written out, separated by commas; `None` for the name of a file.
fn ids(value: &str) -> Option<Vec<u64>> {
    value.split(',').map(|id| id.trim().parse().ok()).collect()
}

/// The numbers of labels in a list of names; a name with a comma in it stands alone or in quotes.
fn labels(index: &Index, list: &str) -> Result<Vec<u32>> {
    if let Ok(label) = index.find_label(list.trim()) {
        return Ok(vec![label]);
    }
    let names = split_labels(list);
    Ok(names.iter().map(|name| index.find_label(name.trim())).collect::<Result<_, _>>()?)
}

/// A name as it is written in a list.
pub fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

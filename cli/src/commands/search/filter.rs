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
    if let Some(label) = label(index, list) {
        return Ok(vec![label]);
    }
    let mut labels = Vec::new();
    for name in split_labels(list) {
        let Some(label) = label(index, &name) else {
            let known: Vec<String> = index.label_names().iter().take(20).map(quoted).collect();
            let known = match (known.len(), index.label_bound()) {
                (0, 0) => "the items of this index have none".to_owned(),
                (0, bound) => format!("they have no names here: there are 0 to {}", bound - 1),
                _ => format!("there are: {}", known.join(", ")),
            };
            bail!("no item has the label {name:?}; {known}");
        };
        labels.push(label);
    }
    Ok(labels)
}

/// A label by its name, or by its number where labels have no names.
fn label(index: &Index, name: &str) -> Option<u32> {
    let named = index.label_names().find(name.trim());
    let bare = || name.trim().parse().ok().filter(|&label| label < index.label_bound());
    named.or_else(|| if index.label_names().is_empty() { bare() } else { None })
}

/// A name as it is written in a list.
pub fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

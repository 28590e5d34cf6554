//! Choice of the columns of a table that are read.

use std::path::Path;

use arrow_schema::{DataType, Schema};

use super::super::purpose::Purpose;
use super::super::text::{Selection, enumerated, not_numbers};
use crate::{Error, Result};

/// Prefix of the names that pandas gives to index columns without a name; a number follows.
const PANDAS_INDEX: &str = "__index_level_";

/// Columns that are read.
pub(super) struct Chosen {
    /// Positions of the columns.
    pub(super) places: Vec<usize>,
    /// Whether the user selected columns, rather than only excluding some.
    pub(super) is_picked: bool,
    /// Index columns of pandas that are omitted, though the user did not exclude them.
    pub(super) omitted: Vec<String>,
}

/// Returns the selected columns, or those that fit the purpose.
pub(super) fn choose(
    path: &Path,
    schema: &Schema,
    name: Option<&str>,
    purpose: Purpose,
) -> Result<Chosen> {
    match name {
        Some(name) => by_name(path, schema, name, purpose),
        None => by_purpose(path, schema, (0..schema.fields().len()).collect(), purpose),
    }
}

fn by_name(path: &Path, schema: &Schema, name: &str, purpose: Purpose) -> Result<Chosen> {
    let titles: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let picked = |places| Chosen { places, is_picked: true, omitted: Vec::new() };
    // A name may contain a comma or a dash; a number always means a position.
    let place = titles.iter().position(|title| title == name);
    if let (Some(place), false) = (place, name.parse::<i64>().is_ok()) {
        return Ok(picked(vec![place]));
    }
    let selection = Selection::parse(name);
    let missing = |name: &str| {
        format!("has no column {name:?}; it has {}", listed(schema, (0..titles.len()).collect()))
    };
    let places = selection.resolve(&titles, &missing);
    let places = places.map_err(|problem| Error::malformed(path, problem))?;
    match (selection.picks(), purpose) {
        (true, _) | (false, Purpose::Labels | Purpose::Ids) => Ok(picked(places)),
        (false, Purpose::Features | Purpose::Codes) => by_purpose(path, schema, places, purpose),
    }
}

/// Chooses among the columns at these positions.
fn by_purpose(
    path: &Path,
    schema: &Schema,
    places: Vec<usize>,
    purpose: Purpose,
) -> Result<Chosen> {
    let kind = |at: usize| schema.field(at).data_type();
    let fits = |kind: &DataType| match purpose {
        Purpose::Features => is_list_of_numbers(kind),
        Purpose::Labels | Purpose::Ids => is_single(kind),
        Purpose::Codes => is_packed(kind),
    };
    let fitting: Vec<usize> = places.iter().copied().filter(|&at| fits(kind(at))).collect();
    if fitting.len() == 1 {
        return Ok(Chosen { places: fitting, is_picked: false, omitted: Vec::new() });
    }
    if purpose == Purpose::Features && fitting.is_empty() {
        let is_index = |at: usize| schema.field(at).name().starts_with(PANDAS_INDEX);
        let (indexes, rest): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|&&at| is_index(at));
        let omitted = indexes.iter().map(|&at| schema.field(at).name().clone()).collect();
        let others: Vec<usize> = rest.iter().copied().filter(|&at| !is_number(kind(at))).collect();
        return match others.is_empty() {
            _ if rest.is_empty() => Err(Error::malformed(path, "has no columns of features")),
            true => Ok(Chosen { places: rest, is_picked: false, omitted }),
            false => {
                let name = |&at: &usize| schema.field(at).name().clone();
                let names: Vec<String> = others.iter().map(name).collect();
                Err(not_numbers(path, &names, &described(schema, others)))
            }
        };
    }
    let wanted = match purpose {
        Purpose::Features => "column of lists of numbers",
        Purpose::Labels => "column of labels",
        Purpose::Ids => "column of ids",
        Purpose::Codes => "column of packed codes",
    };
    let problem = format!(
        "does not have exactly one {wanted}, so pick it as FILE:COLUMN; it has {}",
        listed(schema, places)
    );
    Err(Error::malformed(path, problem))
}

/// Lists columns and their types as messages show them.
fn listed(schema: &Schema, places: Vec<usize>) -> String {
    match places.is_empty() {
        true => "no columns".to_owned(),
        false => enumerated(&described(schema, places), ", "),
    }
}

/// Describes each column by its name and type.
fn described(schema: &Schema, places: Vec<usize>) -> Vec<String> {
    let one = |at: usize| {
        let field = schema.field(at);
        format!("{} ({})", field.name(), kind_name(field.data_type()))
    };
    places.into_iter().map(one).collect()
}

/// Returns the name of a type in messages: as in other formats, if they have the type.
pub(super) fn kind_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "bool".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::List(item) | DataType::LargeList(item) => {
            format!("lists of {}", kind_name(item.data_type()))
        }
        DataType::FixedSizeList(item, count) => {
            format!("lists of {count} {}", kind_name(item.data_type()))
        }
        DataType::FixedSizeBinary(count) => format!("{count} bytes"),
        DataType::Dictionary(_, values) => format!("dictionary of {}", kind_name(values)),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        other if is_number(other) => other.to_string().to_lowercase(),
        other => other.to_string(),
    }
}

/// Returns whether each row of a column is one number.
pub(super) fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating() || *kind == DataType::Boolean
}

/// Returns whether exactly one column has lists of numbers.
pub(super) fn has_vectors(schema: &Schema) -> bool {
    let lists = schema.fields().iter().filter(|field| is_list_of_numbers(field.data_type()));
    lists.count() == 1
}

fn is_list_of_numbers(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_number(item.data_type())
        }
        _ => false,
    }
}

/// Returns whether each row of a column is one integer or string.
fn is_single(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_single(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => true,
        other => other.is_integer(),
    }
}

fn is_packed(kind: &DataType) -> bool {
    match kind {
        DataType::FixedSizeBinary(_) => true,
        DataType::FixedSizeList(item, _) => *item.data_type() == DataType::UInt8,
        _ => false,
    }
}

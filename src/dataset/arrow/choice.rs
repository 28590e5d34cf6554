//! Which columns of a table are meant.

use std::path::Path;

use arrow_schema::{DataType, Schema};

use super::super::purpose::Purpose;
use super::super::text::{Columns, parse_columns};
use crate::{Error, Result};

/// The places of the columns that were named, or of those that fit the purpose.
pub(super) fn choose(
    path: &Path,
    schema: &Schema,
    name: Option<&str>,
    purpose: Purpose,
) -> Result<Vec<usize>> {
    let chosen = match name {
        Some(name) => by_name(schema, name),
        None => by_purpose(schema, purpose),
    };
    chosen.map_err(|problem| Error::malformed(path, problem))
}

fn by_name(schema: &Schema, name: &str) -> std::result::Result<Vec<usize>, String> {
    let titles: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let place = |name: &str| titles.iter().position(|title| title == name);
    // A name may have a comma or a dash in it; a number always means a place.
    if let (Some(place), false) = (place(name), name.parse::<i64>().is_ok()) {
        return Ok(vec![place]);
    }
    let mut columns = Vec::new();
    for part in parse_columns(name) {
        match &part {
            Columns::Named(name) => {
                columns.push(place(name).ok_or_else(|| {
                    format!("has no column {name:?}; it has {}", described(schema))
                })?)
            }
            Columns::Range(..) => columns.extend(part.resolve(titles.len(), &titles)?),
        }
    }
    Ok(columns)
}

fn by_purpose(schema: &Schema, purpose: Purpose) -> std::result::Result<Vec<usize>, String> {
    let fits = |kind: &DataType| match purpose {
        Purpose::Features => is_list_of_numbers(kind),
        Purpose::Labels | Purpose::Ids => is_single(kind),
        Purpose::Codes => is_packed(kind),
    };
    let fields = schema.fields();
    let fitting: Vec<usize> =
        (0..fields.len()).filter(|&at| fits(fields[at].data_type())).collect();
    if fitting.len() == 1 {
        return Ok(fitting);
    }
    let all_numbers = fields.iter().all(|field| is_number(field.data_type()));
    if purpose == Purpose::Features && !fields.is_empty() && all_numbers {
        return Ok((0..fields.len()).collect());
    }
    let wanted = match purpose {
        Purpose::Features => "column of lists of numbers",
        Purpose::Labels => "column of labels",
        Purpose::Ids => "column of ids",
        Purpose::Codes => "column of packed codes",
    };
    Err(format!(
        "does not have exactly one {wanted}, so pick it as FILE:COLUMN; it has {}",
        described(schema)
    ))
}

/// Columns and their types, as messages show them.
fn described(schema: &Schema) -> String {
    const SHOWN: usize = 20;
    let one = |field: &std::sync::Arc<arrow_schema::Field>| {
        format!("{} ({})", field.name(), kind_name(field.data_type()))
    };
    let mut text = schema.fields().iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ");
    if schema.fields().is_empty() {
        text = "no columns".to_owned();
    } else if schema.fields().len() > SHOWN {
        text += ", ...";
    }
    text
}

/// What messages call a type: in the words of other formats, where they have one.
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

/// Whether each row of a column is one number.
pub(super) fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating() || *kind == DataType::Boolean
}

fn is_list_of_numbers(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_number(item.data_type())
        }
        _ => false,
    }
}

/// Whether each row of a column is one whole number or text.
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

//! Columns that are copied from the files of vectors to the file of their codes.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Fields};

use super::super::content::Content;
use super::super::open::open;
use super::super::purpose::Purpose;
use super::super::spec::file_of;
use super::choice;
use super::numbers::first_null;
use super::table::{Picked, Table};
use crate::{Error, Result};

/// Columns of several files, one file after the other, in the same row order as the codes.
pub(super) struct Carried {
    fields: Fields,
    files: VecDeque<Picked>,
    has_ids: bool,
    current: Vec<ArrayRef>,
    taken: usize,
}

impl Carried {
    /// Opens the ids and the columns to keep in the files of vectors; columns selected in the names
    /// of the files are ignored. Ids come first and are called `id`.
    pub(super) fn open<S: AsRef<str>>(
        files: &[S],
        id: Option<&str>,
        keep: &[S],
    ) -> Result<Carried> {
        let names: Vec<&str> = id.into_iter().chain(keep.iter().map(AsRef::as_ref)).collect();
        let mut fields: Option<Fields> = None;
        let mut opened = VecDeque::new();
        for file in files {
            let path = file_of(file.as_ref())?;
            let text = path.to_str().ok_or_else(|| Error::malformed(&path, "is no UTF-8 name"))?;
            let Content::Columns(table) = open(text, Purpose::Labels)? else {
                let problem = "has no named columns; ids and other columns are carried over from \
                               Parquet and Arrow files";
                return Err(Error::malformed(&path, problem));
            };
            let (found, places) = find(&table, &names, id.is_some())?;
            match &fields {
                Some(first) if *first != found => {
                    let problem = format!(
                        "has the columns {}, the first file has {}; files read together must have the \
                         same",
                        kinds(&found),
                        kinds(first)
                    );
                    return Err(Error::malformed(&path, problem));
                }
                _ => fields = Some(found),
            }
            opened.push_back(table.pick_at(&places)?);
        }
        let fields = fields.unwrap_or_else(Fields::empty);
        Ok(Carried { fields, files: opened, has_ids: id.is_some(), current: Vec::new(), taken: 0 })
    }

    /// Returns the names and types of the columns.
    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns whether the first column holds the ids.
    pub(super) fn has_ids(&self) -> bool {
        self.has_ids
    }

    /// Returns the columns of the next rows, at most `most` and possibly fewer, or `None` at the
    /// end.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Vec<ArrayRef>>> {
        let len = |columns: &[ArrayRef]| columns.first().map_or(0, |column| column.len());
        while self.taken == len(&self.current) {
            let Some(file) = self.files.front_mut() else { return Ok(None) };
            let before = file.row;
            match file.next()? {
                Some(columns) => {
                    if let (true, Some(row)) = (self.has_ids, first_null(&columns[0])) {
                        return Err(file.wrong(0, before + row, "is null; every row needs an id"));
                    }
                    (self.current, self.taken) = (columns, 0);
                }
                None => drop(self.files.pop_front()),
            }
        }
        let rows = most.min(len(&self.current) - self.taken);
        let some = self.current.iter().map(|column| column.slice(self.taken, rows)).collect();
        self.taken += rows;
        Ok(Some(some))
    }
}

/// Returns the columns with these names, and their positions.
fn find(table: &Table, names: &[&str], has_ids: bool) -> Result<(Fields, Vec<usize>)> {
    let (mut fields, mut places) = (Vec::new(), Vec::new());
    for (at, name) in names.iter().enumerate() {
        let found = choice::choose(&table.path, &table.schema, Some(name), Purpose::Labels)?;
        for place in found.places {
            let field = table.schema.field(place);
            let is_id = has_ids && at == 0;
            let name = if is_id { "id" } else { field.name() };
            if is_id && !is_id_kind(field.data_type()) {
                let kind = choice::kind_name(field.data_type());
                let problem = format!(
                    "column {:?} is of the type {kind}; ids are whole numbers or texts",
                    field.name()
                );
                return Err(Error::malformed(&table.path, problem));
            }
            // A kept column may have nulls in one file and none in another.
            let field = Field::new(name, field.data_type().clone(), !is_id);
            fields.push(Arc::new(field));
            places.push(place);
        }
    }
    Ok((fields.into(), places))
}

fn is_id_kind(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_id_kind(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        other => other.is_integer(),
    }
}

fn kinds(fields: &Fields) -> String {
    let one =
        |field: &Arc<Field>| format!("{} ({})", field.name(), choice::kind_name(field.data_type()));
    fields.iter().map(one).collect::<Vec<_>>().join(", ")
}

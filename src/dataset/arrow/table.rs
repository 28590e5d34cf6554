//! A Parquet or Arrow file, and the columns of it that are read.

use std::path::{Path, PathBuf};

use arrow_array::{Array, ArrayRef};
use arrow_schema::SchemaRef;

use super::super::feature_columns::FeatureColumns;
use super::super::input::Input;
use super::super::purpose::Purpose;
use super::batches::Batches;
use super::in_memory::InMemory;
use super::{choice, ipc, parquet};
use crate::{Error, Result};

/// Opened file of which only the schema was read.
enum File {
    Parquet(parquet::File),
    Ipc(ipc::Stream),
    InMemory(InMemory),
}

/// Parquet or Arrow file, and the columns of it that a user selected.
pub(in crate::dataset) struct Table {
    pub(super) path: PathBuf,
    /// Selection of columns, as written after the colon.
    name: Option<String>,
    pub(super) schema: SchemaRef,
    rows: Option<usize>,
    file: File,
}

impl Table {
    /// Opens a Parquet file.
    pub(in crate::dataset) fn parquet(input: Input, name: Option<String>) -> Result<Table> {
        let path = input.path().to_path_buf();
        let file = parquet::File::open(input)?;
        let (schema, rows) = (file.schema(), Some(file.rows()));
        Ok(Table { path, name, schema, rows, file: File::Parquet(file) })
    }

    /// Opens an Arrow file, which is also called Feather, or an Arrow stream.
    pub(in crate::dataset) fn ipc(input: Input, name: Option<String>) -> Result<Table> {
        let path = input.path().to_path_buf();
        let stream = ipc::Stream::open(input)?;
        let schema = stream.schema();
        let rows = stream.rows();
        Ok(Table { path, name, schema, rows, file: File::Ipc(stream) })
    }

    /// Selects columns of a table that is already in memory.
    pub(in crate::dataset) fn in_memory(all: InMemory, name: &str) -> Table {
        let (path, schema, rows) = (all.path.clone(), all.schema.clone(), Some(all.rows()));
        Table { path, name: Some(name.to_owned()), schema, rows, file: File::InMemory(all) }
    }

    /// Returns the path of the file.
    pub(in crate::dataset) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of rows, if the file states it.
    pub(in crate::dataset) fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// Returns whether the features are a single column of lists. Other columns may then have any
    /// type.
    pub(in crate::dataset) fn has_vectors(&self) -> bool {
        choice::has_vectors(&self.schema)
    }

    /// Returns the selected columns, or those that fit the purpose.
    pub(super) fn pick(self, purpose: Purpose) -> Result<Picked> {
        let chosen = choice::choose(&self.path, &self.schema, self.name.as_deref(), purpose)?;
        let picked = self.pick_at(&chosen.places)?;
        let (is_chosen, omitted) = (!chosen.is_picked, chosen.omitted);
        Ok(Picked { is_chosen, omitted, ..picked })
    }

    /// Returns the columns at these positions, in this order.
    pub(super) fn pick_at(self, columns: &[usize]) -> Result<Picked> {
        let mut read = columns.to_vec();
        read.sort_unstable();
        read.dedup();
        let place = |column: &usize| read.partition_point(|other| other < column);
        let order = columns.iter().map(place).collect();
        let names = columns.iter().map(|&at| self.schema.field(at).name().clone()).collect();
        let batches: Box<dyn Batches> = match self.file {
            File::Parquet(file) => Box::new(file.batches(&read)?),
            File::Ipc(stream) => Box::new(stream.batches(read)),
            File::InMemory(batches) => Box::new(batches.only(read)),
        };
        let (path, rows) = (self.path, self.rows);
        let (is_chosen, omitted) = (false, Vec::new());
        Ok(Picked { path, names, is_chosen, omitted, batches, order, row: 0, rows })
    }
}

/// Columns of a table that are read batch by batch.
pub(super) struct Picked {
    pub(super) path: PathBuf,
    /// Names of the columns.
    pub(super) names: Vec<String>,
    /// Whether the columns were chosen automatically, since the user selected none.
    is_chosen: bool,
    /// Columns that are omitted, though the user excluded none of them.
    omitted: Vec<String>,
    batches: Box<dyn Batches>,
    /// Position of each column in a batch.
    order: Vec<usize>,
    /// Number of rows read so far.
    pub(super) row: usize,
    /// Number of rows that the file states.
    pub(super) rows: Option<usize>,
}

impl Picked {
    /// Describes the columns that are read as features.
    pub(super) fn feature_columns(&self) -> FeatureColumns {
        let omitted = Some(self.omitted.join(", ")).filter(|omitted| !omitted.is_empty());
        FeatureColumns {
            path: self.path.clone(),
            names: self.names.clone(),
            is_chosen: self.is_chosen,
            omitted,
            header_remark: None,
        }
    }

    /// Returns the columns of the next rows, of which there is at least one, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<ArrayRef>>> {
        loop {
            let batch = self.batches.next().map_err(|error| match error {
                Error::Malformed { path, problem } => {
                    let columns = self.names.join(", ");
                    let problem = format!("{problem} (column {columns}, after row {})", self.row);
                    Error::Malformed { path, problem }
                }
                other => other,
            })?;
            let Some(batch) = batch else { return self.end().map(|()| None) };
            let columns: Option<Vec<ArrayRef>> =
                self.order.iter().map(|&at| batch.columns().get(at).cloned()).collect();
            let Some(columns) = columns else {
                return Err(Error::malformed(&self.path, "has a batch that lacks a column"));
            };
            if columns.iter().any(|column| column.len() != batch.num_rows()) {
                return Err(Error::malformed(&self.path, "has columns of different lengths"));
            }
            if batch.num_rows() > 0 {
                self.row += batch.num_rows();
                return Ok(Some(columns));
            }
        }
    }

    /// Checks that the number of rows is the one that the file states.
    fn end(&self) -> Result<()> {
        match self.rows {
            Some(rows) if rows != self.row => {
                let problem = format!("says that it has {rows} rows, and has {}", self.row);
                Err(Error::malformed(&self.path, problem))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for a problem in a column at a row.
    pub(super) fn wrong(
        &self,
        column: usize,
        row: usize,
        problem: impl std::fmt::Display,
    ) -> Error {
        let name = &self.names[column];
        Error::malformed(
            &self.path,
            format!("row {row}, column {name:?} {problem} (rows count from 0)"),
        )
    }
}

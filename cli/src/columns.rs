//! Columns of tables: the options that name them, and which columns hold features, labels and ids.

use std::path::Path;

use anyhow::{Result, bail};
use hashbrook::dataset::{FeatureColumns, Reader, file_of, without_columns};

use crate::console::plural;
use crate::{input, piped};

/// Columns of the tables of vectors, in place of `FILE:COLUMNS`.
#[derive(clap::Args)]
pub struct Columns {
    /// The columns of features in the tables of vectors: names, places from 0, ranges or exclusions, as
    /// in px0..px63, 0-63 or '!id,!target' [default: all that are not named for something else]
    #[arg(long, value_name = "COLUMNS")]
    features: Option<String>,

    /// The column of labels in these tables, or several; it is no feature
    #[arg(long, value_name = "COLUMN,...")]
    pub label: Option<String>,

    /// The column of ids in these tables; it is no feature
    #[arg(long, visible_alias = "id", value_name = "COLUMN")]
    pub id_column: Option<String>,
}

impl Columns {
    /// Adds the feature columns to the names in `data`, and the label columns to `labels`.
    pub fn name_in(&self, data: &mut [String], labels: &mut Vec<String>) -> Result<()> {
        if let Some(label) = &self.label {
            labels.extend(of_files(data, label)?);
        }
        self.name_features(data)
    }

    /// Adds the feature columns to the names in `data`.
    pub fn name_features(&self, data: &mut [String]) -> Result<()> {
        let Some(features) = &self.features else { return Ok(()) };
        for spec in data {
            if file(spec)? != spec {
                bail!("--features and {spec} both name columns of the features; give one of them");
            }
            *spec = format!("{spec}:{features}");
        }
        Ok(())
    }

    /// Returns the label columns, for commands that read them only to exclude them from the
    /// features.
    pub fn labels_of(&self, data: &[String]) -> Result<Vec<String>> {
        self.label.as_ref().map_or(Ok(Vec::new()), |label| of_files(data, label))
    }

    /// Returns the id columns of the files.
    pub fn ids_of(&self, data: &[String]) -> Result<Vec<String>> {
        self.id_column.as_ref().map_or(Ok(Vec::new()), |id| of_files(data, id))
    }
}

/// Appends the same column suffix to the name of each file.
pub fn of_files(files: &[String], columns: &str) -> Result<Vec<String>> {
    files.iter().map(|spec| Ok(format!("{}:{columns}", file(spec)?))).collect()
}

/// Returns the file of `FILE:COLUMNS`, as it is written.
fn file(spec: &str) -> Result<&str> {
    Ok(&spec[..file_of(spec)?.as_os_str().len()])
}

/// A use of columns other than as features (`id`, `label`), and the files with these columns.
pub type Role<'a> = (&'a str, &'a [String]);

/// Opens vectors; excludes columns in `roles` from the features. Prints one line on the standard
/// error about which columns of a table are used, unless the user named all of them.
pub fn open(data: &[String], roles: &[Role<'_>]) -> Result<Reader> {
    let reader = open_silently(data, roles)?;
    say(&reader, roles)?;
    Ok(reader)
}

/// Opens vectors as [`open`] does; fails unless they have `dim` dimensions.
pub fn open_of_dim(data: &[String], roles: &[Role<'_>], dim: usize) -> Result<Reader> {
    let reader = open_silently(data, roles)?;
    check_dim(data, &reader, dim)?;
    say(&reader, roles)?;
    Ok(reader)
}

fn open_silently(data: &[String], roles: &[Role<'_>]) -> Result<Reader> {
    let others: Vec<&String> = roles.iter().flat_map(|(_, files)| files.iter()).collect();
    let opened = Reader::open_all(&without_columns(data, &others)?);
    opened.map_err(|error| with_options(error, roles))
}

/// Adds the options that declare columns of strings as ids or labels to an error about such
/// columns.
fn with_options(error: hashbrook::Error, roles: &[Role<'_>]) -> anyhow::Error {
    let hashbrook::Error::TextColumns { columns, .. } = &error else { return error.into() };
    let is_read = |role: &str| roles.iter().any(|(name, files)| *name == role && !files.is_empty());
    let column = match &columns[..] {
        [one] => one.as_str(),
        _ => "COLUMN",
    };
    let options: Vec<String> = [("id", "--id"), ("label", "--label")]
        .into_iter()
        .filter(|(role, _)| !is_read(role))
        .map(|(role, option)| format!("{option} {column} reads {role}s from it"))
        .collect();
    match options.is_empty() {
        true => error.into(),
        false => anyhow::anyhow!("{error}; {}", options.join(", ")),
    }
}

/// Fails unless the vectors have the dimension that a model takes.
pub fn check_dim(files: &[String], reader: &Reader, dim: usize) -> Result<()> {
    if reader.dim() == dim {
        return Ok(());
    }
    let table = reader.columns().first().filter(|table| table.is_chosen && reader.dim() > dim);
    let hint = table.map(|table| {
        format!(
            " ({table}); exclude columns that are no features, as in '{}:!NAME', or name the others with \
             --features",
            piped::shown(&table.path)
        )
    });
    bail!(
        "{} has vectors of {}, the model takes {dim}{}",
        files.join(", "),
        plural(reader.dim() as u64, "dimension"),
        hint.unwrap_or_default()
    );
}

fn say(reader: &Reader, roles: &[Role<'_>]) -> Result<()> {
    if let Some(table) = reader.columns().first() {
        let headers = reader.columns().iter().filter_map(|table| table.header_remark.clone());
        if let Some(summary) = summary(table, reader.columns().len(), roles)? {
            // The summary includes the header remarks.
            input::leave_unsaid(headers);
            input::remark([summary]);
        }
    }
    Ok(())
}

/// Describes which columns of the first table are used:
/// `t.csv: 64 features px0 … px63, label target`.
fn summary(table: &FeatureColumns, tables: usize, roles: &[Role<'_>]) -> Result<Option<String>> {
    let mut others = String::new();
    for (role, files) in roles {
        let mut columns = Vec::new();
        for spec in files.iter() {
            let name = file(spec)?;
            if Path::new(name) == table.path && name != spec {
                columns.push(spec[name.len() + 1..].replace(',', ", "));
            }
        }
        if !columns.is_empty() {
            others += &format!(", {role} {}", columns.join(", "));
        }
    }
    let places = (0..table.names.len()).map(|place| place.to_string());
    // If a table without column names is used completely, a summary would say nothing new.
    let is_plain = table.names.iter().cloned().eq(places) && others.is_empty();
    if table.header_remark.is_none() && (is_plain || !table.is_chosen) {
        return Ok(None);
    }
    let mut text = piped::shown(&table.path);
    if tables > 1 {
        text += &format!(" and {} more", tables - 1);
    }
    text += &format!(": {table}{others}");
    if let Some(omitted) = &table.omitted {
        text += &format!("; not read: {omitted}");
    }
    if table.header_remark.is_some() {
        text += "; the first line was taken for a header";
    }
    Ok(Some(text))
}

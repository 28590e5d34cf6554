//! Bodies of many items: npy and Arrow, parsed by the file readers.

use std::io::{Cursor, Write};

use axum::body::Bytes;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use hashbrook::dataset::{ArrowTable, Reader};
use hashbrook::store::{IdKind, ItemId, Wait};
use hashbrook::{Error, LabelNames};
use serde::Deserialize;
use tempfile::NamedTempFile;

use super::super::errors::Problem;
use super::super::limits::Limits;
use super::items::Items;
use super::{Kind, kind};
use crate::input::{ROWS_AT_ONCE, label_texts};

/// Query parameters of a request that inserts items.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    wait: Option<WaitFor>,
    /// Id of the first row of an npy body; the ids of further rows follow consecutively.
    first_id: Option<u64>,
    /// Label of all rows of an npy body.
    label: Option<String>,
    /// Labels of the rows of an npy body, one per row, separated by commas.
    labels: Option<String>,
}

/// State that a change must reach before its request is answered.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum WaitFor {
    Stored,
    Learned,
    #[default]
    Searchable,
}

impl WaitFor {
    /// Returns the state to wait for; `None` if a durable change is enough.
    pub fn as_wait(self) -> Option<Wait> {
        match self {
            WaitFor::Stored => None,
            WaitFor::Learned => Some(Wait::Learned),
            WaitFor::Searchable => Some(Wait::Searchable),
        }
    }
}

impl Parameters {
    /// Returns the state to wait for; `None` if a durable change is enough.
    pub fn wait(&self) -> Option<Wait> {
        self.wait.and_then(WaitFor::as_wait)
    }

    /// Fails if a parameter does not apply to this kind of body.
    fn check(&self, kind: Kind) -> Result<(), Problem> {
        let of_npy = self.first_id.is_some() || self.label.is_some() || self.labels.is_some();
        if kind != Kind::Npy && of_npy {
            return Err(Problem::unprocessable(
                "`first_id`, `label` and `labels` go with npy bodies; others have them inside",
            ));
        }
        Ok(())
    }
}

/// Parses the query parameters and the content type of a request.
pub fn said(
    parameters: Result<Query<Parameters>, QueryRejection>,
    headers: &HeaderMap,
) -> Result<(Parameters, Kind), Problem> {
    let Query(parameters) = parameters?;
    let kind = kind(headers)?;
    parameters.check(kind)?;
    Ok((parameters, kind))
}

/// A body as a file, which the file readers require.
struct BodyFile {
    path: String,
    _file: Box<dyn Send>,
}

impl BodyFile {
    fn of(bytes: &[u8]) -> Result<BodyFile, Problem> {
        let in_memory = BodyFile::in_memory(bytes);
        in_memory.map_or_else(|| BodyFile::on_the_disk(bytes), Ok)
    }

    /// Creates an in-memory file, on systems that have them.
    #[cfg(target_os = "linux")]
    fn in_memory(bytes: &[u8]) -> Option<BodyFile> {
        use rustix::fs::{MemfdFlags, memfd_create};
        use std::os::fd::AsRawFd;

        let mut file = std::fs::File::from(memfd_create("body", MemfdFlags::CLOEXEC).ok()?);
        file.write_all(bytes).ok()?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::fs::metadata(&path).ok()?;
        Some(BodyFile { path, _file: Box::new(file) })
    }

    #[cfg(not(target_os = "linux"))]
    fn in_memory(_: &[u8]) -> Option<BodyFile> {
        None
    }

    fn on_the_disk(bytes: &[u8]) -> Result<BodyFile, Problem> {
        let io = |cause| Error::Io { path: std::env::temp_dir(), cause };
        let mut file = NamedTempFile::new().map_err(io)?;
        file.write_all(bytes).map_err(io)?;
        let path = file.path().to_string_lossy().into_owned();
        Ok(BodyFile { path, _file: Box::new(file) })
    }
}

/// Turns a reader's error into an error about the body, without the name of the temporary file.
fn of_body(error: Error) -> Problem {
    match error {
        Error::Malformed { problem, .. } | Error::TextColumns { problem, .. } => {
            Problem::unprocessable(format!("the body {problem}"))
        }
        other => other.into(),
    }
}

/// Reads all rows, and returns them with their dimension.
fn vectors(
    reader: hashbrook::Result<Reader>,
    limits: &Limits,
) -> Result<(Vec<f32>, usize), Problem> {
    let mut reader = reader.map_err(of_body)?;
    let dim = reader.dim();
    limits.check_items(reader.rows().unwrap_or(0))?;
    let mut values = Vec::new();
    while let Some(rows) = reader.next(ROWS_AT_ONCE).map_err(of_body)? {
        values.extend_from_slice(rows.values());
        limits.check_items(values.len() / dim)?;
    }
    Ok((values, dim))
}

/// Parses items from an npy body of vectors. Ids are consecutive; labels are in the parameters.
pub fn npy(bytes: &[u8], parameters: &Parameters, limits: &Limits) -> Result<Items, Problem> {
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(Problem::unprocessable("the body does not begin as npy does"));
    }
    let Some(first) = parameters.first_id else {
        return Err(Problem::unprocessable(
            "`first_id` is missing: the id of the first row, from which the others count on",
        ));
    };
    let file = BodyFile::of(bytes)?;
    let (values, dim) = vectors(Reader::open(&file.path), limits)?;
    let rows = values.len() / dim.max(1);
    if first.checked_add(rows as u64).is_none() {
        return Err(Problem::unprocessable(format!("{rows} ids from {first} on are too large")));
    }
    let ids = (first..first + rows as u64).map(ItemId::Number).collect();
    let text = |label: &str| match label.trim() {
        "" => Vec::new(),
        label => vec![label.to_owned()],
    };
    let labels = match (&parameters.label, &parameters.labels) {
        (Some(_), Some(_)) => {
            return Err(Problem::unprocessable(
                "`label` is for all rows, `labels` for each: give one",
            ));
        }
        (Some(label), None) => vec![text(label); rows],
        (None, Some(labels)) => labels.split(',').map(text).collect(),
        (None, None) => Vec::new(),
    };
    Ok(Items { ids, dim, values, labels, payloads: Vec::new() })
}

/// Parses items from an Arrow stream with the columns `id` and `vector`, and optionally `label` or
/// `labels`, and `payload`.
pub fn arrow(bytes: Bytes, ids: Option<IdKind>, limits: &Limits) -> Result<Items, Problem> {
    // The size limit of uncompressed bodies also applies to decompressed ones.
    let table = ArrowTable::read("body", Cursor::new(bytes), limits.max_body).map_err(of_body)?;
    limits.check_items(table.rows())?;
    let columns = table.columns();
    let known = ["id", "vector", "label", "labels", "payload"];
    if let Some((name, _)) = columns.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(Problem::unprocessable(format!(
            "unknown column {name:?}; there may be {known}"
        )));
    }
    let kind_of = |name: &str| columns.iter().find(|(has, _)| has == name).map(|(_, kind)| kind);
    let Some(id_kind) = kind_of("id") else {
        return Err(Problem::unprocessable("there is no column \"id\""));
    };
    let (values, dim) = vectors(table.reader("vector"), limits)?;
    let texts = ids.map_or(id_kind.contains("text"), |kind| kind == IdKind::Texts);
    let ids = match texts {
        true => table.id_texts("id").map(|ids| ids.into_iter().map(ItemId::Text).collect()),
        false => table.ids("id").map(|ids| ids.into_iter().map(ItemId::Number).collect()),
    };
    let mut items = Items { ids: ids.map_err(of_body)?, dim, values, ..Items::default() };
    for name in ["label", "labels"].into_iter().filter(|name| kind_of(name).is_some()) {
        if !items.labels.is_empty() {
            return Err(Problem::unprocessable(
                "there are columns \"label\" and \"labels\": give one",
            ));
        }
        let mut names = LabelNames::new();
        let read = table.labels(name, &mut names).map_err(of_body)?;
        items.labels = label_texts(&read.labels, &names);
    }
    if kind_of("payload").is_some() {
        items.payloads = table.payloads("payload").map_err(of_body)?;
        check_json(&items.payloads)?;
    }
    Ok(items)
}

/// Fails unless all payloads are JSON, which payloads in JSON bodies always are.
fn check_json(payloads: &[Vec<u8>]) -> Result<(), Problem> {
    for (row, payload) in payloads.iter().enumerate().filter(|(_, payload)| !payload.is_empty()) {
        if serde_json::from_slice::<serde::de::IgnoredAny>(payload).is_err() {
            return Err(Problem::unprocessable(format!("the payload of row {row} is no JSON")));
        }
    }
    Ok(())
}

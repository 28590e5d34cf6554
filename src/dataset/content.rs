//! From what a user wrote to what a file holds.

use std::path::Path;

use super::array::Array;
use super::format::Format;
use super::input::Input;
use super::npy::{self, Strings};
use super::source::Source;
use super::spec::Spec;
use super::text::Table;
use super::{idx, mat, npz, vecs};
use crate::{Error, Result};

/// The fields of the first line of a table, be it a header or not, for messages that name columns;
/// `None` for files that are no text.
///
/// # Errors
/// When the file cannot be read.
pub fn first_line(spec: &str) -> Result<Option<Vec<String>>> {
    match Content::open(spec, Purpose::Labels)? {
        Content::Text(input, _) => {
            Ok(Some(Table::open(input, None, Purpose::Labels)?.first_line().to_vec()))
        }
        _ => Ok(None),
    }
}

/// What the content is wanted for. It matters where a file holds several arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Features,
    Labels,
}

/// What a file, or the part of it that was asked for, holds.
pub(super) enum Content {
    /// Numbers.
    Array(Array),
    /// Texts of an npy array.
    Strings(Strings),
    /// Lines of text, with the columns asked for.
    Text(Input, Option<String>),
}

impl Content {
    /// Opens what `spec` names.
    pub(super) fn open(spec: &str, purpose: Purpose) -> Result<Content> {
        let Spec { path, name } = Spec::parse(spec)?;
        let input = Input::open(&path)?;
        let format = Format::of(&input)?;
        if let (Format::Npy | Format::Idx | Format::Vecs(_), Some(name)) = (format, &name) {
            let problem = format!("holds one array, so there is no {name:?} to pick from it");
            return Err(Error::malformed(&path, problem));
        }
        match format {
            Format::Npy => npy::open(input),
            Format::Npz => npz::open(input, name.as_deref()),
            Format::Mat => mat::open(input, name.as_deref(), purpose).map(Content::Array),
            Format::Idx => idx::open(input).map(Content::Array),
            Format::Vecs(kind) => vecs::open(input, kind).map(Content::Array),
            Format::Text => Ok(Content::Text(input, name)),
        }
    }

    /// The file, as messages call it.
    pub(super) fn path(&self) -> &Path {
        match self {
            Content::Array(array) => array.path(),
            Content::Strings(strings) => strings.path(),
            Content::Text(input, _) => input.path(),
        }
    }
}

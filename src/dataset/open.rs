//! Opening of files of any format.

#[cfg(feature = "arrow")]
use super::arrow::Table;
use super::content::Content;
use super::format::Format;
#[cfg(feature = "hdf5")]
use super::hdf5;
use super::input::Input;
use super::purpose::Purpose;
use super::spec::Spec;
use super::text::Table as TextTable;
use super::{idx, mat, npy, npz, vecs};
use crate::{Error, Result};

/// Opens the file, or the part of a file, that `spec` names.
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
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => hdf5::open(input, name.as_deref(), purpose),
        #[cfg(not(feature = "hdf5"))]
        Format::Hdf5 => {
            let problem = "is an HDF5 file, as MATLAB writes with -v7.3, which this build does not \
                           read; the library does with the feature `hdf5`";
            Err(Error::malformed(&path, problem))
        }
        Format::Idx => idx::open(input).map(Content::Array),
        Format::Vecs(kind) => vecs::open(input, kind).map(Content::Array),
        #[cfg(feature = "arrow")]
        Format::Parquet => {
            Table::parquet(input, name).map(|table| Content::Columns(Box::new(table)))
        }
        #[cfg(feature = "arrow")]
        Format::Arrow => Table::ipc(input, name).map(|table| Content::Columns(Box::new(table))),
        #[cfg(not(feature = "arrow"))]
        Format::Parquet | Format::Arrow => {
            let problem = "is a Parquet or Arrow file, which this build does not read; the library \
                           does with the feature `arrow`";
            Err(Error::malformed(&path, problem))
        }
        Format::Text => Ok(Content::Text(input, name)),
    }
}

/// Returns the fields of the first line of a table, whether or not it is a header, for messages
/// that name columns. Returns `None` for files that are not text.
///
/// # Errors
/// When the file cannot be read.
pub fn first_line(spec: &str) -> Result<Option<Vec<String>>> {
    match open(spec, Purpose::Labels)? {
        Content::Text(input, _) => {
            Ok(Some(TextTable::open(input, None, Purpose::Labels)?.first_line().to_vec()))
        }
        _ => Ok(None),
    }
}

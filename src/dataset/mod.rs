//! Reading and writing files of features and labels, and dividing them into queries and database.
//!
//! [`Reader`] streams features, [`read_labels`] reads labels. Files are named as `FILE`, or as
//! `FILE:NAME` or `FILE:COLUMNS` to pick a part. Their format is told by their content:
//!
//! | format | rows | `FILE:...` |
//! |---|---|---|
//! | npy (numpy), versions 1 to 3 | integers, floats, truth values in either byte and memory order; further dimensions are joined | |
//! | npz (numpy) | an npy array in it | the array's name, needed if there are several |
//! | IDX (MNIST) | all dimensions but the first are joined | |
//! | CSV, tab or semicolon separated | a line each, header or not | names or places of columns |
//! | fvecs, bvecs, ivecs | as their name says; without a telling name, as their content suggests | |
//! | MATLAB (`save -v7` or `-v6`) | rows of a matrix of real numbers | the variable's name, needed if several fit |
//! | HDF5, and MATLAB's `save -v7.3` (feature `hdf5`) | integers, floats, truth values; further dimensions are joined | the dataset's name, `group/name`, needed if several fit |
//! | Parquet (feature `arrow`) | columns of numbers, or of lists of as many numbers in each row | names or places of columns, needed unless one fits |
//! | Arrow files (Feather) and streams (feature `arrow`) | the same | the same |
//! | other text (labels only) | a line each, labels separated by commas | |
//!
//! Any of them may be gzipped. Columns of a CSV file are given by their names in the header, by
//! their places counted from 0 or, from -1 down, from the end, by ranges such as `0-63` or `0--2`
//! (both ends included), or by a list of these separated by commas. A number always means a place.
//! `px0..px63` is all columns from one name to another, in the order of the table. `!name` excludes a column:
//! `FILE:!id,!label` reads all but these. (Shells take `!` for something else unless it is in single quotes.)
//!
//! Of a table without named columns, a first column without a name is no feature, as pandas writes its index so.
//! [`without_columns`] excludes columns that labels or ids are read from.
//!
//! Columns of Parquet and Arrow files are given in the same way; each row is put together of all columns that
//! are named. If none are, the features are the one column of lists of numbers, or all columns, if these are
//! numbers. Labels in them are texts, whole numbers, dictionaries of these, or lists of these, which are
//! sets; lists of a fixed length are of zeros and ones, as arrays of several columns are. What is null
//! is no label, and an error among features and ids. Parquet may be compressed with snappy, zstd, lz4 or gzip,
//! Arrow with zstd or lz4. Parquet is read some pages at a time, Arrow a batch at a time, HDF5 some
//! chunks at a time: a file that its writer made in one piece takes as much memory as that.
//!
//! HDF5 is read with superblocks 0 to 3, old and new groups, data in one piece or in chunks, and the filters
//! deflate, shuffle, fletcher32, lzf and scale-offset; not with several dimensions that may grow in the newer formats,
//! nor compressed in the layout that is new in HDF5 2.0 (h5py writes it if told `libver="latest"`, and not if told
//! `libver=("earliest", "v114")`). Columns of texts, of a fixed or a variable length, are labels or ids. MATLAB's matrices have
//! their rows as in MATLAB, not as HDF5 has them.
//!
//! A file that is cut off, or that has bytes beyond what its header says, is an error.
//!
//! ```no_run
//! use hashbrook::dataset::{LabelNames, Reader, read_labels};
//!
//! let mut names = LabelNames::new();
//! let labels = read_labels("birds.npz:species", &mut names)?;
//! let mut reader = Reader::open("birds.npz:features")?;
//! let mut row = 0;
//! while let Some(features) = reader.next(1000)? {
//!     let labels = labels.view().slice(row..row + features.len());
//!     row += features.len();
//!     // Learn from the batch.
//! #   let _ = labels;
//! }
//! # Ok::<(), hashbrook::Error>(())
//! ```

mod array;
#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod arrow_table;
mod column_major;
mod content;
mod data;
mod digits;
mod element;
mod exclusion;
mod extent;
mod feature_columns;
mod format;
#[cfg(any(feature = "arrow", feature = "hdf5"))]
mod guard;
#[cfg(feature = "hdf5")]
mod hdf5;
mod idx;
mod input;
mod kept;
mod labels;
mod mat;
mod npy;
mod npz;
mod open;
mod packed;
mod payloads;
mod purpose;
mod reader;
mod records;
mod source;
mod spec;
mod split;
mod text;
mod texts;
mod vecs;

#[cfg(feature = "arrow")]
pub use arrow::CodesWriter;
#[cfg(feature = "arrow")]
pub use arrow_table::ArrowTable;
pub use data::Data;
pub use digits::{Digits, digits};
pub use exclusion::without_columns;
pub use feature_columns::FeatureColumns;
pub use labels::{
    LabelsRead, read_labels, read_labels_all, read_labels_for, split_labels, write_labels,
};
pub use npy::{NpyElement, NpyWriter};
pub use open::first_line;
pub use packed::{NpzArray, read_codes, read_id_texts, read_ids, read_ids_for, write_npz};
pub use payloads::{read_payloads, table_columns};
pub use reader::Reader;
pub use spec::file_of;
pub use split::{Queries, Split};

pub use crate::labels::{LabelList, LabelNames};

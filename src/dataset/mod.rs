//! Readers and writers of files of features and labels, and the division of rows into queries and
//! database.
//!
//! [`Reader`] streams features, [`read_labels`] reads labels. Files are given as `FILE`, or as
//! `FILE:NAME` or `FILE:COLUMNS` to select a part. The content of a file determines its format:
//!
//! | format | rows | `FILE:...` |
//! |---|---|---|
//! | npy (numpy), versions 1 to 3 | integers, floats, booleans in either byte and memory order; further dimensions are joined | |
//! | npz (numpy) | an npy array in it | the array's name, needed if there are several |
//! | IDX (MNIST) | all dimensions but the first are joined | |
//! | CSV, tab or semicolon separated | a line each, with or without a header | names or positions of columns |
//! | fvecs, bvecs, ivecs | as the file extension says; without a known extension, as the content suggests | |
//! | MATLAB (`save -v7` or `-v6`) | rows of a matrix of real numbers | the variable's name, needed if several fit |
//! | HDF5, and MATLAB's `save -v7.3` (feature `hdf5`) | integers, floats, booleans; further dimensions are joined | the dataset's name, `group/name`, needed if several fit |
//! | Parquet (feature `arrow`) | columns of numbers, or of lists with the same number of elements in each row | names or positions of columns, needed unless exactly one fits |
//! | Arrow files (Feather) and streams (feature `arrow`) | as for Parquet | as for Parquet |
//! | other text (labels only) | a line each, labels separated by commas | |
//!
//! All formats may be gzipped. A truncated file, and a file with bytes beyond the size in its
//! header, are errors.
//!
//! # Columns
//!
//! Columns of a CSV file are selected by
//!
//! * their names in the header;
//! * their positions, from 0, or from -1 down to count from the end;
//! * ranges such as `0-63` or `0--2` (both ends included);
//! * a list of these, separated by commas.
//!
//! A number always means a position. `px0..px63` selects all columns from one name to another, in
//! the order of the table. `!name` excludes a column: `FILE:!id,!label` reads all columns but
//! these. (Shells interpret `!` unless it is in single quotes.)
//!
//! If no columns are selected, a first column without a name is not read as a feature, since pandas
//! writes its index this way. [`without_columns`] excludes the columns from which labels or ids are
//! read.
//!
//! Columns of Parquet and Arrow files are selected in the same way. A row consists of the values of
//! all selected columns. By default, the features are the only column of lists of numbers, or all
//! columns, if these are numbers.
//!
//! # Parquet and Arrow
//!
//! Labels are strings, integers, dictionaries of strings or integers, or lists of labels, which
//! form sets. Lists of a fixed length must consist of zeros and ones, like arrays of several
//! columns. A null means no label; in features and ids it is an error.
//!
//! Parquet may be compressed with snappy, zstd, lz4 or gzip, Arrow with zstd or lz4. Parquet is
//! read some pages at a time, Arrow a batch at a time, HDF5 some chunks at a time. Reading a file
//! that was written in one piece takes as much memory as the piece.
//!
//! # HDF5 and MATLAB
//!
//! HDF5 is read with superblocks 0 to 3, old and new groups, contiguous or chunked data, and the
//! filters deflate, shuffle, fletcher32, lzf and scale-offset. Columns of strings, of a fixed or a
//! variable length, are labels or ids. Two kinds of datasets are not read:
//!
//! * those with several extendible dimensions in the newer formats;
//! * compressed datasets in the layout introduced by HDF5 2.0. h5py writes this layout with
//!   `libver="latest"`, but not with `libver=("earliest", "v114")`.
//!
//! Rows of MATLAB matrices are those of MATLAB, not those of the underlying HDF5 dataset.
//!
//! # Example
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

// Notes for maintainers.
//
// # How are the readers built?
//
// Every reader yields rows in order and holds no more than the requested rows. Row-major files are
// read in sequence; column-major files by seeking, and from a temporary file when they are
// compressed. Sizes in headers are never trusted: they are compared with the file, and nothing is
// allocated before its bytes have arrived.
//
// Only the requested columns of a table are decoded. An `arrow/Table` is a kind of content, like a
// text table. Features (`numbers.rs`), labels and ids (`cells.rs`) and packed codes (`packed.rs`)
// each have their own code to read it. HDF5 rows are read as bytes and then decoded like those of
// npy; MATLAB rows are read by the reader of column-major arrays. Ids and labels in the file of the
// vectors are read through a second handle. If more than the vectors of a pipe is read, the command
// therefore first copies the pipe to a temporary file (`cli/src/piped.rs`). Complete content, such
// as a body of the service, is decoded once for all of its columns (`arrow_table.rs`), and must not
// unpack to more than the given limit.
//
// Peak memory (`ru_maxrss`) of `hashbrook encode --model lsh-128.model --data
// large.parquet:embedding --id-column id --keep kind --out codes.parquet` and similar calls, for
// 1.7 million vectors of 768 floats (5.2 GB): 95 MiB from Parquet, 48 MiB from HDF5 in one piece,
// 160 MiB from an Arrow stream through a pipe in batches of 20,000 rows (61 MB each). For
// 200,000 such vectors in HDF5, in chunks of 512 rows with gzip and shuffle: 55 MiB.

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

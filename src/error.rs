//! The crate's error type.

use std::path::{Path, PathBuf};

/// An error, with what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of values is not a multiple of the dimension, or the dimension is zero.
    #[error("{values} values do not make rows of {dim} dimensions")]
    Shape {
        /// Number of values given.
        values: usize,
        /// Dimension that each row should have.
        dim: usize,
    },

    /// A feature is NaN or infinite. Rows and columns count from 0.
    #[error(
        "row {row}, column {column} is {value}; features must be finite (rows and columns count from 0)"
    )]
    NotFinite {
        /// Row of the first such value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The value.
        value: f32,
    },

    /// The number of labels differs from the number of rows.
    #[error("{labels} labels for {rows} rows; there must be one label (or label set) per row")]
    LabelCount {
        /// Number of rows of features.
        rows: usize,
        /// Number of labels, or of label sets.
        labels: usize,
    },

    /// The offsets of a list of label sets do not ascend, or lie beyond the labels.
    #[error(
        "label set {set} ends at {end}, which is out of order or beyond the {values} labels given"
    )]
    LabelOffsets {
        /// Index of the set whose end is wrong.
        set: usize,
        /// The invalid end.
        end: usize,
        /// Number of labels.
        values: usize,
    },

    /// A supervised method was given no labels.
    #[error("{method} needs labels, and none were given")]
    LabelsMissing {
        /// Name of the method.
        method: &'static str,
    },

    /// Vectors do not have the dimension of the function or model.
    #[error("expected vectors of {expected} dimensions, these have {found}")]
    Dimension {
        /// Dimension of the function or model.
        expected: usize,
        /// Dimension of the vectors.
        found: usize,
    },

    /// A code length is not supported.
    #[error("bits must be from 1 to 1024, not {0}")]
    Bits(usize),

    /// Codes of different lengths were compared.
    #[error("codes of {left} bits cannot be compared with codes of {right} bits")]
    CodeLength {
        /// Length of the first code in bits.
        left: usize,
        /// Length of the second code in bits.
        right: usize,
    },

    /// A protocol that needs exactly one label per row found a row with none or several.
    #[error("{protocol} need one label per row; row {row} has {labels}")]
    OneLabel {
        /// The protocol, in words.
        protocol: &'static str,
        /// First row without exactly one label.
        row: usize,
        /// Number of labels of this row.
        labels: usize,
    },

    /// Packed codes do not have the size for `bits` bits, or have bits set beyond the last.
    #[error("row {row} of the packed codes does not fit {bits} bits: {problem}")]
    PackedCodes {
        /// First row that does not fit; 0 if the total length is wrong.
        row: usize,
        /// Requested code length.
        bits: usize,
        /// Description of the mismatch.
        problem: &'static str,
    },

    /// No label of an index has this name.
    #[error("no item has the label {name:?}; {known}")]
    UnknownLabel {
        /// The requested name.
        name: String,
        /// The existing labels, in words.
        known: String,
    },

    /// No method has this name.
    #[error("there is no method {name:?}; the methods are: {known}")]
    UnknownMethod {
        /// The requested name.
        name: String,
        /// All names, separated by commas.
        known: String,
    },

    /// No preset has this name.
    #[error("there is no preset {name:?}; the presets are: {known}")]
    UnknownPreset {
        /// The requested name.
        name: String,
        /// All names, separated by commas.
        known: String,
    },

    /// The method has no parameter of this name.
    #[error("{method} has no parameter {name:?}; its parameters are: {known}")]
    UnknownParameter {
        /// Name of the method.
        method: &'static str,
        /// The requested parameter.
        name: String,
        /// Names of all parameters of the method, separated by commas.
        known: String,
    },

    /// A parameter is out of range or of the wrong kind.
    #[error("{name} must be {expected}, not {found}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Description of the valid values.
        expected: String,
        /// The value given.
        found: String,
    },

    /// A parameter was given a value of the wrong kind.
    #[error("{found} is no value for {name}: {problem}")]
    ParameterValue {
        /// Name of the parameter.
        name: String,
        /// The value given.
        found: String,
        /// Description of the problem.
        problem: String,
    },

    /// The operation needs a method that stores sums, which rows can be added to and subtracted
    /// from.
    #[error("{method} models cannot {what}: only brook keeps what it learns as sums")]
    NotSums {
        /// Name of the method.
        method: &'static str,
        /// The requested operation.
        what: &'static str,
    },

    /// The operation needs a model whose warm-up has ended.
    #[error(
        "the model has not warmed up: nothing is fixed yet. Let it learn more rows first, or end \
         the warm-up with those there are"
    )]
    NotWarm,

    /// Two models cannot be merged.
    #[error("the models cannot be merged: {problem}")]
    NotMergeable {
        /// Description of the difference.
        problem: String,
    },

    /// Rows to unlearn or relabel were not learned with the given labels.
    #[error("these rows cannot be {what}: {problem}; nothing was changed")]
    NotLearned {
        /// The requested operation, as a past participle.
        what: &'static str,
        /// The reason.
        problem: String,
    },

    /// The squared length of a row exceeds the range of single precision. Rows and columns count
    /// from 0.
    #[error(
        "row {row} is too long: column {column} is {value}, and squared lengths must be below 3.4e38; \
         scale the vectors (rows and columns count from 0)"
    )]
    TooLong {
        /// Row that is too long.
        row: usize,
        /// Column of the row's largest number.
        column: usize,
        /// The largest number of the row.
        value: f32,
    },

    /// A batch led to weights that are not finite. The batch was not learned.
    #[error(
        "{method}: this batch gives no finite solution ({problem}); it was not learned. \
         Features of very different scale are the usual cause: try unit length, or a larger ridge"
    )]
    NoSolution {
        /// Name of the method.
        method: &'static str,
        /// Description of the failure.
        problem: &'static str,
    },

    /// An allocation failed.
    #[error("{what} needs {bytes} bytes of memory, which cannot be had; {remedy}")]
    OutOfMemory {
        /// Purpose of the memory, in words.
        what: String,
        /// Number of bytes, in one or several allocations.
        bytes: u64,
        /// Advice to the user.
        remedy: &'static str,
    },

    /// The number of ids differs from the number of items.
    #[error("{ids} ids for {items} items; there must be one id per item")]
    IdCount {
        /// Number of ids given.
        ids: usize,
        /// Number of items given.
        items: usize,
    },

    /// A call contains the same id twice.
    #[error("id {0} is given more than once; nothing was changed")]
    IdTwice(u64),

    /// An item with this id exists already.
    #[error("id {0} is there already; upsert replaces items. Nothing was changed")]
    IdTaken(u64),

    /// The number of payloads differs from the number of items.
    #[error(
        "{payloads} payloads for {items} items; there must be one per item, which may be empty"
    )]
    PayloadCount {
        /// Number of items given.
        items: usize,
        /// Number of payloads given.
        payloads: usize,
    },

    /// A call contains the same string id twice.
    #[error("id {0:?} is given more than once; nothing was changed")]
    TextIdTwice(String),

    /// An item does not exist.
    #[error("there is no item {0}")]
    NoItem(String),

    /// An id is not of the store's kind (number or string).
    #[error("the ids of this store are {expected}, and {found} is not one")]
    IdKind {
        /// Kind of the store's ids, in words.
        expected: &'static str,
        /// The given id.
        found: String,
    },

    /// A payload exceeds the size limit.
    #[error("the payload of item {id} has {bytes} bytes; up to {most} are kept")]
    PayloadSize {
        /// Id of the item.
        id: String,
        /// Size of the payload in bytes.
        bytes: usize,
        /// Largest allowed size in bytes.
        most: usize,
    },

    /// The directory for a new store is not empty.
    #[error("{}: has something in it already; a store is made in a directory that is empty or not there", .0.display())]
    NotEmpty(PathBuf),

    /// A store stopped after a failure.
    #[error("{}: {problem}; reopen it to continue", path.display())]
    Stopped {
        /// Path of the store.
        path: PathBuf,
        /// Description of the failure.
        problem: String,
    },

    /// The number of items exceeds the limit of an index.
    #[error("an index holds up to 4,294,967,295 items, not {0}")]
    TooManyItems(usize),

    /// An index without a hash function was given vectors.
    #[error("the index holds codes without the function that made them, so it takes codes alone")]
    NoFunction,

    /// Items without vectors were given to an index that stores vectors.
    #[error(
        "the index keeps the vectors of its items, and codes alone were given; give vectors, which \
         it encodes itself"
    )]
    VectorsMissing,

    /// An operation needs vectors, but the index stores none.
    #[error(
        "the index keeps no vectors {wanted}; rebuild it with them (Index::with_vectors, in Python \
         Index(h, vectors=\"f16\"), by the command index build --vectors f16)"
    )]
    VectorsNotKept {
        /// The operation that needs the vectors, in words.
        wanted: &'static str,
    },

    /// A new hash function does not prepare vectors as the stored vectors of the index were
    /// prepared.
    #[error(
        "the vectors in the index cannot be encoded by this function, which prepares vectors \
         otherwise: {differs} differs. Give the vectors themselves; nothing was changed"
    )]
    OtherPreparation {
        /// Description of the difference.
        differs: &'static str,
    },

    /// A dial has different weights for label bits and detail bits, but the index has no function
    /// that distinguishes the two.
    #[error(
        "the index holds codes without the function that made them, so nothing tells label bits from \
         detail bits; without it a dial takes two weights that are equal"
    )]
    NoLabelBits,

    /// A float query was given codes instead of vectors.
    #[error("a float query weighs bits by what vectors project to, so it takes vectors, not codes")]
    FloatQueryOfCodes,

    /// A search with re-ranking was given codes instead of vectors.
    #[error("re-ranking compares vectors, so it takes vectors or items to search with, not codes")]
    RerankOfCodes,

    /// The number of items within a radius exceeds the limit.
    #[error(
        "{found} items are within this radius of a query, and up to {most} are given; take a smaller radius"
    )]
    TooManyHits {
        /// Number of items within the radius.
        found: usize,
        /// The limit.
        most: usize,
    },

    /// The vectors for re-encoding do not match the items of the index.
    #[error("the vectors to renew are not those of the index: {problem}; nothing was changed")]
    NotRenewed {
        /// Description of the missing or extra items.
        problem: String,
    },

    /// A change was requested on an index that was opened for reading.
    #[error("{}: was opened for reading; open it for writing to change it", .0.display())]
    ReadOnly(PathBuf),

    /// Another process is writing the file.
    #[error("{}: is being written by another process; wait for it, or stop it", .0.display())]
    InUse(PathBuf),

    /// The file system cannot lock the file, so other writers cannot be excluded.
    #[error(
        "{}: cannot be locked ({cause}), as on some network file systems, and two writers at once \
         would lose changes. If nothing else writes it, it can be written without a lock \
         (edit_unlocked, save_unlocked)",
        path.display()
    )]
    CannotLock {
        /// The file.
        path: PathBuf,
        /// The cause. It is not the error's `source`, because the message already contains its
        /// text.
        cause: std::io::Error,
    },

    /// A change was not written completely, and may or may not take effect.
    #[error(
        "{}: the change before could not be written, and may or may not be there; reopen the file \
         to go on",
        .0.display()
    )]
    InDoubt(PathBuf),

    /// Another program moved, deleted, replaced, truncated or overwrote an open file.
    #[error("{}: is no longer the file that was opened: {problem}; reopen it", path.display())]
    NotAsOpened {
        /// The file.
        path: PathBuf,
        /// Description of the change, as far as it is known.
        problem: String,
    },

    /// A class has too few items for the requested split.
    #[error(
        "label {label:?} has {items} items, too few for {asked} queries and at least one to find; \
         ask for fewer queries per class"
    )]
    ClassTooSmall {
        /// The label.
        label: String,
        /// Number of items with this label.
        items: usize,
        /// Number of queries to draw.
        asked: usize,
    },

    /// The operating system refused a file operation.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause. It is not the error's `source`, because the message already contains its
        /// text.
        cause: std::io::Error,
    },

    /// The content of a file is not as expected.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Description of what was expected and what was found.
        problem: String,
    },

    /// Columns of a table that are requested as features hold strings.
    #[error("{}: {problem}", path.display())]
    TextColumns {
        /// The file.
        path: PathBuf,
        /// Names of these columns.
        columns: Vec<String>,
        /// Description of what was expected and what was found.
        problem: String,
    },

    /// A hashbrook file is damaged or truncated.
    #[error("{}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of what was expected and what was found.
        problem: String,
    },

    /// A file was written by a newer hashbrook.
    #[error(
        "{}: written in format version {found}, this program reads up to version {supported}; \
         use a newer hashbrook",
        path.display()
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Format version of the file.
        found: u32,
        /// Newest version that this program supports.
        supported: u32,
    },

    /// A file's log contains a kind of change that only a newer hashbrook knows.
    #[error(
        "{}: has a change of kind {kind} in its log, which a newer version wrote and this program \
         does not know; use a newer hashbrook",
        path.display()
    )]
    NewerChange {
        /// The file.
        path: PathBuf,
        /// Number of the kind.
        kind: u64,
    },
}

/// Kind of an [`Error`], for programs that respond by kind, as a server does with a status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is invalid: wrong shape, unknown name, a file of another kind. Retrying with the
    /// same input fails again.
    BadInput,
    /// A file, directory or item does not exist.
    NotFound,
    /// The resource is in use, or another program changed it. Retrying later may succeed.
    Busy,
    /// Stored data differs from what was written.
    Damaged,
    /// Disk space or memory is insufficient.
    NoSpace,
    /// A newer version of hashbrook wrote the file.
    NewerVersion,
    /// A failure that the caller cannot fix.
    Internal,
}

/// A [`std::result::Result`] with the crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the kind of the failure.
    ///
    /// ```
    /// use hashbrook::{ErrorKind, Index};
    ///
    /// let missing = Index::open("no/such.index").unwrap_err();
    /// assert_eq!(missing.kind(), ErrorKind::NotFound);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        use std::io::ErrorKind as Io;
        match self {
            Error::Shape { .. }
            | Error::NotFinite { .. }
            | Error::TooLong { .. }
            | Error::LabelCount { .. }
            | Error::LabelOffsets { .. }
            | Error::LabelsMissing { .. }
            | Error::Dimension { .. }
            | Error::Bits(_)
            | Error::CodeLength { .. }
            | Error::OneLabel { .. }
            | Error::PackedCodes { .. }
            | Error::UnknownLabel { .. }
            | Error::UnknownMethod { .. }
            | Error::UnknownPreset { .. }
            | Error::UnknownParameter { .. }
            | Error::Parameter { .. }
            | Error::ParameterValue { .. }
            | Error::NotSums { .. }
            | Error::NotWarm
            | Error::NotMergeable { .. }
            | Error::NotLearned { .. }
            | Error::NoSolution { .. }
            | Error::IdCount { .. }
            | Error::IdTwice(_)
            | Error::IdTaken(_)
            | Error::PayloadCount { .. }
            | Error::TextIdTwice(_)
            | Error::IdKind { .. }
            | Error::PayloadSize { .. }
            | Error::NotEmpty(_)
            | Error::TooManyItems(_)
            | Error::NoFunction
            | Error::VectorsMissing
            | Error::VectorsNotKept { .. }
            | Error::OtherPreparation { .. }
            | Error::NoLabelBits
            | Error::FloatQueryOfCodes
            | Error::RerankOfCodes
            | Error::TooManyHits { .. }
            | Error::NotRenewed { .. }
            | Error::ReadOnly(_)
            | Error::ClassTooSmall { .. }
            | Error::TextColumns { .. }
            | Error::Malformed { .. } => ErrorKind::BadInput,
            Error::NoItem(_) => ErrorKind::NotFound,
            Error::InUse(_) | Error::NotAsOpened { .. } => ErrorKind::Busy,
            Error::Damaged { .. } => ErrorKind::Damaged,
            Error::OutOfMemory { .. } => ErrorKind::NoSpace,
            Error::NewerVersion { .. } | Error::NewerChange { .. } => ErrorKind::NewerVersion,
            Error::CannotLock { .. } | Error::InDoubt(_) | Error::Stopped { .. } => {
                ErrorKind::Internal
            }
            Error::Io { cause, .. } => match cause.kind() {
                Io::NotFound => ErrorKind::NotFound,
                Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge | Io::OutOfMemory => {
                    ErrorKind::NoSpace
                }
                Io::WouldBlock | Io::ResourceBusy | Io::TimedOut => ErrorKind::Busy,
                Io::UnexpectedEof => ErrorKind::Damaged,
                _ => ErrorKind::Internal,
            },
        }
    }

    /// Returns a closure that adds the path of the file to an I/O error.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |cause| Error::Io { path: path.to_path_buf(), cause }
    }

    /// Returns an error for a file whose content is not as expected.
    pub(crate) fn malformed(path: &Path, problem: impl Into<String>) -> Error {
        Error::Malformed { path: path.to_path_buf(), problem: problem.into() }
    }

    /// Returns an error for a hashbrook file that is damaged or truncated.
    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), problem: problem.into() }
    }

    /// Returns an error for a parameter that is out of range.
    pub(crate) fn parameter(
        name: &'static str,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Error {
        Error::Parameter { name, expected: expected.into(), found: found.to_string() }
    }
}

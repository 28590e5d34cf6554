//! The one error type of the library.

use std::path::{Path, PathBuf};

/// What went wrong: what was expected, and what came instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of values is not a multiple of the dimension, or the dimension is zero.
    #[error("{values} values do not make rows of {dim} dimensions")]
    Shape {
        /// How many values were given.
        values: usize,
        /// The dimension they should fill.
        dim: usize,
    },

    /// A feature is NaN or infinite. Rows and columns count from 0.
    #[error(
        "row {row}, column {column} is {value}; features must be finite (rows and columns count from 0)"
    )]
    NotFinite {
        /// The row of the first such value.
        row: usize,
        /// Its column.
        column: usize,
        /// The value itself.
        value: f32,
    },

    /// There are not as many labels as rows.
    #[error("{labels} labels for {rows} rows; there must be one label (or label set) per row")]
    LabelCount {
        /// Rows of features.
        rows: usize,
        /// Labels, or label sets.
        labels: usize,
    },

    /// The offsets of a list of label sets do not ascend, or point outside of the labels.
    #[error(
        "label set {set} ends at {end}, which is out of order or beyond the {values} labels given"
    )]
    LabelOffsets {
        /// The set whose end is wrong.
        set: usize,
        /// Where it claims to end.
        end: usize,
        /// How many labels there are.
        values: usize,
    },

    /// A supervised method was given no labels.
    #[error("{method} needs labels, and none were given")]
    LabelsMissing {
        /// The method's name.
        method: &'static str,
    },

    /// Vectors of another dimension than the function or model was made for.
    #[error("expected vectors of {expected} dimensions, these have {found}")]
    Dimension {
        /// The dimension it was made for.
        expected: usize,
        /// The dimension that came.
        found: usize,
    },

    /// A code length outside of what is supported.
    #[error("bits must be from 1 to 1024, not {0}")]
    Bits(usize),

    /// Codes of different lengths were compared.
    #[error("codes of {left} bits cannot be compared with codes of {right} bits")]
    CodeLength {
        /// Bits of the one.
        left: usize,
        /// Bits of the other.
        right: usize,
    },

    /// A protocol that deals with classes met a row that is not of one class.
    #[error("{protocol} need one label per row; row {row} has {labels}")]
    OneLabel {
        /// What needs them.
        protocol: &'static str,
        /// The first such row.
        row: usize,
        /// How many it has.
        labels: usize,
    },

    /// Packed codes do not have the shape of `bits`, or have bits set beyond them.
    #[error("row {row} of the packed codes does not fit {bits} bits: {problem}")]
    PackedCodes {
        /// The first row that does not fit; 0 when the whole does not.
        row: usize,
        /// The code length asked for.
        bits: usize,
        /// In which way.
        problem: &'static str,
    },

    /// No label of an index has this name.
    #[error("no item has the label {name:?}; {known}")]
    UnknownLabel {
        /// The requested name.
        name: String,
        /// The labels that there are, in words.
        known: String,
    },

    /// No method has this name.
    #[error("there is no method {name:?}; the methods are: {known}")]
    UnknownMethod {
        /// The name asked for.
        name: String,
        /// All names, separated by commas.
        known: String,
    },

    /// There are no presets for this data set.
    #[error("there is no preset {name:?}; the presets are: {known}")]
    UnknownPreset {
        /// The name asked for.
        name: String,
        /// All names, separated by commas.
        known: String,
    },

    /// The method has no parameter of this name.
    #[error("{method} has no parameter {name:?}; its parameters are: {known}")]
    UnknownParameter {
        /// The method's name.
        method: &'static str,
        /// The parameter asked for.
        name: String,
        /// All its parameters, separated by commas.
        known: String,
    },

    /// A parameter is out of range or of the wrong kind.
    #[error("{name} must be {expected}, not {found}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// What it must be.
        expected: String,
        /// What it was.
        found: String,
    },

    /// A parameter was given a value of the wrong kind.
    #[error("{found} is no value for {name}: {problem}")]
    ParameterValue {
        /// The parameter's name.
        name: String,
        /// What was given.
        found: String,
        /// What would have been right.
        problem: String,
    },

    /// The method does not keep what it learns as sums, which could be added to and taken from.
    #[error("{method} models cannot {what}: only brook keeps what it learns as sums")]
    NotSums {
        /// The method's name.
        method: &'static str,
        /// What was asked for.
        what: &'static str,
    },

    /// What must be known before learning is not: the warm-up has not ended.
    #[error(
        "the model has not warmed up: nothing is fixed yet. Let it learn more rows first, or end \
         the warm-up with those there are"
    )]
    NotWarm,

    /// Two models do not fit each other.
    #[error("the models cannot be merged: {problem}")]
    NotMergeable {
        /// What differs.
        problem: String,
    },

    /// Rows that were to be unlearned or relabelled were not learned as given.
    #[error("these rows cannot be {what}: {problem}; nothing was changed")]
    NotLearned {
        /// What was to be done to them.
        what: &'static str,
        /// Why it cannot be.
        problem: String,
    },

    /// The squared length of a row is beyond single precision. Rows and columns count from 0.
    #[error(
        "row {row} is too long: column {column} is {value}, and squared lengths must be below 3.4e38; \
         scale the vectors (rows and columns count from 0)"
    )]
    TooLong {
        /// The row.
        row: usize,
        /// The column of its largest number.
        column: usize,
        /// That number.
        value: f32,
    },

    /// A batch led to weights that are not finite; the batch was not learned.
    #[error(
        "{method}: this batch gives no finite solution ({problem}); it was not learned. \
         Features of very different scale are the usual cause: try unit length, or a larger ridge"
    )]
    NoSolution {
        /// The method's name.
        method: &'static str,
        /// What failed.
        problem: &'static str,
    },

    /// What is to be computed needs more memory than can be had.
    #[error("{what} needs {bytes} bytes of memory, which cannot be had; {remedy}")]
    OutOfMemory {
        /// What needs it.
        what: String,
        /// How much, in one piece or several.
        bytes: u64,
        /// What to do instead.
        remedy: &'static str,
    },

    /// There are not as many ids as items.
    #[error("{ids} ids for {items} items; there must be one id per item")]
    IdCount {
        /// Ids given.
        ids: usize,
        /// Items given.
        items: usize,
    },

    /// An id was given twice at once.
    #[error("id {0} is given more than once; nothing was changed")]
    IdTwice(u64),

    /// An item with this id is there already.
    #[error("id {0} is there already; upsert replaces items. Nothing was changed")]
    IdTaken(u64),

    /// There are not as many payloads as items.
    #[error(
        "{payloads} payloads for {items} items; there must be one per item, which may be empty"
    )]
    PayloadCount {
        /// Items given.
        items: usize,
        /// Payloads given.
        payloads: usize,
    },

    /// A text id was given twice at once.
    #[error("id {0:?} is given more than once; nothing was changed")]
    TextIdTwice(String),

    /// An item is not there.
    #[error("there is no item {0}")]
    NoItem(String),

    /// An id is of the wrong kind for a store.
    #[error("the ids of this store are {expected}, and {found} is not one")]
    IdKind {
        /// What they are.
        expected: &'static str,
        /// The id that was given.
        found: String,
    },

    /// A payload is too large to be kept with an item.
    #[error("the payload of item {id} has {bytes} bytes; up to {most} are kept")]
    PayloadSize {
        /// The item.
        id: String,
        /// Its bytes.
        bytes: usize,
        /// How many may be.
        most: usize,
    },

    /// A store was to be made where something is already.
    #[error("{}: has something in it already; a store is made in a folder that is empty or not there", .0.display())]
    NotEmpty(PathBuf),

    /// A store has come to a standstill after a failure.
    #[error("{}: {problem}; open it anew to go on", path.display())]
    Stopped {
        /// The store.
        path: PathBuf,
        /// What happened.
        problem: String,
    },

    /// More items than an index holds.
    #[error("an index holds up to 4,294,967,295 items, not {0}")]
    TooManyItems(usize),

    /// An index of codes alone was given vectors.
    #[error("the index holds codes without the function that made them, so it takes codes alone")]
    NoFunction,

    /// Items were given without vectors to an index that keeps vectors.
    #[error(
        "the index keeps the vectors of its items, and codes alone were given; give vectors, which \
         it encodes itself"
    )]
    VectorsMissing,

    /// An index was asked for vectors, and keeps none.
    #[error(
        "the index keeps no vectors {wanted}; build it anew with them (Index::with_vectors, in Python \
         Index(h, vectors=\"f16\"), by the command index build --vectors f16)"
    )]
    VectorsNotKept {
        /// What they are wanted for.
        wanted: &'static str,
    },

    /// The vectors that an index keeps are not prepared as a newer function would have it.
    #[error(
        "the vectors in the index cannot be encoded by this function, which prepares vectors \
         otherwise: {differs} differs. Give the vectors themselves; nothing was changed"
    )]
    OtherPreparation {
        /// What differs.
        differs: &'static str,
    },

    /// A dial weighs label bits and detail bits differently, where nothing tells which are which.
    #[error(
        "the index holds codes without the function that made them, so nothing tells label bits from \
         detail bits; without it a dial takes two weights that are equal"
    )]
    NoLabelBits,

    /// A float query was asked of codes.
    #[error("a float query weighs bits by what vectors project to, so it takes vectors, not codes")]
    FloatQueryOfCodes,

    /// Items that codes found were to be ranked by vectors, and the query is a code.
    #[error("re-ranking compares vectors, so it takes vectors or items to search with, not codes")]
    RerankOfCodes,

    /// More items are within a radius than were to be given.
    #[error(
        "{found} items are within this radius of a query, and up to {most} are given; take a smaller radius"
    )]
    TooManyHits {
        /// How many there are.
        found: usize,
        /// How many were to be given at most.
        most: usize,
    },

    /// A renewal does not bring the vectors of just the items that are there.
    #[error("the vectors to renew are not those of the index: {problem}; nothing was changed")]
    NotRenewed {
        /// What is missing or too many.
        problem: String,
    },

    /// An index that was opened for reading was to be changed.
    #[error("{}: was opened for reading; open it for writing to change it", .0.display())]
    ReadOnly(PathBuf),

    /// Another process is writing the file.
    #[error("{}: is being written by another process; wait for it, or stop it", .0.display())]
    InUse(PathBuf),

    /// The file system cannot lock the file, so that other writers cannot be kept out.
    #[error(
        "{}: cannot be locked ({cause}), as on some network file systems, and two writers at once \
         would lose changes. If nothing else writes it, it can be written without a lock \
         (edit_unlocked, save_unlocked)",
        path.display()
    )]
    CannotLock {
        /// The file.
        path: PathBuf,
        /// Why. Not the error's `source`, since its text is in this one's already.
        cause: std::io::Error,
    },

    /// A change could not be written wholly, and it is not known whether it counts.
    #[error(
        "{}: the change before could not be written, and may or may not be there; open the file anew \
         to go on",
        .0.display()
    )]
    InDoubt(PathBuf),

    /// Another program moved, deleted, replaced, cut short or wrote over a file that is open.
    #[error("{}: is no longer the file that was opened: {problem}; open it anew", path.display())]
    NotAsOpened {
        /// The file.
        path: PathBuf,
        /// What happened to it, as far as one can see.
        problem: String,
    },

    /// Too few items of one class for the split asked for.
    #[error(
        "label {label:?} has {items} items, too few for {asked} queries and at least one to find; \
         ask for fewer queries per class"
    )]
    ClassTooSmall {
        /// The label.
        label: String,
        /// How many items carry it.
        items: usize,
        /// How many queries were to be drawn.
        asked: usize,
    },

    /// The operating system refused a file operation.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why. Not the error's `source`, since its text is in this one's already.
        cause: std::io::Error,
    },

    /// A file is not what it should be.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        problem: String,
    },

    /// Columns of a table are to be read as features and hold strings.
    #[error("{}: {problem}", path.display())]
    TextColumns {
        /// The file.
        path: PathBuf,
        /// The names of these columns.
        columns: Vec<String>,
        /// What was expected and what was found.
        problem: String,
    },

    /// A file of this library is not as it was written: damaged, or cut short.
    #[error("{}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
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
        /// The version it is in.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },

    /// A newer hashbrook made a change in a file, of a kind that this one does not know.
    #[error(
        "{}: has a change of kind {kind} in its log, which a newer version wrote and this program \
         does not know; use a newer hashbrook",
        path.display()
    )]
    NewerChange {
        /// The file.
        path: PathBuf,
        /// The number that stands for the kind.
        kind: u64,
    },
}

/// What kind of failure an [`Error`] is, for programs that answer by kind, as a server does by a
/// status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was given cannot be used: wrong shape, unknown name, a file of another kind. Trying again
    /// with the same is of no use.
    BadInput,
    /// A file or folder is not there.
    NotFound,
    /// Someone else is using it, or it was changed meanwhile: trying again later may do.
    Busy,
    /// Something that was stored is not what was written.
    Damaged,
    /// There is not enough room, on the disk or in memory.
    NoSpace,
    /// A newer version of this library wrote it.
    NewerVersion,
    /// Nothing that whoever asked can do anything about.
    Internal,
}

/// A [`std::result::Result`] with this library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What kind of failure it is.
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

    /// Names the file in which an I/O error came up.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |cause| Error::Io { path: path.to_path_buf(), cause }
    }

    /// A file whose content is not what it should be.
    pub(crate) fn malformed(path: &Path, problem: impl Into<String>) -> Error {
        Error::Malformed { path: path.to_path_buf(), problem: problem.into() }
    }

    /// A file of this library that is not as it was written.
    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), problem: problem.into() }
    }

    /// A parameter that is out of range.
    pub(crate) fn parameter(
        name: &'static str,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Error {
        Error::Parameter { name, expected: expected.into(), found: found.to_string() }
    }
}

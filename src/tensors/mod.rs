//! Named arrays in safetensors format, and the files of models and hash functions, which contain
//! them.

mod arrays;
mod file;

pub(crate) use self::arrays::Tensors;
pub use self::file::FileKind;
pub(crate) use self::file::{Format, INDEX_MAGIC};

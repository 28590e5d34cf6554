//! Named arrays in safetensors form, and the files of them that models and hash functions are kept in.

mod arrays;
mod file;

pub(crate) use self::arrays::Tensors;
pub use self::file::FileKind;
pub(crate) use self::file::{Format, INDEX_MAGIC};

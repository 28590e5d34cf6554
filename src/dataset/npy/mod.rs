//! npy files, the format of arrays saved by numpy.

mod header;
mod strings;
mod writer;

use super::array::{Array, Order};
use super::content::Content;
use super::input::Input;
use crate::Result;
pub(super) use header::{Header, Item, header};
pub(super) use strings::{Strings, text_bytes};
pub(super) use writer::RawWriter;
pub use writer::{NpyElement, NpyWriter};

/// Opens an array of numbers or strings.
pub(super) fn open(mut input: Input) -> Result<Content> {
    let header = Header::read(&mut input)?;
    let order = if header.fortran_order { Order::Columns } else { Order::Rows };
    match header.item(input.path())? {
        Item::Number(element) => {
            Array::new(input, element, header.sizes, order).map(Content::Array)
        }
        Item::Text(item) => Ok(Content::Texts(Box::new(Strings::new(input, item, &header.sizes)?))),
    }
}

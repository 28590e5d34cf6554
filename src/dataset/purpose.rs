//! What files are read for.

/// What the content is wanted for. It matters where a file holds several arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Features,
    Labels,
    Ids,
    Codes,
}

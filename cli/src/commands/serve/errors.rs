//! Errors as clients see them: always `{"error": {"status": ..., "message": ...}}`.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hashbrook::{Error, ErrorKind};
use serde_json::json;

use super::body::json_response;
use super::log::Failure;

/// Returns whether reading an item failed because of its bytes on the disk, which are damaged or
/// unreadable. Answers with many items report such an item in its place.
pub fn is_unreadable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Internal)
}

/// Error response of a failed request.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    message: String,
    /// Seconds after which the client may try again.
    retry_after: Option<u32>,
}

impl Problem {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Problem {
        Problem { status, message: message.into(), retry_after: None }
    }

    /// Returns the error for a request whose content is invalid.
    pub fn unprocessable(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    pub fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, message)
    }

    pub fn conflict(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, message)
    }

    /// Returns the error for a request that needs a collection while there is none yet.
    pub fn nothing_yet() -> Problem {
        Problem::conflict("nothing was put in yet; the first POST /items makes the collection")
    }

    /// Returns an internal error, which the client cannot fix.
    pub fn internal(cause: impl std::fmt::Display) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the answer: {cause}"))
    }

    /// Adds the seconds after which the client may try again.
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.retry_after = Some(seconds);
        self
    }

    /// Returns the same error, for a change. If the change may have reached the disk, the message
    /// says how to proceed.
    pub fn of_change(mut self) -> Problem {
        use StatusCode as Status;
        if matches!(self.status, Status::INTERNAL_SERVER_ERROR | Status::INSUFFICIENT_STORAGE) {
            self.message += "; the outcome is unknown: the change may take effect after a restart. Repeat it \
                             with the same ids, which is safe";
        }
        self
    }

    /// Returns the same error, with its subject in front of the message.
    pub fn of(mut self, what: impl std::fmt::Display) -> Problem {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let status = match error.kind() {
            ErrorKind::BadInput => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        // A missing file on the server is an internal error, unlike a missing item.
        let status = match (&error, status) {
            (Error::Io { .. }, StatusCode::NOT_FOUND) => StatusCode::INTERNAL_SERVER_ERROR,
            (_, status) => status,
        };
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        Problem { status, message: error.to_string(), retry_after }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Problem {
        Problem::unprocessable(rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Problem {
        Problem::unprocessable(rejection.body_text())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({"error": {"status": self.status.as_u16(), "message": self.message}});
        let mut response = json_response(self.status, body.to_string());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // Internal errors are logged for the operator, because clients cannot fix them.
        if self.status.is_server_error() {
            response.extensions_mut().insert(Failure(self.message));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_sector_makes_one_item_unreadable() {
        let path = std::path::PathBuf::from("journal");
        let input_output_error = std::io::Error::from_raw_os_error(5);
        assert!(is_unreadable(&Error::Io { path: path.clone(), cause: input_output_error }));
        assert!(is_unreadable(&Error::Damaged { path, problem: "the row".to_owned() }));
        assert!(!is_unreadable(&Error::NoItem("7".to_owned())));
    }

    #[test]
    fn the_outcome_of_a_change_is_unknown_after_an_io_error() {
        let io =
            |kind: std::io::ErrorKind| Error::Io { path: "journal".into(), cause: kind.into() };
        for kind in [std::io::ErrorKind::StorageFull, std::io::ErrorKind::Other] {
            let message = Problem::from(io(kind)).of_change().to_string();
            assert!(message.contains("outcome is unknown"), "{message}");
        }
        let refused = Problem::from(Error::NoItem("7".to_owned())).of_change();
        assert_eq!(refused.to_string(), "there is no item 7");
    }
}

//! Memory of answers: limits the bytes of answers that clients have not read yet.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::errors::Problem;

/// Answers up to this many bytes are not counted.
const SMALL: usize = 1 << 16;

/// Limit of the total bytes of unread answers, as a multiple of --max-answer.
const ANSWERS: usize = 16;

/// Budget of memory, in KiB, for answers that are being sent.
pub struct AnswerMemory {
    free: Arc<Semaphore>,
    total: usize,
}

/// Bytes of an answer, with the permit that counts them until the connection has written them.
struct Counted {
    bytes: Bytes,
    _memory: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AnswerMemory {
    /// Creates the budget for answers of up to `max_answer` bytes each.
    pub fn new(max_answer: usize) -> AnswerMemory {
        let kib = (max_answer >> 10).saturating_mul(ANSWERS);
        let total = kib.clamp(1 << 10, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        AnswerMemory { free: Arc::new(Semaphore::new(total)), total }
    }

    /// Counts the bytes of an answer until the returned value is dropped. Fails if the budget is
    /// used up: while waiting, the bytes would take memory without being counted.
    pub fn count(&self, bytes: Bytes) -> Result<Bytes, Problem> {
        if bytes.len() <= SMALL {
            return Ok(bytes);
        }
        let kib = (bytes.len() >> 10).min(self.total) as u32;
        match self.free.clone().try_acquire_many_owned(kib) {
            Ok(memory) => Ok(Bytes::from_owner(Counted { bytes, _memory: memory })),
            Err(_) => {
                let message = format!(
                    "unread answers take {} MB already ({ANSWERS} times --max-answer); read them, or try \
                     again later",
                    self.total >> 10
                );
                Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, message).retry_after(1))
            }
        }
    }

    /// Counts an answer that is completely in memory. Streams of chunks count each chunk by
    /// [`AnswerMemory::count`] instead.
    pub async fn counted(&self, response: Response) -> Response {
        let size = response.body().size_hint().exact().unwrap_or(0);
        if size <= SMALL as u64 {
            return response;
        }
        let (parts, body) = response.into_parts();
        let bytes = match body.collect().await {
            Ok(whole) => whole.to_bytes(),
            Err(error) => return Problem::internal(error).into_response(),
        };
        match self.count(bytes) {
            Ok(bytes) => Response::from_parts(parts, Body::from(bytes)),
            Err(problem) => problem.into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_until_they_are_dropped() {
        let memory = AnswerMemory::new(1 << 20);
        let large = || Bytes::from(vec![0; 4 << 20]);
        let mut held: Vec<Bytes> = (0..4).map(|_| memory.count(large()).unwrap()).collect();
        assert!(memory.count(large()).is_err());
        assert!(memory.count(Bytes::from_static(b"small")).is_ok());
        // A slice of an answer keeps the whole answer in memory.
        held[0] = held[0].slice(..10);
        assert!(memory.count(large()).is_err());
        held.pop();
        held.push(memory.count(large()).unwrap());
        held.clear();
        // An answer larger than the whole limit is sent if no other answer is unread.
        assert!(memory.count(Bytes::from(vec![0; 20 << 20])).is_ok());
    }
}

//! Requests to a service, and the errors it returns.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use ureq::http::{Request, StatusCode};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, RequestExt};

use crate::console;

/// Maximum number of attempts for a request that the service refuses temporarily.
const TRIES: usize = 20;

/// Content type of JSON, which most calls take.
pub const JSON: &str = "application/json";

/// A service, and how to connect to it.
pub struct Service {
    agent: Agent,
    url: String,
    authorization: Option<String>,
}

impl Service {
    pub fn new(
        url: &str,
        token: Option<String>,
        authority: Option<&Path>,
        patience: u64,
    ) -> Result<Service> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            bail!("{url:?} is not where a service is; http://127.0.0.1:7878 would be");
        }
        let roots = match authority {
            None => RootCerts::WebPki,
            Some(path) => RootCerts::new_with_certs(&certificates(path)?),
        };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(patience)))
            .max_redirects(0)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build()
            .into();
        let authorization = token.map(|token| format!("Bearer {token}"));
        Ok(Service { agent, url: url.trim_end_matches('/').to_owned(), authorization })
    }

    pub fn get(&self, path: &str) -> Result<Value> {
        self.json("GET", path, JSON, &[])
    }

    pub fn post(&self, path: &str, value: &Value) -> Result<Value> {
        self.json("POST", path, JSON, value.to_string().as_bytes())
    }

    /// Sends a body of content type `kind`, and parses the response as JSON.
    pub fn json(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<Value> {
        let bytes = self.bytes(method, path, kind, body)?;
        serde_json::from_slice(&bytes).with_context(|| {
            format!("{} answers with no JSON; is it a hashbrook service?", self.url)
        })
    }

    /// Sends a body of content type `kind`, and returns the body of the response.
    pub fn bytes(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<Vec<u8>> {
        let mut tries = 0;
        loop {
            let (status, wait, answer) = self.once(method, path, kind, body)?;
            if status.is_success() {
                return Ok(answer);
            }
            tries += 1;
            // Only requests that the service refused before doing any work are sent again.
            match wait.filter(|_| status == StatusCode::TOO_MANY_REQUESTS && tries < TRIES) {
                Some(seconds) => std::thread::sleep(Duration::from_secs(seconds)),
                None => return Err(failure(status, &answer)),
            }
        }
    }

    /// Sends a request once. Returns the status, the seconds after which to try again, and the
    /// body.
    fn once(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &[u8],
    ) -> Result<(StatusCode, Option<u64>, Vec<u8>)> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if !body.is_empty() {
            request = request.header("content-type", kind);
        }
        let wrong = || format!("{}{path} cannot be asked", self.url);
        let request = request.body(body).with_context(wrong)?;
        let mut response = request.with_agent(&self.agent).run().with_context(wrong)?;
        let wait = response.headers().get("retry-after");
        let wait = wait.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        let status = response.status();
        let answer = response.body_mut().with_config().limit(u64::MAX).read_to_vec();
        Ok((status, wait, answer.with_context(|| format!("{} broke off its answer", self.url))?))
    }
}

/// Turns the error response of a service into an error.
fn failure(status: StatusCode, answer: &[u8]) -> anyhow::Error {
    let value: Value = serde_json::from_slice(answer).unwrap_or_default();
    match value["error"]["message"].as_str() {
        Some(message) => anyhow::anyhow!("{message} (status {})", status.as_u16()),
        None => anyhow::anyhow!("the service answers with status {}", status.as_u16()),
    }
}

/// Reads the certificates of a PEM file.
fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>> {
    let pem = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        bail!("{} has no certificate in it", path.display());
    }
    Ok(certificates)
}

/// Escapes a string for use as a path segment.
pub fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    // Segments of one or two dots would change the path.
    let dots = text.bytes().all(|byte| byte == b'.');
    text.bytes()
        .map(|byte| match plain(byte) && !dots {
            true => (byte as char).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// Prints a response as JSON, or a sentence about it.
pub fn print(json: bool, answer: &Value, sentence: impl FnOnce() -> String) -> Result<()> {
    match json {
        true => console::line(answer),
        false => console::line(sentence()),
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn any_text_is_one_part_of_a_path() {
        assert_eq!(escaped("a-7_.~"), "a-7_.~");
        assert_eq!(escaped("a/b c?é"), "a%2Fb%20c%3F%C3%A9");
        assert_eq!(escaped(".."), "%2E%2E");
    }
}

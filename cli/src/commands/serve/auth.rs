//! Authorization by bearer tokens from a file.

use std::path::Path;

use anyhow::{Context, Result, bail};
use axum::http::{HeaderMap, StatusCode, header};
use subtle::{Choice, ConstantTimeEq};

use super::errors::Problem;

/// Authorization that a route requires: none, a read token, or a write token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Open,
    Read,
    Write,
}

/// Maximum length of a token in bytes.
const LONGEST: usize = 256;

/// A token padded with zeros, so that every comparison takes the same time. No token contains zero
/// bytes.
type Padded = [u8; LONGEST];

/// Tokens and their scopes.
pub struct Tokens(Vec<(Scope, Padded)>);

impl Tokens {
    pub fn load(path: &Path) -> Result<Tokens> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        let tokens = Tokens::parse(&text).with_context(|| path.display().to_string())?;
        #[cfg(unix)]
        warn_if_readable_by_others(path);
        Ok(tokens)
    }

    fn parse(text: &str) -> Result<Tokens> {
        let mut tokens = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let wrong = || format!("line {} is not `read TOKEN` or `write TOKEN`", at + 1);
            if line.is_empty() {
                continue;
            }
            // Error messages must not contain the token itself.
            let Some((scope, token)) = line.split_once(char::is_whitespace) else { bail!(wrong()) };
            let scope = match scope {
                "read" => Scope::Read,
                "write" => Scope::Write,
                _ => bail!(wrong()),
            };
            let token = token.trim();
            match padded(token.as_bytes()) {
                Some(padded) if token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                    tokens.push((scope, padded));
                }
                _ => bail!(
                    "the token in line {} must have 1 to {LONGEST} visible ASCII characters",
                    at + 1
                ),
            }
        }
        if tokens.is_empty() {
            bail!("there is no token in it: nobody could do anything");
        }
        Ok(Tokens(tokens))
    }

    /// Fails unless the headers have a token that permits this scope.
    pub fn check(&self, scope: Scope, headers: &HeaderMap) -> Result<(), Problem> {
        if scope == Scope::Open {
            return Ok(());
        }
        let given = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let unauthorized = |message| Problem::new(StatusCode::UNAUTHORIZED, message);
        let Some(given) = given else {
            return Err(unauthorized("a token is needed, as in `Authorization: Bearer TOKEN`"));
        };
        let token =
            given.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
        let Some(token) = token.and_then(|(_, token)| padded(token.trim_ascii())) else {
            return Err(unauthorized("the token is not given as `Authorization: Bearer TOKEN`"));
        };
        // All tokens are compared, so that the time does not reveal which one matches.
        let (mut known, mut enough) = (Choice::from(0), Choice::from(0));
        for (has, padded) in &self.0 {
            let same = padded.ct_eq(&token);
            known |= same;
            enough |= same & Choice::from(u8::from(*has >= scope));
        }
        match (bool::from(known), bool::from(enough)) {
            (_, true) => Ok(()),
            (true, false) => {
                Err(Problem::new(StatusCode::FORBIDDEN, "this token may read, and not write"))
            }
            (false, false) => Err(unauthorized("the token is not known here")),
        }
    }
}

/// Warns about a token file that other users of this machine can read.
#[cfg(unix)]
fn warn_if_readable_by_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o044 != 0 {
        let (path, mode) = (path.display(), mode & 0o777);
        tracing::warn!(
            target: super::log::SERVICE,
            "{path}: other users of this machine can read the tokens (expected mode 600, found mode \
             {mode:03o}); run `chmod 600 {path}`"
        );
    }
}

fn padded(token: &[u8]) -> Option<Padded> {
    let mut padded = [0; LONGEST];
    padded.get_mut(..token.len()).filter(|part| !part.is_empty())?.copy_from_slice(token);
    Some(padded)
}

/// Checks requests of a service without tokens. Fails for requests that a page of another site,
/// open in a browser on this machine, could send: those for another host or from another origin.
pub fn check_local(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let (host, origin) = (text(header::HOST), text(header::ORIGIN));
    let forbidden = |message: &str| Err(Problem::new(StatusCode::FORBIDDEN, message));
    if host.is_some_and(|host| !is_local(host)) {
        return forbidden("without tokens only requests to localhost are answered");
    }
    let Some(origin) = origin else { return Ok(()) };
    let from = origin.split_once("://").map(|(_, from)| from);
    if from.is_none() || from != host {
        return forbidden("without tokens pages of other sites are not answered");
    }
    Ok(())
}

/// Returns whether a host, with or without a port, is this machine.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let loopback = name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    loopback
        || name.eq_ignore_ascii_case("localhost")
        || name.to_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tokens: &Tokens, scope: Scope, header: &str) -> Option<u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, header.parse().unwrap());
        use axum::response::IntoResponse;
        let checked = tokens.check(scope, &headers);
        checked.err().map(|problem| problem.into_response().status().as_u16())
    }

    #[test]
    fn tokens_are_good_for_what_they_say() {
        let tokens = Tokens::parse("# people\nread abc # of the page\n\nwrite  def\n").unwrap();
        assert_eq!(check(&tokens, Scope::Read, "Bearer abc"), None);
        assert_eq!(check(&tokens, Scope::Read, "bearer def"), None);
        assert_eq!(check(&tokens, Scope::Write, "Bearer def"), None);
        assert_eq!(check(&tokens, Scope::Write, "Bearer abc"), Some(403));
        for wrong in
            ["Bearer ab", "Bearer abcd", "Bearer", "Bearer ", "Basic abc", "abc", "Bearerabc"]
        {
            assert_eq!(check(&tokens, Scope::Read, wrong), Some(401), "{wrong}");
        }
        assert_eq!(check(&tokens, Scope::Read, &format!("Bearer {}", "a".repeat(300))), Some(401));
        assert!(tokens.check(Scope::Read, &HeaderMap::new()).is_err());
        assert!(tokens.check(Scope::Open, &HeaderMap::new()).is_ok());
    }

    #[test]
    fn files_of_tokens_are_read_whole_or_refused_without_telling_them() {
        for text in ["", "# nothing", "abc", "admin abc", "read a\u{e9}", "read a b", "write"] {
            let error = format!("{:#}", Tokens::parse(text).err().unwrap());
            assert!(!error.contains("abc") && !error.contains("a b"), "{error}");
        }
        assert!(Tokens::parse(&format!("read {}", "a".repeat(257))).is_err());
        assert!(Tokens::parse(&format!("read {}", "a".repeat(256))).is_ok());
    }

    #[test]
    fn pages_of_other_sites_are_not_answered_without_tokens() {
        let local = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
            check_local(&headers).is_ok()
        };
        for host in ["localhost:7878", "127.0.0.1:7878", "[::1]:7878", "127.0.0.1", "a.localhost"] {
            assert!(local(host, None) && local(host, Some(&format!("http://{host}"))), "{host}");
            assert!(!local(host, Some("http://example.org")) && !local(host, Some("null")));
        }
        assert!(!local("example.org:7878", None) && !local("10.0.0.1", None));
        assert!(check_local(&HeaderMap::new()).is_ok());
    }
}

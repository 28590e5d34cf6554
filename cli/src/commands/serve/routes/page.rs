//! Files compiled into the program: the web page, and the description of the calls.

use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::super::body::json_response;
use super::super::errors::Problem;
use super::super::openapi;

/// Content security policy: the page loads nothing from other sites, and no other site may frame
/// it.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

fn file(kind: &'static str, content: &'static str) -> Response {
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Browsers revalidate the files, because another version of the program has another page.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

pub async fn index() -> Response {
    file("text/html; charset=utf-8", include_str!("../page/index.html"))
}

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Files of the page besides its HTML.
const PARTS: [(&str, &str, &str); 17] = [
    ("page.css", STYLE, include_str!("../page/page.css")),
    ("page.js", SCRIPT, include_str!("../page/page.js")),
    ("ask.js", SCRIPT, include_str!("../page/ask.js")),
    ("charts.js", SCRIPT, include_str!("../page/charts.js")),
    ("classes.js", SCRIPT, include_str!("../page/classes.js")),
    ("digit.js", SCRIPT, include_str!("../page/digit.js")),
    ("draw.js", SCRIPT, include_str!("../page/draw.js")),
    ("first.js", SCRIPT, include_str!("../page/first.js")),
    ("items.js", SCRIPT, include_str!("../page/items.js")),
    ("renew.js", SCRIPT, include_str!("../page/renew.js")),
    ("search.js", SCRIPT, include_str!("../page/search.js")),
    ("server.js", SCRIPT, include_str!("../page/server.js")),
    ("state.js", SCRIPT, include_str!("../page/state.js")),
    ("token.js", SCRIPT, include_str!("../page/token.js")),
    ("vector.js", SCRIPT, include_str!("../page/vector.js")),
    ("words.js", SCRIPT, include_str!("../page/words.js")),
    ("icon.svg", "image/svg+xml", include_str!("../page/icon.svg")),
];

pub async fn part(path: Result<Path<String>, PathRejection>) -> Result<Response, Problem> {
    let Path(name) = path?;
    let part = PARTS.iter().find(|(part, ..)| *part == name);
    let (_, kind, content) =
        part.ok_or_else(|| Problem::not_found(format!("the page has no part {name:?}")))?;
    Ok(file(kind, content))
}

pub async fn openapi() -> Response {
    json_response(StatusCode::OK, openapi::TEXT)
}

#[cfg(test)]
mod tests {
    use super::PARTS;

    #[test]
    fn the_page_asks_for_nothing_that_it_has_not_got() {
        let index = include_str!("../page/index.html");
        let scripts = PARTS.iter().filter(|(name, ..)| name.ends_with(".js"));
        let asked = scripts.flat_map(|(_, _, text)| quoted_after(text, "from \"./"));
        let asked: Vec<&str> = asked.chain(quoted_after(index, "=\"page/")).collect();
        for (name, ..) in PARTS {
            assert!(asked.contains(&name), "{name} is asked for by nobody");
        }
        for name in asked {
            assert!(PARTS.iter().any(|(part, ..)| *part == name), "{name} is not there");
        }
    }

    /// Returns the text after each occurrence of `beginning`, up to the next quotation mark.
    fn quoted_after<'a>(text: &'a str, beginning: &str) -> Vec<&'a str> {
        text.split(beginning).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }
}

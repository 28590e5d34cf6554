//! Files that are part of the program: the page, and the description of the calls.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::super::body::json_response;
use super::super::openapi;

/// The page loads nothing from elsewhere, and is shown by no other.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

fn file(kind: &'static str, content: &'static str) -> Response {
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Another version of the program has another page.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

pub async fn index() -> Response {
    file("text/html; charset=utf-8", include_str!("../page/index.html"))
}

pub async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("../page/page.css"))
}

pub async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("../page/page.js"))
}

pub async fn openapi() -> Response {
    json_response(StatusCode::OK, openapi::TEXT)
}

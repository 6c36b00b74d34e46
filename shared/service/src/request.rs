//! From an HTTP request to JSON text: the route, the media type, the encoding, the size (SPEC 2.5, 2.6).
//!
//! It knows nothing of what a body means. Whatever it refuses, it refuses before much memory is spent on it: a
//! compressed body is never unpacked beyond the limit.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::bufread::GzDecoder;
use lambda_http::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use lambda_http::http::{HeaderMap, HeaderValue, Method};
use lambda_http::{Body, Request, RequestExt as _};

use crate::problem::Problem;
use model::json::{JsonSyntaxError, JsonText};
use model::limits::{MAX_BODY_BYTES, MAX_GZIP_MEMBERS};

/// A path that a function answers, and the methods that it has there. `template.yaml` is the source; a test compares.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The whole path.
    pub path: &'static str,
    /// The methods beside OPTIONS, which every path has.
    pub methods: &'static [&'static str],
}

impl Route {
    /// The value of `Allow`, the same in a 204 and in a 405: every method that the path answers (RFC 9110, section 10.2.1).
    #[must_use]
    pub fn allow(&self) -> String {
        format!("{}, {}", self.methods.join(", "), Method::OPTIONS)
    }
}

/// Which of its `routes` a function was called by. Everything else is decided after the caller is known.
///
/// # Errors
/// [`Problem::NotFound`] and [`Problem::MethodNotAllowed`].
pub fn route(routes: &'static [Route], request: &Request) -> Result<&'static Route, Problem> {
    let path = request.raw_http_path();
    let route = routes.iter().find(|route| route.path == path).ok_or(Problem::NotFound)?;
    if asks_for_options(request) || route.methods.iter().any(|method| request.method() == *method) {
        Ok(route)
    } else {
        Err(Problem::MethodNotAllowed(route))
    }
}

/// Whether only the methods of the path are asked for, as a browser's preflight does. It carries no key, so it is answered
/// before the caller is known.
#[must_use]
pub fn asks_for_options(request: &Request) -> bool {
    request.method() == Method::OPTIONS
}

/// Whether the caller asks that nothing be stored unless everything is right: `Prefer: handling=strict` (RFC 7240).
#[must_use]
pub fn prefers_strict_handling(headers: &HeaderMap) -> bool {
    // The first of two equal preferences counts (RFC 7240, section 2).
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split(',')).map(|preference| preference.split(';').next());
    let handling = preferences.find_map(|preference| {
        let (name, value) = preference?.split_once('=')?;
        name.trim().eq_ignore_ascii_case("handling").then(|| value.trim().trim_matches('"').to_owned())
    });
    handling.is_some_and(|value| value.eq_ignore_ascii_case("strict"))
}

/// The body of `request` as it was before its Content-Encoding.
///
/// # Errors
/// [`Problem::UnsupportedMediaType`], [`Problem::PayloadTooLarge`], [`Problem::MalformedGzip`] for a body that is no gzip
/// although it says so, [`Problem::TooManyGzipMembers`], and [`Problem::MalformedJson`] for one that is no UTF-8.
pub fn read_body(request: &Request) -> Result<Cow<'_, str>, Problem> {
    require_json(request.headers())?;
    let bytes: &[u8] = match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        _ => &[],
    };
    if bytes.len() > MAX_BODY_BYTES {
        return Err(Problem::PayloadTooLarge { sent: Some(bytes.len()) });
    }
    if !is_gzip(request.headers())? {
        return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| not_utf8(bytes, error));
    }
    let unpacked = gunzip(bytes)?;
    String::from_utf8(unpacked).map(Cow::Owned).map_err(|error| not_utf8(error.as_bytes(), error.utf8_error()))
}

/// The body as JSON.
///
/// # Errors
/// [`Problem::MalformedJson`] with the line and the column where it is none.
pub fn parse_json(body: &str) -> Result<JsonText<'_>, Problem> {
    JsonText::parse(body).map_err(Problem::MalformedJson)
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(Problem::UnsupportedMediaType("Content-Type must be application/json."))
    }
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Problem> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter().filter(|value| !is_identity(value));
    let Some(encoding) = encodings.next() else { return Ok(false) };
    // x-gzip is gzip (RFC 9110, section 8.4.1.3).
    let gzip = [&b"gzip"[..], b"x-gzip"].iter().any(|name| encoding.as_bytes().trim_ascii().eq_ignore_ascii_case(name));
    if gzip && encodings.next().is_none() {
        Ok(true)
    } else {
        Err(Problem::UnsupportedMediaType("Content-Encoding must be gzip or identity."))
    }
}

fn is_identity(encoding: &HeaderValue) -> bool {
    let encoding = encoding.as_bytes().trim_ascii();
    encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity")
}

/// Decompresses member by member (RFC 1952, section 2.2), no further than one byte beyond the limit.
fn gunzip(mut bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut unpacked = Vec::new();
    for _ in 0..MAX_GZIP_MEMBERS {
        let room = MAX_BODY_BYTES.saturating_add(1).saturating_sub(unpacked.len());
        let mut member = GzDecoder::new(&mut bytes).take(u64::try_from(room).unwrap_or(u64::MAX));
        member.read_to_end(&mut unpacked).map_err(|_| Problem::MalformedGzip)?;
        if unpacked.len() > MAX_BODY_BYTES {
            return Err(Problem::PayloadTooLarge { sent: None });
        }
        if bytes.is_empty() {
            return Ok(unpacked);
        }
    }
    Err(Problem::TooManyGzipMembers)
}

fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> Problem {
    let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
    let lines = before.split(|byte| *byte == b'\n');
    Problem::MalformedJson(JsonSyntaxError {
        reason: "invalid UTF-8".to_owned(),
        column: lines.clone().next_back().unwrap_or_default().len().saturating_add(1),
        line: lines.count(),
    })
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;

//! The body of a request as text: media type, encoding, size (docs/api.md, Limits).
//!
//! This module must not know what a body means. It rejects a body before it allocates much memory:
//! a compressed body is never decompressed beyond the limit.

use std::borrow::Cow;
use std::io::{ErrorKind, Read as _};

use flate2::bufread::GzDecoder;
use lambda_http::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use lambda_http::http::{HeaderMap, HeaderName};
use lambda_http::{Body, Request};
use model::json::JsonSyntaxError;
use model::limits::{MAX_BODY_BYTES, MAX_GZIP_MEMBERS};

use crate::context::RequestContext;
use crate::problem::{BodyEncoding, GzipFault, Problem};

/// The first bytes of gzip (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// The body of `request`, decompressed.
///
/// # Errors
/// [`Problem::UnsupportedMediaType`], [`Problem::UnsupportedContentEncoding`],
/// [`Problem::PayloadTooLarge`], [`Problem::MalformedGzip`], [`Problem::TooManyGzipMembers`], and
/// [`Problem::MalformedJson`] or [`Problem::WrongEncoding`] for a body that is not UTF-8.
pub fn read_body<'r>(
    request: &'r Request,
    context: &mut RequestContext,
) -> Result<Cow<'r, str>, Problem> {
    let body = decode_body(request)?;
    context.body_bytes = Some(body.len());
    Ok(body)
}

fn decode_body(request: &Request) -> Result<Cow<'_, str>, Problem> {
    require_json(request.headers())?;
    let bytes: &[u8] = match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        _ => &[],
    };
    if is_gzip(request.headers())? {
        return decompress(bytes);
    }
    if bytes.len() > MAX_BODY_BYTES {
        return Err(Problem::PayloadTooLarge {
            sent: Some(bytes.len()),
        });
    }
    std::str::from_utf8(bytes)
        .map(Cow::Borrowed)
        .map_err(|error| not_utf8(bytes, error, BodyEncoding::Gzip))
}

/// The text of a gzip body. The event of API Gateway limits the compressed body to 4.7 MB, which may be
/// more than its text: what cannot be compressed grows a little.
fn decompress(bytes: &[u8]) -> Result<Cow<'static, str>, Problem> {
    String::from_utf8(gunzip(bytes)?)
        .map(Cow::Owned)
        .map_err(|error| {
            let of_gzip = BodyEncoding::GzipInsideGzip;
            not_utf8(error.as_bytes(), error.utf8_error(), of_gzip)
        })
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let value = text_of(headers, CONTENT_TYPE);
    let media_type = value.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(Problem::UnsupportedMediaType {
            is_repeated: is_repeated(headers, CONTENT_TYPE),
        })
    }
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

/// Whether the client sent a header more than once. API Gateway joins the values by commas.
fn is_repeated(headers: &HeaderMap, name: HeaderName) -> bool {
    headers.get_all(&name).iter().count() > 1 || text_of(headers, name).contains(',')
}

/// Whether the body of a request with these headers is compressed with gzip.
///
/// # Errors
/// [`Problem::UnsupportedContentEncoding`].
pub fn is_gzip(headers: &HeaderMap) -> Result<bool, Problem> {
    let encoding = headers
        .get(CONTENT_ENCODING)
        .map(|value| value.as_bytes().trim_ascii().to_ascii_lowercase());
    match encoding.as_deref().unwrap_or_default() {
        b"" | b"identity" => Ok(false),
        // Both names mean the same encoding (RFC 9110, section 8.4.1.3).
        b"gzip" | b"x-gzip" => Ok(true),
        _ => Err(Problem::UnsupportedContentEncoding {
            is_repeated: is_repeated(headers, CONTENT_ENCODING),
        }),
    }
}

/// Decompresses a gzip body member by member (RFC 1952, section 2.2), up to one byte beyond the
/// limit.
///
/// # Errors
/// [`Problem::MalformedGzip`], [`Problem::PayloadTooLarge`] and [`Problem::TooManyGzipMembers`].
pub fn gunzip(mut bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut decompressed = Vec::new();
    for index in 0..MAX_GZIP_MEMBERS {
        let room = MAX_BODY_BYTES + 1 - decompressed.len();
        if !bytes.starts_with(&GZIP_MAGIC) {
            let fault = if index == 0 {
                GzipFault::NotGzip
            } else {
                GzipFault::Followed
            };
            return Err(Problem::MalformedGzip(fault));
        }
        let mut member = GzDecoder::new(&mut bytes).take(u64::try_from(room).unwrap_or(u64::MAX));
        member
            .read_to_end(&mut decompressed)
            .map_err(|error| Problem::MalformedGzip(gzip_fault(&error)))?;
        if decompressed.len() > MAX_BODY_BYTES {
            return Err(Problem::PayloadTooLarge { sent: None });
        }
        if bytes.is_empty() {
            return Ok(decompressed);
        }
    }
    Err(Problem::TooManyGzipMembers)
}

fn gzip_fault(error: &std::io::Error) -> GzipFault {
    match error.kind() {
        ErrorKind::UnexpectedEof => GzipFault::CutOff,
        _ => GzipFault::Damaged,
    }
}

/// The problem of a body that is not UTF-8; `of_gzip` is the encoding of one that is still gzip.
fn not_utf8(bytes: &[u8], error: std::str::Utf8Error, of_gzip: BodyEncoding) -> Problem {
    if bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE]) {
        return Problem::WrongEncoding(BodyEncoding::Utf16);
    }
    if bytes.starts_with(&GZIP_MAGIC) {
        return Problem::WrongEncoding(of_gzip);
    }
    let (before, _) = bytes.split_at(error.valid_up_to());
    let mut lines = 0;
    let mut last_line: &[u8] = &[];
    for line in before.split(|byte| *byte == b'\n') {
        lines += 1;
        last_line = line;
    }
    Problem::MalformedJson(JsonSyntaxError {
        reason: "invalid UTF-8".to_owned(),
        line: lines,
        column: last_line.len() + 1,
    })
}

#[cfg(test)]
mod tests;

//! Requests that the HTTP library refuses before it knows what is asked for: a malformed or too large
//! head, TLS, or HTTP/2. Must not know how a connection is read.

use std::time::Duration;

use axum::http::{HeaderMap, Method, StatusCode, Uri};

use super::own_response::own_response;
use super::server::RefusedHead;
use crate::exchange::Exchange;
use crate::exchange::api_key::SentKey;
use crate::exchange::sent_request::{SentBody, SentRequest};

/// The first byte of a TLS connection: the record type of a handshake (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;

/// How an HTTP/2 connection begins (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// The most characters that are shown of a target.
const MAX_TARGET_CHARS: usize = 200;

/// What is recorded of a refused request, as far as it can be read.
pub(super) fn exchange(head: &RefusedHead) -> Exchange {
    let text = String::from_utf8_lossy(&head.start);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let is_http = head.start.first() != Some(&TLS_HANDSHAKE);
    let method = words.next().filter(|_| is_http);
    let method = method.and_then(|word| Method::from_bytes(word.as_bytes()).ok());
    let target: String = words
        .next()
        .unwrap_or_default()
        .chars()
        .take(MAX_TARGET_CHARS)
        .collect();
    let sent = SentRequest {
        method: method.unwrap_or_else(unreadable_method),
        uri: target.parse().unwrap_or_else(|_| Uri::from_static("*")),
        headers: HeaderMap::new(),
        body: SentBody::NoRequest,
    };
    let given = own_response(status(head), "Bad Request", Some(reason(head)));
    Exchange::new(sent, given, Duration::ZERO, SentKey::default())
}

/// What stands in place of a method that cannot be read.
fn unreadable_method() -> Method {
    Method::from_bytes(b"-").expect("a hyphen is a token (RFC 9110, section 5.6.2)")
}

/// The status of the HTTP library's response.
fn status(head: &RefusedHead) -> StatusCode {
    if !head.is_too_large {
        return StatusCode::BAD_REQUEST;
    }
    if head.start.contains(&b'\n') {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    } else {
        StatusCode::URI_TOO_LONG
    }
}

fn reason(head: &RefusedHead) -> String {
    if head.start.first() == Some(&TLS_HANDSHAKE) {
        return "the client speaks TLS: its base address must begin with http://".to_owned();
    }
    if head.start.starts_with(HTTP2_PREFACE) {
        return "the client speaks HTTP/2 without TLS, which this port does not: it got no response".to_owned();
    }
    format!("the head of the request cannot be read: {}", head.error)
}

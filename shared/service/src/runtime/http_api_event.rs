//! Parses Lambda's event. This parser replaces `lambda_http`'s types, which take 24,000 more
//! instructions per request.
//!
//! It is the event of an HTTP API, in the payload format 2.0. Clients choose much of it: the name
//! or the value of a header may be invalid, and a path may not form a URI. `lambda_http` rejects
//! such an event; `lambda_runtime` then logs the rejected value, which may be a key, and the
//! invocation ends in an error. This parser reads only the members and headers that are used. It
//! ignores a header or a body that is invalid; an event of another shape is not a request, and
//! gets a 404.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lambda_http::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue, Method};
use lambda_http::{Body, Context, Request, RequestExt as _};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The method of a request whose event has no valid method. No route has it, and API Gateway never
/// forwards it.
const NO_METHOD: Method = Method::CONNECT;

/// The headers that handlers see.
const USED_HEADERS: [HeaderName; 5] = [
    AUTHORIZATION,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    HeaderName::from_static("prefer"),
    HeaderName::from_static("idempotency-key"),
];

/// An event, if it is a request. It cannot be printed, since it contains the key.
pub struct HttpApiEvent(Option<HttpRequest>);

/// The members of an event that are used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HttpRequest {
    raw_path: String,
    #[serde(default)]
    headers: Headers,
    request_context: HttpRequestContext,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

#[derive(Deserialize)]
struct HttpRequestContext {
    http: Http,
}

#[derive(Deserialize)]
struct Http {
    method: String,
}

impl<'de> Deserialize<'de> for HttpApiEvent {
    /// Never fails.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(HttpRequest::deserialize(deserializer).ok()))
    }
}

impl HttpApiEvent {
    /// The request: path, method, headers and body, and Lambda's context. An event that is not a
    /// request gets an empty path, which no route has.
    pub fn into_request(self, context: Context) -> Request {
        let Some(HttpRequest {
            raw_path,
            headers,
            request_context,
            body,
            is_base64_encoded,
        }) = self.0
        else {
            warn_ignored(&context, "the event is not a request");
            return Request::default()
                .with_raw_http_path("")
                .with_lambda_context(context);
        };
        if headers.has_invalid {
            warn_ignored(&context, "the value of a header is invalid");
        }
        let body = decode(body, is_base64_encoded, &context);
        let mut request = Request::new(body);
        *request.method_mut() = parse_method(&request_context.http.method, &context);
        *request.headers_mut() = headers.used;
        request
            .with_raw_http_path(raw_path)
            .with_lambda_context(context)
    }
}

fn parse_method(method: &str, context: &Context) -> Method {
    Method::from_bytes(method.as_bytes()).unwrap_or_else(|_| {
        warn_ignored(context, "the event has no valid method");
        NO_METHOD
    })
}

fn decode(body: Option<String>, is_base64_encoded: bool, context: &Context) -> Body {
    match body {
        None => Body::Empty,
        Some(text) if !is_base64_encoded => Body::Text(text),
        Some(text) => {
            if let Ok(bytes) = STANDARD.decode(text) {
                Body::Binary(bytes)
            } else {
                warn_ignored(context, "the body is not base64");
                Body::Empty
            }
        }
    }
}

fn warn_ignored(context: &Context, reason: &str) {
    tracing::warn!(
        requestId = context.request_id,
        reason,
        "a part of the event was ignored"
    );
}

#[derive(Default)]
struct Headers {
    used: HeaderMap,
    has_invalid: bool,
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

/// Other headers are passed over without a copy.
impl<'de> Visitor<'de> for Headers {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("headers")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut headers: A) -> Result<Self, A::Error> {
        while let Some(Name(name)) = headers.next_key()? {
            let Some(name) = USED_HEADERS
                .into_iter()
                .find(|used| used.as_str().eq_ignore_ascii_case(&name))
            else {
                headers.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: Value = headers.next_value()?;
            match value.as_str().map(HeaderValue::from_str) {
                Some(Ok(value)) => drop(self.used.insert(name, value)),
                _ => self.has_invalid = true,
            }
        }
        Ok(self)
    }
}

/// The name of a header. Without an escape in it, it is not copied.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

//! The Lambda event that API Gateway makes of a request (payload format 2.0 in "Working with AWS
//! Lambda proxy integrations for HTTP APIs"). Must not know what the request means.

use std::borrow::Cow;
use std::time::SystemTime;

use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use data_encoding::BASE64;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::exchange::milliseconds;
use crate::exchange::sent_request::SentRequest;

/// The media types of text that do not begin with `text/`.
const TEXT_TYPES: [&str; 3] = [
    "application/json",
    "application/javascript",
    "application/xml",
];

/// The event of a request. It borrows the body, which may have ten megabytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LambdaEvent<'a> {
    #[serde(flatten)]
    head: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'a, str>>,
    is_base64_encoded: bool,
}

/// The event of a request, with the values of headers as `write_value` writes them.
pub(crate) fn lambda_event<'a>(
    sent: &'a SentRequest,
    request_id: &str,
    write_value: impl Fn(&HeaderName, &HeaderValue) -> String,
) -> LambdaEvent<'a> {
    let path = sent.uri.path();
    let mut headers = Map::new();
    for name in sent.headers.keys() {
        let values: Vec<_> = sent
            .headers
            .get_all(name)
            .iter()
            .map(|value| write_value(name, value))
            .collect();
        headers.insert(name.to_string(), values.join(",").into());
    }
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let head = json!({
        "version": "2.0",
        "routeKey": format!("ANY {path}"),
        "rawPath": path,
        "rawQueryString": sent.uri.query().unwrap_or_default(),
        "headers": headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "local",
            "http": {"method": sent.method.as_str(), "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            "requestId": request_id,
            "routeKey": format!("ANY {path}"),
            "stage": "$default",
            "timeEpoch": milliseconds(since_epoch.unwrap_or_default()),
        },
    });
    let body = sent.body.bytes().filter(|body| !body.is_empty());
    let body = body.map(|body| match std::str::from_utf8(body) {
        Ok(text) if is_text(&sent.headers) => Cow::Borrowed(text),
        _ => Cow::Owned(BASE64.encode(body)),
    });
    let is_base64_encoded = matches!(body, Some(Cow::Owned(_)));
    LambdaEvent {
        head,
        body,
        is_base64_encoded,
    }
}

/// Whether a body with these headers is handed over as text, and not in base64.
fn is_text(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let media_type = content_type.and_then(|value| value.split(';').next());
    let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = media_type.starts_with("text/") || TEXT_TYPES.contains(&media_type.as_str());
    is_text && !headers.contains_key(CONTENT_ENCODING)
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::http::{HeaderMap, HeaderName, Method, Uri};
    use serde_json::json;

    use super::lambda_event;
    use crate::exchange::sent_request::{SentBody, SentRequest};

    #[test]
    fn body_is_base64_unless_its_type_is_of_text() {
        for (headers, body, expected) in [
            (
                &[("content-type", "application/json")][..],
                &b"{}"[..],
                json!(["{}", false]),
            ),
            (
                &[("content-type", "Text/Plain; charset=utf-8")],
                b"a",
                json!(["a", false]),
            ),
            (
                &[("content-type", "application/octet-stream")],
                b"a",
                json!(["YQ==", true]),
            ),
            (
                &[
                    ("content-type", "application/json"),
                    ("content-encoding", "gzip"),
                ],
                b"a",
                json!(["YQ==", true]),
            ),
            (
                &[("content-type", "application/json")],
                b"\xff",
                json!(["/w==", true]),
            ),
            (&[], b"a", json!(["YQ==", true])),
            (&[], b"", json!([null, false])),
        ] {
            let parsed = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            let headers: HeaderMap = parsed.collect();
            let uri = Uri::from_static("/a%20b?c=%C3%A4&d");
            let sent = SentRequest {
                method: Method::POST,
                uri,
                headers,
                body: SentBody::Whole(Bytes::from_static(body)),
            };
            let event = lambda_event(&sent, "r", |_, value| value.to_str().unwrap().to_owned());
            let event = serde_json::to_value(event).unwrap();
            assert_eq!(json!([event["body"], event["isBase64Encoded"]]), expected);
            assert_eq!(
                (&event["rawPath"], &event["rawQueryString"]),
                (&json!("/a%20b"), &json!("c=%C3%A4&d"))
            );
        }
    }
}

//! One request and its response, as the gateway saw them, and what the inspector shows of them. Knows the members of the contract that
//! it shows, and no rule.

use std::borrow::Cow;
use std::io::Read as _;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri};
use emulator::development_key::API_KEY;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::event::{Event, event};

/// The most that a compressed body may become, in bytes: more than the functions accept.
const MAX_DECODED_BYTES: u64 = 8 * 1024 * 1024;

/// The largest body that is read for a list or kept, in bytes: what the functions accept.
pub(crate) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The longest eventType or stepNodeId that is listed, in bytes: more than the functions accept.
const MAX_TYPE_BYTES: usize = 1_024;

/// The members of a response that a list shows.
const OUTCOME: [&str; 7] = ["code", "received", "accepted", "rejected", "deferred", "replayed", "requestIdentifier"];

/// A request, as the client sent it.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// `None` if it is larger than API Gateway accepts, or than what is kept.
    pub(crate) body: Option<Bytes>,
}

/// What a response does not say of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Explanation {
    pub(crate) reason: Option<String>,
    /// The account of the key.
    pub(crate) account: Option<String>,
}

/// A request and its response.
pub(crate) struct Exchange {
    pub(crate) sent: Sent,
    pub(crate) response: Response<Bytes>,
    pub(crate) duration: Duration,
    pub(crate) why: Explanation,
}

impl Sent {
    /// The body as text, decompressed where it is gzip.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        let body = self.body.as_deref()?;
        if self.headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding != "gzip") {
            return std::str::from_utf8(body).ok().map(Cow::Borrowed);
        }
        let mut text = String::new();
        let read = MultiGzDecoder::new(body).take(MAX_DECODED_BYTES).read_to_string(&mut text);
        read.ok().map(|_| Cow::Owned(text))
    }

    /// The same request with another body, not compressed.
    pub(crate) fn with_body(mut self, body: Bytes) -> Self {
        self.headers.remove(CONTENT_ENCODING);
        self.body = Some(body);
        self
    }

    fn path(&self) -> String {
        self.uri.path_and_query().map_or("/", |path| path.as_str()).replace(API_KEY, "$API_KEY")
    }
}

/// The members of a request, or of one of its signals, that a list shows, not parsed: a tree of all members would be many times as large
/// as the body.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Listed<'a> {
    #[serde(borrow)]
    signals: Option<&'a RawValue>,
    customer_id: Option<&'a RawValue>,
    emitter_id: Option<&'a RawValue>,
    event_type: Option<&'a RawValue>,
    step_node_id: Option<&'a RawValue>,
}

impl<'a> Listed<'a> {
    fn parse(text: &'a str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    fn signals(&self) -> impl Iterator<Item = Listed<'a>> {
        let signals = self.signals.and_then(|signals| serde_json::from_str::<Vec<&RawValue>>(signals.get()).ok());
        signals.unwrap_or_default().into_iter().map(|signal| Listed::parse(signal.get()))
    }

    /// The first one of these that is a text.
    fn first_text<const N: usize>(members: [Option<&RawValue>; N]) -> Option<String> {
        members.into_iter().flatten().find_map(|member| serde_json::from_str(member.get()).ok())
    }
}

impl Exchange {
    /// What a list shows of it.
    pub(crate) fn summary(&self) -> Map<String, Value> {
        let request = self.sent.text().filter(|text| text.len() <= MAX_BODY_BYTES).unwrap_or_default();
        let request = Listed::parse(&request);
        let response: Value = serde_json::from_slice(self.response.body()).unwrap_or_default();
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| response.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut types = Map::new();
        let names = request.signals().filter_map(|signal| Listed::first_text([signal.event_type, signal.step_node_id]));
        for name in names.filter(|name| name.len() <= MAX_TYPE_BYTES) {
            let count = types.entry(name).or_insert(json!(0));
            *count = json!(count.as_u64().unwrap_or_default() + 1);
        }
        let subject = request.signals().next();
        let subject = subject.as_ref().unwrap_or(&request);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let id = self.response.headers().get("x-request-id").map(|id| String::from_utf8_lossy(id.as_bytes()));
        let mut errors = list("fieldErrors").iter().chain(list("warnings"));
        let mut summary = members([
            ("time", json!(milliseconds(now))),
            ("method", json!(self.sent.method.as_str())),
            ("path", json!(self.sent.path())),
            ("status", json!(self.response.status().as_u16())),
            ("durationMs", json!(milliseconds(self.duration))),
            ("reason", json!(self.why.reason)),
            ("account", json!(self.why.account)),
            ("requestId", json!(id)),
            ("pointer", json!(errors.find_map(|entry| text(entry, "pointer")))),
            ("warnings", json!(list("warnings").len())),
            ("subject", json!(Listed::first_text([subject.customer_id, subject.emitter_id]))),
            ("types", Value::Object(types)),
            ("requestBytes", json!(self.sent.body.as_ref().map(Bytes::len))),
        ]);
        summary.extend(members(OUTCOME.map(|name| (name, response.get(name).cloned().unwrap_or_default()))));
        summary
    }

    /// The rest of it, without the key.
    pub(crate) fn detail(&self) -> Map<String, Value> {
        members([
            ("requestHeaders", json!(shown(&self.sent.headers))),
            ("requestBody", json!(self.sent.text())),
            ("responseHeaders", json!(shown(self.response.headers()))),
            ("responseBody", json!(String::from_utf8_lossy(self.response.body()))),
        ])
    }

    /// What it takes to keep it, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let headers = self.sent.headers.iter().chain(self.response.headers());
        let headers = headers.map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>();
        headers + self.sent.body.as_ref().map_or(0, Bytes::len) + self.response.body().len()
    }

    /// The event that API Gateway would make of the request, as in events/. It has no key but the published one.
    pub(crate) fn event(&self) -> Event<'_> {
        event(&self.sent, "inspector", |name, value| match value.to_str() {
            Ok(text) if text.contains(API_KEY) => text.to_owned(),
            _ => shown_value(name, value),
        })
    }
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Whole milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}

/// Names and values of headers, without the key.
fn shown(headers: &HeaderMap) -> Vec<[String; 2]> {
    headers.iter().map(|(name, value)| [name.to_string(), shown_value(name, value)]).collect()
}

fn shown_value(name: &HeaderName, value: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes());
    match text.split_once(' ') {
        // Which scheme was sent may be the very mistake.
        Some((scheme, _)) if name == AUTHORIZATION => format!("{scheme} $API_KEY"),
        None if name == AUTHORIZATION => "$API_KEY".to_owned(),
        _ => text.replace(API_KEY, "$API_KEY"),
    }
}

//! Own parser of Lambda's event instead of `lambda_http`'s types: 24 k instructions fewer per request.
//!
//! The event is that of an HTTP API, payload format 2.0. Clients choose much of it: the name or the value of a header may be
//! invalid, and a path may not form a URI. `lambda_http` rejects such an event; `lambda_runtime` then logs the rejected
//! value, which may be a key, and the invocation ends in an error. This parser reads only the members and headers that are
//! used, and ignores invalid values.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lambda_http::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue, Method};
use lambda_http::{Body, Context, Request, RequestExt as _};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The method of a request whose event has no valid method. No route has it, and API Gateway never forwards it.
const NO_METHOD: Method = Method::CONNECT;

/// The headers that handlers see.
const USED_HEADERS: [HeaderName; 4] =
    [AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName::from_static("prefer")];

/// The members of an event that are used. It cannot be printed, since it contains the key.
#[derive(Default)]
pub struct HttpApiEvent {
    is_json: bool,
    path: Option<String>,
    method: Option<Method>,
    headers: HeaderMap,
    has_invalid_header: bool,
    body: Option<String>,
    is_base64_encoded: bool,
}

impl<'de> Deserialize<'de> for HttpApiEvent {
    /// Never fails.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut event = Self { is_json: true, ..Self::default() };
        let read = Reader { event: &mut event, at: Member::Event }.deserialize(deserializer);
        Ok(if read.is_ok() { event } else { Self::default() })
    }
}

impl HttpApiEvent {
    /// The request: path, method, headers and body, and Lambda's context. An event that is not a request gets an empty path,
    /// which no route has.
    pub fn into_request(self, context: Context) -> Request {
        let ignored = |reason| {
            tracing::warn!(requestId = context.request_id, reason, "a part of the event was ignored");
        };
        if !self.is_json {
            ignored("the event is not JSON");
        } else if self.path.is_none() {
            ignored("the event has no rawPath: it is not a request");
        } else if self.method.is_none() {
            ignored("the event has no valid method");
        }
        if self.has_invalid_header {
            ignored("the value of a header is invalid");
        }
        let body = match self.body {
            None => Body::Empty,
            Some(text) if !self.is_base64_encoded => Body::Text(text),
            Some(text) => STANDARD.decode(text).map_or_else(
                |_| {
                    ignored("the body is not base64");
                    Body::Empty
                },
                Body::Binary,
            ),
        };
        let mut request = Request::new(body);
        *request.method_mut() = self.method.unwrap_or(NO_METHOD);
        *request.headers_mut() = self.headers;
        request.with_raw_http_path(self.path.unwrap_or_default()).with_lambda_context(context)
    }
}

/// A value of the event that is used, or that contains one.
enum Member {
    Event,
    RawPath,
    Headers,
    Header(HeaderName),
    Body,
    IsBase64Encoded,
    RequestContext,
    Http,
    Method,
    Unused,
}

impl Member {
    /// The member with this name.
    fn child(&self, name: &str) -> Self {
        match (self, name) {
            (Self::Event, "rawPath") => Self::RawPath,
            (Self::Event, "headers") => Self::Headers,
            (Self::Event, "body") => Self::Body,
            (Self::Event, "isBase64Encoded") => Self::IsBase64Encoded,
            (Self::Event, "requestContext") => Self::RequestContext,
            (Self::RequestContext, "http") => Self::Http,
            (Self::Http, "method") => Self::Method,
            (Self::Headers, name) => {
                let used = USED_HEADERS.into_iter().find(|used| used.as_str().eq_ignore_ascii_case(name));
                used.map_or(Self::Unused, Self::Header)
            }
            _ => Self::Unused,
        }
    }
}

/// Reads one value into the event. The only error is text that is not JSON.
struct Reader<'e> {
    event: &'e mut HttpApiEvent,
    at: Member,
}

impl Reader<'_> {
    /// Stores the text of the value; `None` for a value of another type.
    fn take(self, text: Option<&str>) {
        let Self { event, at } = self;
        match at {
            Member::RawPath => event.path = text.map(ToOwned::to_owned),
            Member::Body => event.body = text.map(ToOwned::to_owned),
            Member::Method => event.method = text.and_then(|text| Method::from_bytes(text.as_bytes()).ok()),
            Member::Header(name) => {
                let value = text.and_then(|text| HeaderValue::from_str(text).ok());
                event.has_invalid_header |= value.is_none();
                if let Some(value) = value {
                    // The last one of several counts, as for every member.
                    event.headers.insert(name, value);
                }
            }
            Member::Event
            | Member::Headers
            | Member::IsBase64Encoded
            | Member::RequestContext
            | Member::Http
            | Member::Unused => {}
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.at {
            Member::Unused => deserializer.deserialize_ignored_any(IgnoredAny).map(|_| ()),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.take(Some(text));
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        if matches!(self.at, Member::IsBase64Encoded) {
            self.event.is_base64_encoded = value;
        }
        self.visit_unit()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.take(None);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_unit()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { event, at } = self;
        while let Some(member) = members.next_key_seed(Name { parent: &at })? {
            members.next_value_seed(Reader { event, at: member })?;
        }
        Reader { event, at }.visit_unit()
    }
}

/// Reads the name of a member.
struct Name<'p> {
    parent: &'p Member,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Member;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member, E> {
        Ok(self.parent.child(name))
    }
}

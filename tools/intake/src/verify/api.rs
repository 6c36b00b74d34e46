//! The API as a client application calls it: requests, responses, and how long they took.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use aws_smithy_runtime_api::http::Headers;
use consistency::Micros;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::http::{HttpClient, Received};

pub(super) const CUSTOMERS: &str = "/api/customers";
pub(super) const SIGNALS: &str = "/api/event-flows/signal";
pub(super) const PING: &str = "/api/sdk/ping";

/// How long a client library waits for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Attempts of a request above the route's request rate, and the pause before each further one.
const THROTTLED_ATTEMPTS: usize = 10;
const THROTTLED_PAUSE: Duration = Duration::from_secs(1);

/// The address of the API and a key of it.
pub(super) struct Api {
    client: HttpClient,
    pub(super) base_url: String,
    host: Option<String>,
    key: String,
}

/// A request.
#[derive(Clone)]
pub(super) struct Call {
    method: &'static str,
    path: &'static str,
    /// They replace those that each request has; one without a value is not sent.
    headers: Vec<(&'static str, Option<String>)>,
    body: String,
    gzip: bool,
}

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Headers,
    /// The body as JSON; null when it is not.
    pub(super) body: Value,
    pub(super) received: Micros,
    pub(super) took: Duration,
}

impl Api {
    pub(super) fn new(base_url: String, host: Option<String>, key: String) -> Result<Self> {
        Ok(Self { client: HttpClient::new(RESPONSE_TIMEOUT)?, base_url, host, key })
    }

    /// Sends a request, and again when API Gateway answers that there are too many: it did not call the function.
    pub(super) async fn send(&self, call: &Call) -> Result<Response> {
        let mut response = self.send_once(call).await;
        for _ in 1..THROTTLED_ATTEMPTS {
            if !response.as_ref().is_ok_and(|response| response.status == 429) {
                break;
            }
            tokio::time::sleep(THROTTLED_PAUSE).await;
            response = self.send_once(call).await;
        }
        response
    }

    async fn send_once(&self, call: &Call) -> Result<Response> {
        let authorization = bearer(&self.key);
        let mut headers =
            BTreeMap::from([("authorization", Some(authorization.as_str())), ("host", self.host.as_deref())]);
        headers.extend(call.headers.iter().map(|(name, value)| (*name, value.as_deref())));
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let url = format!("{}{}", self.base_url, call.path);
        let began = Instant::now();
        let Received { status, headers, body } = self.client.send(call.method, url, headers, call.bytes()?).await?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Response { status, headers, body, received: now(), took: began.elapsed() })
    }
}

impl Call {
    /// A request without a body.
    pub(super) fn new(method: &'static str, path: &'static str) -> Self {
        Self { method, path, headers: Vec::new(), body: String::new(), gzip: false }
    }

    /// `POST` with this JSON.
    pub(super) fn post(path: &'static str, body: impl Into<String>) -> Self {
        let call = Self { body: body.into(), ..Self::new("POST", path) };
        call.header("content-type", "application/json")
    }

    pub(super) fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    /// With this header in place of one of that name.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, Some(value.to_owned())));
        self
    }

    /// With this key in place of the valid one; `None` sends no key.
    pub(super) fn key(mut self, key: Option<&str>) -> Self {
        self.headers.push(("authorization", key.map(bearer)));
        self
    }

    /// With blanks after the body, so that the whole has this many bytes.
    pub(super) fn padded_to(mut self, bytes: usize) -> Self {
        self.body.push_str(&" ".repeat(bytes.saturating_sub(self.body.len())));
        self
    }

    pub(super) fn gzip(self) -> Self {
        Self { gzip: true, ..self }.header("content-encoding", "gzip")
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        if !self.gzip {
            return Ok(self.body.clone().into_bytes());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(self.body.as_bytes())?;
        Ok(encoder.finish()?)
    }
}

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

/// Microseconds since 1970, by this machine's clock.
pub(super) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

impl Response {
    /// A number in the body.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.body.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// The status and the beginning of the body. An error never repeats what was sent.
    pub(super) fn summary(&self) -> String {
        let body: String = self.body.to_string().chars().take(300).collect();
        format!("{} {body}", self.status)
    }
}

//! The API as a client application calls it: requests, responses and what they have to be, and how long they
//! took. Must not know why a request is sent.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use flate2::Compression;
use flate2::write::GzEncoder;
use operator::escape::escape_control;
use serde_json::{Value, json};

use crate::check_result::CheckOutcome;
use crate::stack::network::Network;

pub(super) const CUSTOMERS: &str = "/api/customers";
pub(super) const SIGNALS: &str = "/api/event-flows/signal";
pub(super) const PING: &str = "/api/sdk/ping";

/// How long a client library waits for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Attempts of a request above the route's request rate.
const THROTTLED_ATTEMPTS: usize = 10;

/// The pause before each further attempt.
const PAUSE_DURATION: Duration = Duration::from_secs(1);

/// The address of the API and a key of it.
pub(super) struct Api {
    connections: SharedHttpConnector,
    pub(super) base_url: String,
    host: Option<String>,
    key: String,
}

/// A request, as a client application makes it.
#[derive(Clone)]
pub(super) struct ApiRequest {
    method: &'static str,
    path: &'static str,
    /// Headers that replace those of the same name that each request has. A header without a value is
    /// not sent.
    headers: Vec<(&'static str, Option<String>)>,
    body: String,
    gzip: bool,
}

/// A response.
#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) status: u16,
    pub(super) headers: Headers,
    /// The body as JSON; null when it is not.
    pub(super) body: Value,
    /// The body as text, which a proxy or a load balancer may have written.
    text: String,
    pub(super) took: Duration,
}

impl Api {
    /// An API, which is that of the local stack or one behind proxies.
    pub(super) fn new(
        base_url: String,
        host: Option<String>,
        key: String,
        is_local: bool,
    ) -> Result<Self> {
        let network = if is_local {
            Network::loopback()?
        } else {
            Network::trusting_system()?
        };
        Ok(Self {
            connections: network.connections(),
            base_url,
            host,
            key,
        })
    }

    /// Sends a request, and again when API Gateway responds that there are too many: it did not call
    /// the function.
    pub(super) async fn send(&self, request: &ApiRequest) -> Result<ApiResponse> {
        let mut response = self.send_once(request).await;
        for _ in 1..THROTTLED_ATTEMPTS {
            let is_throttled = response
                .as_ref()
                .is_ok_and(|response| response.status == 429);
            if !is_throttled {
                break;
            }
            tokio::time::sleep(PAUSE_DURATION).await;
            response = self.send_once(request).await;
        }
        response
    }

    async fn send_once(&self, request: &ApiRequest) -> Result<ApiResponse> {
        let authorization = bearer(&self.key);
        let mut headers = BTreeMap::from([
            ("authorization", Some(authorization.as_str())),
            ("host", self.host.as_deref()),
        ]);
        for (name, value) in &request.headers {
            headers.insert(name, value.as_deref());
        }
        let url = format!("{}{}", self.base_url, request.path);
        let mut sent = HttpRequest::new(SdkBody::from(request.bytes()?));
        sent.set_method(request.method)?;
        sent.set_uri(url.as_str())
            .with_context(|| format!("{url} is not a URL"))?;
        for (name, value) in headers {
            if let Some(value) = value {
                sent.headers_mut().try_insert(name, value.to_owned())?;
            }
        }
        let began = Instant::now();
        let response = tokio::time::timeout(RESPONSE_TIMEOUT, self.exchange(sent)).await;
        let response = response
            .with_context(|| format!("no response within {} s", RESPONSE_TIMEOUT.as_secs()))?;
        Ok(ApiResponse {
            took: began.elapsed(),
            ..response?
        })
    }

    /// Sends a request, and reads the whole response.
    async fn exchange(&self, request: HttpRequest) -> Result<ApiResponse> {
        let mut response = self.connections.call(request).await?;
        let body = ByteStream::new(response.take_body()).collect().await?;
        let text = String::from_utf8_lossy(&body.into_bytes()).into_owned();
        Ok(ApiResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
            took: Duration::ZERO,
        })
    }
}

impl ApiRequest {
    /// A request without a body.
    pub(super) fn new(method: &'static str, path: &'static str) -> Self {
        Self {
            method,
            path,
            headers: Vec::new(),
            body: String::new(),
            gzip: false,
        }
    }

    /// A `POST` request with this JSON.
    pub(super) fn post(path: &'static str, body: impl Into<String>) -> Self {
        let request = Self {
            body: body.into(),
            ..Self::new("POST", path)
        };
        request.header("content-type", "application/json")
    }

    pub(super) fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    /// The request with this header in place of one of that name.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, Some(value.to_owned())));
        self
    }

    /// The request with this key in place of the valid one. `None` sends no key.
    pub(super) fn key(mut self, key: Option<&str>) -> Self {
        self.headers.push(("authorization", key.map(bearer)));
        self
    }

    /// The request with blanks after the body, so that the whole body has this many bytes.
    pub(super) fn padded_to(mut self, bytes: usize) -> Self {
        let missing = bytes.saturating_sub(self.body.len());
        self.body.push_str(&" ".repeat(missing));
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

impl ApiResponse {
    /// How many signals, or updates of a customer, went to the overflow queue.
    pub(super) fn deferred(&self) -> u64 {
        let signals = self
            .body
            .get("deferred")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let is_update_deferred = self.body.get("result") == Some(&json!("deferred"));
        signals + u64::from(is_update_deferred)
    }

    /// The status and the beginning of the body. An error never repeats what was sent.
    pub(super) fn summary(&self) -> String {
        let body: String = self.text.chars().take(300).collect();
        format!("{} {}", self.status, escape_control(&body))
    }
}

/// What a response has to be.
#[derive(Clone, Default)]
pub(super) struct ExpectedResponse {
    status: u16,
    body: Vec<(&'static str, Value)>,
    headers: Vec<(&'static str, &'static str)>,
}

impl ExpectedResponse {
    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// A problem, as a function writes it.
    pub(super) fn problem(status: u16, code: &str) -> Self {
        Self::status(status)
            .body("/code", code.into())
            .body("/status", status.into())
            .header("content-type", "application/problem+json")
            .header("x-request-id", "")
    }

    /// A response of API Gateway itself.
    pub(super) fn gateway(status: u16) -> Self {
        Self::status(status)
            .header("content-type", "application/json")
            .body("/code", Value::Null)
    }

    /// The response has this value at this pointer of the body. Null means that nothing is there.
    pub(super) fn body(mut self, pointer: &'static str, value: Value) -> Self {
        self.body.push((pointer, value));
        self
    }

    /// The response has this header, with this text in it.
    pub(super) fn header(mut self, name: &'static str, text: &'static str) -> Self {
        self.headers.push((name, text));
        self
    }

    /// The outcome of a check that the response is as expected.
    pub(super) fn outcome(&self, response: &Result<ApiResponse>) -> CheckOutcome {
        match self.check(response) {
            Ok(response) => CheckOutcome::held(format!(
                "{} in {} ms",
                response.status,
                response.took.as_millis()
            )),
            Err(difference) => CheckOutcome::failed(difference),
        }
    }

    /// Returns the response if it is as expected, or else the first difference.
    pub(super) fn check<'r>(
        &self,
        response: &'r Result<ApiResponse>,
    ) -> Result<&'r ApiResponse, String> {
        let response = response
            .as_ref()
            .map_err(|error| format!("no response: {error:#}"))?;
        match self.first_difference(response) {
            None => Ok(response),
            Some(difference) => Err(format!(
                "{difference}; the response is {}",
                response.summary()
            )),
        }
    }

    fn first_difference(&self, response: &ApiResponse) -> Option<String> {
        if response.status != self.status {
            return Some(format!("expected status {}", self.status));
        }
        for (pointer, value) in &self.body {
            if response.body.pointer(pointer).unwrap_or(&Value::Null) != value {
                return Some(format!("expected {value} at {pointer}"));
            }
        }
        for (name, text) in &self.headers {
            let header = header(response, name);
            if !header.is_some_and(|header| header.contains(text)) {
                let got = header.unwrap_or_default();
                return Some(format!("expected the header {name}: {text}, got {got:?}"));
            }
        }
        None
    }
}

/// The value of a header. API Gateway may rename `WWW-Authenticate` (docs/api.md, Errors).
fn header<'r>(response: &'r ApiResponse, name: &str) -> Option<&'r str> {
    let renamed = match name {
        "www-authenticate" => response.headers.get("x-amzn-remapped-www-authenticate"),
        _ => None,
    };
    response.headers.get(name).or(renamed)
}

//! One request and its response, as the gateway saw them, and what the inspector shows of them.
//! Knows the members of the contract that it shows, and no rule.

pub(crate) mod api_key;
pub(crate) mod lambda_event;
pub(crate) mod parsed_response;
pub(crate) mod recent_exchanges;
pub(crate) mod request_line;
pub(crate) mod sent_request;
pub(crate) mod signal;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response};
use emulator::development_key::API_KEY;
use serde_json::{Map, Value, json};

use crate::exchange::api_key::SentKey;
use crate::exchange::lambda_event::{LambdaEvent, lambda_event, milliseconds};
use crate::exchange::parsed_response::{ParsedResponse, ResponseFinding};
use crate::exchange::sent_request::SentRequest;
use crate::exchange::signal::{Listed, ShownSignal, read_signals};
use crate::functions::BatchResult;

/// The largest body that is read for a list or kept, in bytes: what the functions accept.
pub(crate) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// A request and its response.
pub(crate) struct Exchange {
    pub(crate) sent: SentRequest,
    pub(crate) response: Response<Bytes>,
    pub(crate) duration: Duration,
    pub(crate) parsed: ParsedResponse,
    /// Why the response is as it is, where it does not say so itself.
    pub(crate) reason: Option<String>,
    pub(crate) key: SentKey,
    /// Of a batch that a function could read.
    pub(crate) batch: Option<BatchResult>,
    /// Of a batch.
    pub(crate) signals: Vec<ShownSignal>,
    /// Whether the client had hung up before the response.
    pub(crate) has_left: bool,
    received_at: SystemTime,
    /// The first customerId or emitterId.
    subject: Option<String>,
    /// The size of the body, also of one that is not kept.
    body_bytes: Option<usize>,
}

/// A request and its response, as the gateway has seen them.
pub(crate) struct Seen {
    pub(crate) sent: SentRequest,
    pub(crate) response: Response<Bytes>,
    pub(crate) duration: Duration,
    pub(crate) reason: Option<String>,
    pub(crate) key: SentKey,
    pub(crate) batch: Option<BatchResult>,
}

impl Exchange {
    /// The same, with what is shown of it.
    pub(crate) fn new(seen: Seen) -> Self {
        let Seen {
            sent,
            response,
            duration,
            reason,
            key,
            batch,
        } = seen;
        let status = response.status().as_u16();
        let parsed = ParsedResponse::parse(status, response.body(), reason.as_deref());
        let body = sent
            .decoded()
            .filter(|body| body.len() <= MAX_BODY_BYTES)
            .unwrap_or_default();
        let signals = if sent.is_batch() {
            read_signals(&body, &parsed, batch.as_ref())
        } else {
            Vec::new()
        };
        let of_customer = || {
            std::str::from_utf8(&body)
                .ok()
                .and_then(|text| Listed::parse(text).subject())
        };
        let subject = signals
            .first()
            .map_or_else(of_customer, |signal| signal.subject.clone());
        let body_bytes = sent.body.as_ref().map(Bytes::len);
        Self {
            sent,
            response,
            duration,
            parsed,
            reason,
            key,
            batch,
            signals,
            has_left: false,
            received_at: SystemTime::now(),
            subject,
            body_bytes,
        }
    }

    /// What a list shows of it, under its number.
    pub(crate) fn summary(&self, n: u64) -> Map<String, Value> {
        let ParsedResponse {
            code,
            request_identifier,
            received,
            accepted,
            rejected,
            deferred,
            replayed,
            ..
        } = &self.parsed;
        let mut types = BTreeMap::<_, u64>::new();
        for signal in &self.signals {
            if let Some(name) = &signal.r#type {
                *types.entry(name).or_default() += 1;
            }
        }
        let breaks = self.contract_breaks();
        let errors = &self.parsed.field_errors;
        let warnings = &self.parsed.warnings;
        let first = errors.iter().chain(&breaks).chain(warnings).next();
        let id = self.response.headers().get("x-request-id");
        let id = id.map(|id| String::from_utf8_lossy(id.as_bytes()));
        let since_epoch = self.received_at.duration_since(SystemTime::UNIX_EPOCH);
        let time = milliseconds(since_epoch.unwrap_or_default());
        members([
            ("n", json!(n)),
            ("time", json!(time)),
            ("method", json!(self.sent.method.as_str())),
            ("path", json!(self.sent.path())),
            ("status", json!(self.response.status().as_u16())),
            ("durationMs", json!(milliseconds(self.duration))),
            ("left", json!(self.has_left)),
            ("code", json!(code)),
            ("reason", json!(self.reason)),
            ("errors", json!(errors.len())),
            ("warnings", json!(warnings.len())),
            ("contractBreaks", json!(breaks)),
            ("fieldCode", json!(first.map(|finding| &finding.code))),
            ("pointer", json!(first.map(|finding| &finding.pointer))),
            ("account", json!(self.key.account)),
            ("requestId", json!(id)),
            ("requestIdentifier", json!(request_identifier)),
            ("received", json!(received)),
            ("accepted", json!(accepted)),
            ("rejected", json!(rejected)),
            ("deferred", json!(deferred)),
            ("replayed", json!(replayed)),
            ("subject", json!(self.subject)),
            ("types", json!(types)),
            ("requestBytes", json!(self.body_bytes)),
        ])
    }

    /// What breaks contracts in its signals, with `--contracts`.
    pub(crate) fn contract_breaks(&self) -> Vec<ResponseFinding> {
        let mut findings = Vec::new();
        for signal in &self.signals {
            let index = signal.index.unwrap_or_default();
            let breaks = signal.judgement.iter().flat_map(|judged| &judged.breaks);
            for broken in breaks {
                findings.push(ResponseFinding {
                    code: "contract-broken".to_owned(),
                    pointer: format!("/signals/{index}/data{}", broken.pointer),
                    message: broken.message.clone(),
                });
            }
        }
        findings
    }

    /// The same with its headers and bodies, without the key.
    pub(crate) fn detail(&self, n: u64) -> Map<String, Value> {
        let body = self
            .sent
            .decoded()
            .and_then(|body| String::from_utf8(body.into()).ok());
        let mut detail = self.summary(n);
        detail.extend(members([
            ("requestHeaders", json!(self.headers(&self.sent.headers))),
            ("requestBody", json!(body)),
            (
                "responseHeaders",
                json!(self.headers(self.response.headers())),
            ),
            (
                "responseBody",
                json!(String::from_utf8_lossy(self.response.body())),
            ),
        ]));
        detail
    }

    /// What it takes to keep it, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let headers = self.sent.headers.iter().chain(self.response.headers());
        let header_bytes: usize = headers
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        let findings = self.parsed.field_errors.iter().chain(&self.parsed.warnings);
        let finding_bytes: usize = findings.map(ResponseFinding::bytes).sum();
        let signal_bytes: usize = self.signals.iter().map(ShownSignal::bytes).sum();
        // The data of signals keeps a decompressed body.
        let decoded = if self.sent.is_compressed() {
            self.sent.decoded().map_or(0, |body| body.len())
        } else {
            0
        };
        let sent = self.sent.body.as_ref().map_or(0, Bytes::len);
        let received = self.response.body().len();
        header_bytes + sent + decoded + received + finding_bytes + signal_bytes
    }

    /// The event that API Gateway would make of the request, as in events/. It has no key but the
    /// published one.
    pub(crate) fn event(&self) -> LambdaEvent<'_> {
        lambda_event(&self.sent, "inspector", |name, value| {
            match value.to_str() {
                Ok(text) if text.contains(API_KEY) => text.to_owned(),
                _ => self.header(name, value),
            }
        })
    }

    /// Names and values of headers, without the key.
    fn headers(&self, headers: &HeaderMap) -> Vec<[String; 2]> {
        headers
            .iter()
            .map(|(name, value)| [name.to_string(), self.header(name, value)])
            .collect()
    }

    fn header(&self, name: &HeaderName, value: &HeaderValue) -> String {
        match &self.key.shown {
            // Which scheme was sent may be the very mistake.
            Some(shown) if name == AUTHORIZATION => shown.clone(),
            _ => String::from_utf8_lossy(value.as_bytes()).replace(API_KEY, "$API_KEY"),
        }
    }
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

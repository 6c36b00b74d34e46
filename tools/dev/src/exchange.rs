//! What the stack records of one request and its response, and what the inspector shows of them.
//!
//! [`sent_request`] is what the client sent, [`api_key`] whose key it had, and [`answer`] what it got.
//! [`parsed_response`] and [`signal`] are what is shown of the response and of each signal,
//! [`event_contract`] is what the event contract of its type says of a signal, and [`request_line`] is
//! the line in the terminal. The newest exchanges are kept in [`recent_exchanges`].
//!
//! It knows the members of requests and responses that it shows. It must not know a rule of the API,
//! nor how requests arrive.

pub(crate) mod answer;
pub(crate) mod api_key;
pub(crate) mod event_contract;
pub(crate) mod parsed_response;
pub(crate) mod recent_exchanges;
pub(crate) mod request_line;
pub(crate) mod sent_request;
pub(crate) mod signal;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response};
use emulator::development_key::API_KEY;
use model::limits::MAX_BODY_BYTES;
use serde::Serialize;

use crate::exchange::answer::Answer;
use crate::exchange::api_key::SentKey;
use crate::exchange::event_contract::EventContractVerdict;
use crate::exchange::parsed_response::{ParsedResponse, ResponseFinding};
use crate::exchange::sent_request::SentRequest;
use crate::exchange::signal::{Listed, ShownSignal, read_signals};
use crate::functions::BatchResult;

/// A request and its response.
pub(crate) struct Exchange {
    pub(crate) sent: SentRequest,
    pub(crate) response: Response<Bytes>,
    pub(crate) duration: Duration,
    pub(crate) parsed: ParsedResponse,
    /// Why the response is as it is, where it does not say so itself.
    pub(crate) reason: Option<String>,
    pub(crate) key: SentKey,
    /// What became of the batch, if a function could read one.
    pub(crate) batch: Option<BatchResult>,
    /// The signals of the batch, if the request is one.
    pub(crate) signals: Vec<ShownSignal>,
    /// Whether the client had closed the connection before the response.
    pub(crate) has_left: bool,
    received_at: SystemTime,
    /// The first customerId or emitterId.
    subject: Option<String>,
    /// The size of the body, also if the body is not kept.
    body_bytes: Option<usize>,
}

/// What a list of the inspector shows of an exchange.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeSummary<'a> {
    n: u64,
    /// When the request was received, in milliseconds since 1970.
    time: u64,
    method: &'a str,
    path: String,
    status: u16,
    duration_ms: u64,
    /// Whether the client had closed the connection before the response.
    left: bool,
    reason: Option<&'a str>,
    errors: usize,
    warnings: usize,
    #[serde(rename = "contractBreaks")]
    event_contract_breaks: Vec<ResponseFinding>,
    /// The code of the first error, break of an event contract or warning.
    field_code: Option<String>,
    /// The place of the first error, break of an event contract or warning.
    pointer: Option<String>,
    account: Option<&'a str>,
    request_id: Option<String>,
    code: Option<&'a str>,
    request_identifier: Option<&'a str>,
    received: Option<u64>,
    accepted: Option<u64>,
    rejected: Option<u64>,
    deferred: Option<u64>,
    replayed: Option<bool>,
    subject: Option<&'a str>,
    types: BTreeMap<&'a str, u64>,
    pub(crate) request_bytes: Option<usize>,
}

/// An exchange as the inspector shows it by itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeDetail<'a> {
    #[serde(flatten)]
    summary: ExchangeSummary<'a>,
    request_headers: Vec<[String; 2]>,
    request_body: Option<String>,
    response_headers: Vec<[String; 2]>,
    response_body: Cow<'a, str>,
}

impl Exchange {
    /// Reads what is shown of a request and its answer.
    pub(crate) fn new(sent: SentRequest, answer: Answer, duration: Duration, key: SentKey) -> Self {
        let Answer {
            response,
            reason,
            batch,
        } = answer;
        let status = response.status().as_u16();
        let parsed = ParsedResponse::parse(status, response.body(), reason.as_deref());
        // A larger body is that of a request which the functions refuse.
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

    /// What a list shows of the exchange with the number `n`.
    pub(crate) fn summary(&self, n: u64) -> ExchangeSummary<'_> {
        let parsed = &self.parsed;
        let event_contract_breaks = self.event_contract_breaks();
        let errors = &parsed.field_errors;
        let warnings = &parsed.warnings;
        let mut findings = errors.iter().chain(&event_contract_breaks).chain(warnings);
        let first = findings.next().cloned();
        let since_epoch = self.received_at.duration_since(SystemTime::UNIX_EPOCH);
        ExchangeSummary {
            n,
            time: milliseconds(since_epoch.unwrap_or_default()),
            method: self.sent.method.as_str(),
            path: self.sent.path(),
            status: self.response.status().as_u16(),
            duration_ms: milliseconds(self.duration),
            left: self.has_left,
            reason: self.reason.as_deref(),
            errors: errors.len(),
            warnings: warnings.len(),
            event_contract_breaks,
            field_code: first.as_ref().map(|finding| finding.code.clone()),
            pointer: first.map(|finding| finding.pointer),
            account: self.key.account.as_deref(),
            request_id: self.request_id(),
            code: parsed.code.as_deref(),
            request_identifier: parsed.request_identifier.as_deref(),
            received: parsed.received,
            accepted: parsed.accepted,
            rejected: parsed.rejected,
            deferred: parsed.deferred,
            replayed: parsed.replayed,
            subject: self.subject.as_deref(),
            types: self.signals_by_type(),
            request_bytes: self.body_bytes,
        }
    }

    /// The id that the function gave the request.
    fn request_id(&self) -> Option<String> {
        let id = self.response.headers().get("x-request-id")?;
        Some(String::from_utf8_lossy(id.as_bytes()).into_owned())
    }

    /// How many signals of each type the request has.
    fn signals_by_type(&self) -> BTreeMap<&str, u64> {
        let mut types = BTreeMap::new();
        for name in self
            .signals
            .iter()
            .filter_map(|signal| signal.r#type.as_deref())
        {
            *types.entry(name).or_default() += 1;
        }
        types
    }

    /// With `--contracts`, what breaks the event contracts in the signals of the request.
    pub(crate) fn event_contract_breaks(&self) -> Vec<ResponseFinding> {
        let mut findings = Vec::new();
        for signal in &self.signals {
            let index = signal.index.unwrap_or_default();
            let verdict = signal.event_contract.as_ref();
            let breaks = verdict.map_or(&[][..], EventContractVerdict::breaks);
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

    /// The summary with headers and bodies, without the key.
    pub(crate) fn detail(&self, n: u64) -> ExchangeDetail<'_> {
        let body = self.sent.decoded();
        ExchangeDetail {
            summary: self.summary(n),
            request_headers: self.headers(&self.sent.headers),
            request_body: body.and_then(|body| String::from_utf8(body.into()).ok()),
            response_headers: self.headers(self.response.headers()),
            response_body: String::from_utf8_lossy(self.response.body()),
        }
    }

    /// How much memory the exchange takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let headers = self.sent.headers.iter().chain(self.response.headers());
        let header_bytes: usize = headers
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        let findings = self.parsed.field_errors.iter().chain(&self.parsed.warnings);
        let finding_bytes: usize = findings.map(ResponseFinding::bytes).sum();
        let signal_bytes: usize = self.signals.iter().map(ShownSignal::bytes).sum();
        // The data of signals refers to the decompressed body, which stays in memory.
        let decoded = if self.sent.is_compressed() {
            self.sent.decoded().map_or(0, |body| body.len())
        } else {
            0
        };
        let sent = self.sent.body.as_ref().map_or(0, Bytes::len);
        let received = self.response.body().len();
        header_bytes + sent + decoded + received + finding_bytes + signal_bytes
    }

    /// Names and values of headers, without the key.
    fn headers(&self, headers: &HeaderMap) -> Vec<[String; 2]> {
        headers
            .iter()
            .map(|(name, value)| [name.to_string(), self.shown_header(name, value)])
            .collect()
    }

    /// The value of a header without the key.
    pub(crate) fn shown_header(&self, name: &HeaderName, value: &HeaderValue) -> String {
        match &self.key.shown {
            // The scheme stays, since a wrong scheme may be the mistake.
            Some(shown) if name == AUTHORIZATION => shown.clone(),
            _ => String::from_utf8_lossy(value.as_bytes()).replace(API_KEY, "$API_KEY"),
        }
    }
}

/// A duration in whole milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}

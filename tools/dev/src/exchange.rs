//! An exchange is a request and its response, as the stack records them and the inspector shows
//! them.
//!
//! [`sent_request`] is what the client sent, [`api_key`] whose key it had, and [`given_response`] what it
//! got. [`parsed_response`] and [`signal`] are what is shown of the response and of each signal,
//! which [`event_contract`] judges by the event contract of its type. [`request_line`] is the line
//! in the terminal, and [`summary`] is what the inspector shows. The newest exchanges are
//! kept in [`recent_exchanges`], and all are counted in [`counts`].
//!
//! It knows the members of requests and responses that it shows. It must not know a rule of the
//! API, nor how requests arrive.

pub(crate) mod api_key;
pub(crate) mod counts;
pub(crate) mod event_contract;
pub(crate) mod given_response;
pub(crate) mod parsed_response;
pub(crate) mod recent_exchanges;
pub(crate) mod request_line;
pub(crate) mod sent_request;
pub(crate) mod signal;
pub(crate) mod summary;

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderName, HeaderValue, Response};
use memchr::memmem::Finder;
use model::limits::MAX_BODY_BYTES;

use crate::exchange::api_key::SentKey;
use crate::exchange::event_contract::CONTRACT_BROKEN;
use crate::exchange::given_response::GivenResponse;
use crate::exchange::parsed_response::{ParsedResponse, ResponseFinding};
use crate::exchange::sent_request::SentRequest;
use crate::exchange::signal::{ListedMembers, ShownSignal, read_signals};
use crate::functions::BatchResult;

/// A request and its response.
pub(crate) struct Exchange {
    pub(crate) sent: SentRequest,
    pub(crate) response: Response<Bytes>,
    pub(crate) duration: Duration,
    pub(crate) parsed: ParsedResponse,
    /// Why the response is as it is, where the response does not say so itself.
    reason: Option<String>,
    /// What is known of the request only after its response.
    note: OnceLock<&'static str>,
    pub(crate) key: SentKey,
    /// What became of the batch, if a function could read one.
    pub(crate) batch: Option<BatchResult>,
    /// The signals of the batch, if the request is one.
    pub(crate) signals: Vec<ShownSignal>,
    /// Whether the client had closed its end of the connection before the response.
    pub(crate) has_left: bool,
    received_at: SystemTime,
    /// The first customerId or emitterId.
    subject: Option<String>,
    /// The requestIdentifier that the client sent, or else the one of the response.
    request_identifier: Option<String>,
    /// The size of the body, also if the body is not kept.
    body_bytes: Option<usize>,
}

impl Exchange {
    /// Reads what is shown of a request and its response.
    pub(crate) fn new(
        sent: SentRequest,
        given: GivenResponse,
        duration: Duration,
        key: SentKey,
    ) -> Self {
        let GivenResponse {
            response,
            reason,
            batch,
        } = given;
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
        let members = ListedMembers::of_body(&body);
        let subject = match signals.first() {
            Some(signal) => signal.subject.clone(),
            None => members.subject(),
        };
        let request_identifier = members
            .request_identifier()
            .or_else(|| parsed.request_identifier.clone());
        let now = SystemTime::now();
        let body_bytes = sent.body.bytes().map(Bytes::len);
        Self {
            sent,
            response,
            duration,
            parsed,
            reason,
            note: OnceLock::new(),
            key,
            batch,
            signals,
            has_left: false,
            received_at: now.checked_sub(duration).unwrap_or(now),
            subject,
            request_identifier,
            body_bytes,
        }
    }

    /// Why the response is as it is, or what came of it, where the response does not say so itself.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref().or(self.note.get().copied())
    }

    /// Adds what is known only after the response, as the reason of a request that has none.
    pub(crate) fn add_note(&self, note: &'static str) {
        // A second note would say nothing new.
        let _ = self.note.set(note);
    }

    /// When the request was received, in milliseconds since 1970.
    pub(crate) fn time(&self) -> u64 {
        let since_epoch = self.received_at.duration_since(SystemTime::UNIX_EPOCH);
        milliseconds(since_epoch.unwrap_or_default())
    }

    /// The requestIdentifier that the client sent, or else the one of the response.
    pub(crate) fn request_identifier(&self) -> Option<&str> {
        self.request_identifier.as_deref()
    }

    /// The different customerIds and emitterIds of the request, in order.
    pub(crate) fn subjects(&self) -> Vec<&str> {
        if self.signals.is_empty() {
            return self.subject.as_deref().into_iter().collect();
        }
        let mut seen = HashSet::new();
        let subjects = self.signals.iter().filter_map(|one| one.subject.as_deref());
        subjects.filter(|subject| seen.insert(*subject)).collect()
    }

    /// With `--contracts`, what breaks the event contracts in the signals of the request.
    pub(crate) fn event_contract_breaks(&self) -> Vec<ResponseFinding> {
        let mut findings = Vec::new();
        for signal in &self.signals {
            for broken in signal.event_contract_breaks.iter().flatten() {
                findings.push(ResponseFinding {
                    code: CONTRACT_BROKEN.to_owned(),
                    pointer: signal.pointer_of(broken),
                    message: broken.message.clone(),
                });
            }
        }
        findings
    }

    /// Whether the body of the request, decompressed, or that of the response has this text.
    pub(crate) fn has_text(&self, text: &Finder<'_>) -> bool {
        let sent = self.sent.decoded().unwrap_or_default();
        text.find(&sent).is_some() || text.find(self.response.body()).is_some()
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
        let sent = self.sent.body.bytes().map_or(0, Bytes::len);
        let received = self.response.body().len();
        header_bytes + sent + decoded + received + finding_bytes + signal_bytes
    }

    /// The value of a header, without the key of the `Authorization` header.
    pub(crate) fn shown_header(&self, name: &HeaderName, value: &HeaderValue) -> String {
        match &self.key.shown {
            // The scheme stays, since a wrong scheme may be the mistake.
            Some(shown) if name == AUTHORIZATION => shown.clone(),
            _ => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        }
    }
}

/// A duration in whole milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}

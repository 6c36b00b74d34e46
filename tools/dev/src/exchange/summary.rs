//! How the inspector shows an exchange: as a summary in a list, as a row of the page, and with
//! headers and bodies by itself. Must not know how the inspector is asked.

mod signal_row;

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde::Serialize;

use self::signal_row::SignalRow;
use crate::exchange::parsed_response::ResponseFinding;
use crate::exchange::{Exchange, milliseconds};

/// What each list of the inspector shows of an exchange, without its signals.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeFacts<'a> {
    n: u64,
    /// When the request was received, in milliseconds since 1970.
    time: u64,
    method: &'a str,
    path: &'a str,
    status: u16,
    duration_ms: u64,
    /// Whether the client had closed the connection before the response.
    left: bool,
    reason: Option<&'a str>,
    errors: usize,
    warnings: usize,
    /// The code of the first error, break of an event contract or warning.
    field_code: Option<String>,
    /// The place of the first error, break of an event contract or warning.
    pointer: Option<String>,
    account: Option<&'a str>,
    request_id: Option<String>,
    code: Option<&'a str>,
    request_identifier: Option<&'a str>,
    /// What became of an update of a customer.
    result: Option<&'a str>,
    received: Option<u64>,
    accepted: Option<u64>,
    rejected: Option<u64>,
    deferred: Option<u64>,
    replayed: Option<bool>,
    subject: Option<&'a str>,
    pub(crate) request_bytes: Option<usize>,
}

/// What a list of the inspector's API shows of an exchange.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeSummary<'a> {
    #[serde(flatten)]
    pub(crate) facts: ExchangeFacts<'a>,
    #[serde(rename = "contractBreaks")]
    event_contract_breaks: Vec<ResponseFinding>,
    subjects: Vec<&'a str>,
    types: BTreeMap<&'a str, u64>,
}

/// What the page keeps of an exchange: as little as its lists show, because it has all of them.
#[derive(Serialize)]
pub(crate) struct ExchangeRow<'a> {
    #[serde(flatten)]
    facts: ExchangeFacts<'a>,
    signals: Vec<SignalRow<'a>>,
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
    /// What a list shows of the exchange with the number `n`.
    pub(crate) fn summary(&self, n: u64) -> ExchangeSummary<'_> {
        let event_contract_breaks = self.event_contract_breaks();
        ExchangeSummary {
            facts: self.facts(n, event_contract_breaks.first()),
            event_contract_breaks,
            subjects: self.subjects(),
            types: self.signals_by_type(),
        }
    }

    /// What the page keeps of the exchange with the number `n`.
    pub(crate) fn row(&self, n: u64) -> ExchangeRow<'_> {
        let event_contract_breaks = self.event_contract_breaks();
        ExchangeRow {
            facts: self.facts(n, event_contract_breaks.first()),
            signals: self.signals.iter().map(SignalRow::new).collect(),
        }
    }

    fn facts(&self, n: u64, first_break: Option<&ResponseFinding>) -> ExchangeFacts<'_> {
        let parsed = &self.parsed;
        let errors = &parsed.field_errors;
        let warnings = &parsed.warnings;
        let mut findings = errors.iter().chain(first_break).chain(warnings);
        let first = findings.next();
        ExchangeFacts {
            n,
            time: self.time(),
            method: self.sent.method.as_str(),
            path: self.sent.path(),
            status: self.response.status().as_u16(),
            duration_ms: milliseconds(self.duration),
            left: self.has_left,
            reason: self.reason(),
            errors: errors.len(),
            warnings: warnings.len(),
            field_code: first.map(|finding| finding.code.clone()),
            pointer: first.map(|finding| finding.pointer.clone()),
            account: self.key.account.as_deref(),
            request_id: self.request_id(),
            code: parsed.code.as_deref(),
            request_identifier: parsed.request_identifier.as_deref(),
            result: parsed.result.as_deref(),
            received: parsed.received,
            accepted: parsed.accepted,
            rejected: parsed.rejected,
            deferred: parsed.deferred,
            replayed: parsed.replayed,
            subject: self.subject.as_deref(),
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

    /// The summary with headers and bodies.
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

    /// Names and values of headers, without the key of the `Authorization` header.
    fn headers(&self, headers: &HeaderMap) -> Vec<[String; 2]> {
        headers
            .iter()
            .map(|(name, value)| [name.to_string(), self.shown_header(name, value)])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use axum::body::Bytes;
    use axum::http::{HeaderMap, Method, Response, Uri};

    use crate::exchange::api_key::SentKey;
    use crate::exchange::given_response::GivenResponse;
    use crate::exchange::sent_request::{SentBody, SentRequest};
    use crate::exchange::{Exchange, milliseconds};

    #[test]
    fn time_of_a_request_that_took_long_is_when_it_was_received() {
        let sent = SentRequest {
            method: Method::POST,
            uri: Uri::from_static("/api/customers"),
            headers: HeaderMap::new(),
            body: SentBody::Whole(Bytes::new()),
        };
        let given = GivenResponse {
            response: Response::new(Bytes::new()),
            reason: None,
            batch: None,
        };
        let received_at = SystemTime::now() - Duration::from_mins(1);
        let exchange = Exchange::new(sent, given, Duration::from_mins(1), SentKey::default());
        let since_epoch = received_at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let difference = exchange
            .summary(1)
            .facts
            .time
            .abs_diff(milliseconds(since_epoch));
        assert!(difference < 30_000, "{difference} ms");
    }
}

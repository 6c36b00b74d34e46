//! What each target accepts, within its limits, and its responses. Each records what it accepted and
//! can be made to fail.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::http_server::response;

/// A service that the deliver function sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// EventBridge.
    Bus,
    /// Firehose.
    Lake,
}

/// A call that a target received.
#[derive(Clone, Debug)]
pub struct Call {
    pub target: Target,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) calls: Vec<Call>,
    pub(super) entries: Vec<Value>,
    pub(super) records: Vec<String>,
    /// The share of calls, and of entries and records, that fail by chance.
    pub(super) faults: f64,
    pub(super) random: fastrand::Rng,
    pub(super) refusals: Vec<RefusedText>,
    pub(super) responses: Vec<FixedResponse>,
}

/// Entries or records of a target that contain a text fail with this code.
#[derive(Debug)]
pub(super) struct RefusedText {
    pub(super) target: Target,
    pub(super) text: String,
    pub(super) code: &'static str,
}

/// Calls of a target that contain a text get this response.
#[derive(Debug)]
pub(super) struct FixedResponse {
    pub(super) target: Target,
    pub(super) text: String,
    pub(super) response: TargetResponse,
}

#[derive(Clone, Debug)]
pub(super) struct TargetResponse {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl TargetResponse {
    pub(super) fn success(body: Value) -> Self {
        Self { status: 200, body }
    }

    pub(super) fn error(status: u16, code: &str) -> Self {
        Self {
            status,
            body: error_body(code),
        }
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let body = match self.body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        response(self.status, &[], body)
    }
}

impl Targets {
    pub(super) fn respond(&mut self, call: Call) -> TargetResponse {
        let response = self.response_to(&call);
        self.calls.push(call);
        response
    }

    fn response_to(&mut self, call: &Call) -> TargetResponse {
        let is_faulted = self.random.f64() < self.faults;
        if is_faulted && self.random.bool() {
            return TargetResponse::error(500, "InternalFailure");
        }
        let text = match call.target {
            Target::Lake => records_of(&call.body).concat(),
            Target::Bus => call.body.clone(),
        };
        let fixed = self
            .responses
            .iter()
            .find(|fixed| fixed.target == call.target && text.contains(&fixed.text));
        if let Some(fixed) = fixed {
            return fixed.response.clone();
        }
        let response = match call.target {
            Target::Bus => self.put_events(&call.body),
            Target::Lake => self.put_record_batch(&call.body),
        };
        if is_faulted {
            return TargetResponse::error(500, "InternalFailure");
        }
        response
    }

    /// The error code of an entry or a record that contains this text, if it fails.
    fn refusal(&mut self, target: Target, text: &str) -> Option<&'static str> {
        let by_chance = self.random.f64() < self.faults;
        let refusal = self
            .refusals
            .iter()
            .find(|refusal| refusal.target == target && text.contains(&refusal.text));
        match refusal {
            Some(refusal) => Some(refusal.code),
            None => by_chance.then_some("InternalFailure"),
        }
    }

    fn put_events(&mut self, body: &str) -> TargetResponse {
        let call: Value = body.parse().unwrap_or_default();
        let entries = call["Entries"].as_array().cloned().unwrap_or_default();
        let bytes: usize = entries.iter().map(entry_bytes).sum();
        if !(1..=10).contains(&entries.len()) || bytes >= 256 * 1024 {
            return TargetResponse::error(400, "ValidationException");
        }
        let mut results = Vec::new();
        for entry in entries {
            let detail = text_member(&entry, "Detail");
            let parsed = detail.parse::<Value>();
            let is_object = parsed.is_ok_and(|detail| detail.is_object());
            let refusal = self.refusal(Target::Bus, detail);
            let code = refusal.or((!is_object).then_some("MalformedDetail"));
            results.push(result("EventId", code));
            if code.is_none() {
                self.entries.push(entry);
            }
        }
        TargetResponse::success(json!({"FailedEntryCount": failures(&results), "Entries": results}))
    }

    fn put_record_batch(&mut self, body: &str) -> TargetResponse {
        let records = records_of(body);
        let is_too_long = records.iter().any(|record| record.len() > 1_000 * 1_024);
        if !(1..=500).contains(&records.len()) || is_too_long || body.len() > 4 * 1024 * 1024 {
            return TargetResponse::error(400, "InvalidArgumentException");
        }
        let mut results = Vec::new();
        for record in records {
            let code = self.refusal(Target::Lake, &record);
            results.push(result("RecordId", code));
            if code.is_none() {
                self.records.push(record);
            }
        }
        TargetResponse::success(json!({
            "FailedPutCount": failures(&results),
            "Encrypted": false,
            "RequestResponses": results,
        }))
    }
}

fn text_member<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry[name].as_str().unwrap_or_default()
}

/// The size of an entry as EventBridge counts it; 14 bytes are for its time.
fn entry_bytes(entry: &Value) -> usize {
    let texts = ["Source", "DetailType", "Detail"].map(|name| text_member(entry, name).len());
    14 + texts.iter().sum::<usize>()
}

/// The records of a call to the lake, as text.
fn records_of(body: &str) -> Vec<String> {
    let call: Value = body.parse().unwrap_or_default();
    let mut texts = Vec::new();
    for record in call["Records"].as_array().into_iter().flatten() {
        let data = text_member(record, "Data");
        let decoded = BASE64.decode(data.as_bytes());
        let text = decoded.ok().and_then(|data| String::from_utf8(data).ok());
        texts.extend(text);
    }
    texts
}

/// The result of an entry or a record, which is taken under an id unless there is an error code.
fn result(id: &str, code: Option<&str>) -> Value {
    match code {
        None => json!({id: "1"}),
        Some(code) => json!({"ErrorCode": code, "ErrorMessage": "a message with a secret value"}),
    }
}

fn failures(results: &[Value]) -> usize {
    results
        .iter()
        .filter(|result| result.get("ErrorCode").is_some())
        .count()
}

pub(super) fn error_body(code: &str) -> Value {
    json!({"__type": code, "message": "a message with a secret value"})
}

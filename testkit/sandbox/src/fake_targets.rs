//! The targets of the deliver function at one endpoint: an EventBridge bus, a Firehose stream and a
//! bucket of S3, within their limits. Each records what it took and can be made to fail. Must not
//! know what an event is about.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use data_encoding::BASE64;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, Response};
use serde_json::{Value, json};

use crate::http_server::{HttpServer, Service, response};

/// A target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// EventBridge.
    Bus,
    /// Firehose.
    Lake,
    /// S3.
    Bucket,
}

/// A call as it came.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whose it was.
    pub target: Target,
    /// The path.
    pub path: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body, as text.
    pub body: String,
}

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeTargets(HttpServer<State>);

#[derive(Debug, Default)]
struct State(Mutex<Targets>);

#[derive(Debug, Default)]
struct Targets {
    calls: Vec<Call>,
    entries: Vec<Value>,
    records: Vec<String>,
    objects: BTreeMap<String, String>,
    /// The share of calls, and of entries and records, that fail by chance.
    faults: f64,
    random: fastrand::Rng,
    /// A text and the error code of entries and records that contain it.
    refused: Vec<(Target, String, &'static str)>,
    /// A text, and the status and the body that a call gets that contains it.
    answers: Vec<(Target, String, (u16, Value))>,
    /// How long each object takes.
    bucket_delay: Duration,
}

impl FakeTargets {
    /// Starts them, empty.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        Ok(Self(HttpServer::start(State::default(), None).await?))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Every call to `target` fails from here on.
    pub fn take_away(&self, target: Target) {
        self.answer(target, "", 500, error("InternalFailure"));
    }

    /// Entries or records of `target` that contain `text` fail with `code` from here on.
    pub fn refuse(&self, target: Target, text: &str, code: &'static str) {
        self.0
            .service
            .with(|targets| targets.refused.push((target, text.to_owned(), code)));
    }

    /// Calls of `target` that contain `text` get this status and this body from here on, and
    /// nothing of them is taken.
    pub fn answer(&self, target: Target, text: &str, status: u16, body: Value) {
        self.0.service.with(|targets| {
            targets
                .answers
                .push((target, text.to_owned(), (status, body)));
        });
    }

    /// The bucket takes so long for each object from here on.
    pub fn delay_bucket(&self, delay: Duration) {
        self.0.service.with(|targets| targets.bucket_delay = delay);
    }

    /// This share of calls fails from here on, some of them after they were taken, and of the
    /// entries and records of others. The seed chooses which.
    pub fn fail_at_random(&self, share: f64, seed: u64) {
        self.0.service.with(|targets| {
            (targets.faults, targets.random) = (share, fastrand::Rng::with_seed(seed));
        });
    }

    /// No call, no entry and no record fails from here on.
    pub fn refuse_nothing(&self) {
        self.0.service.with(|targets| {
            targets.refused.clear();
            targets.answers.clear();
        });
    }

    /// Takes the calls so far, also those that failed.
    pub fn take_calls(&self) -> Vec<Call> {
        self.0
            .service
            .with(|targets| std::mem::take(&mut targets.calls))
    }

    /// Takes the entries that the bus took.
    pub fn take_entries(&self) -> Vec<Value> {
        self.0
            .service
            .with(|targets| std::mem::take(&mut targets.entries))
    }

    /// Takes the records that the stream took.
    pub fn take_records(&self) -> Vec<String> {
        self.0
            .service
            .with(|targets| std::mem::take(&mut targets.records))
    }

    /// The objects by their paths.
    pub fn objects(&self) -> BTreeMap<String, String> {
        self.0.service.with(|targets| targets.objects.clone())
    }
}

impl State {
    fn with<T>(&self, work: impl FnOnce(&mut Targets) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Service for State {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers.iter();
        let headers: BTreeMap<_, _> = headers
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect();
        let target = match (
            &parts.method,
            headers.get("x-amz-target").map(String::as_str),
        ) {
            (_, Some("AWSEvents.PutEvents")) => Some(Target::Bus),
            (_, Some("Firehose_20150804.PutRecordBatch")) => Some(Target::Lake),
            (&Method::PUT, None) => Some(Target::Bucket),
            _ => None,
        };
        if target == Some(Target::Bucket) {
            tokio::time::sleep(self.with(|targets| targets.bucket_delay)).await;
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        let call = target.map(|target| Call {
            target,
            path: parts.uri.path().to_owned(),
            headers,
            body,
        });
        let (status, answer) = call.map_or((400, error("UnknownOperationException")), |call| {
            self.with(|targets| targets.answer(call))
        });
        response(status, &[], answer.to_string())
    }
}

impl Targets {
    fn answer(&mut self, call: Call) -> (u16, Value) {
        self.calls.push(call.clone());
        let is_faulted = self.random.f64() < self.faults;
        if is_faulted && self.random.bool() {
            return (500, error("InternalFailure"));
        }
        let text = if call.target == Target::Lake {
            records_of(&call.body).concat()
        } else {
            call.body.clone()
        };
        let is_answered = |(of, part, _): &&(Target, String, _)| {
            *of == call.target && text.contains(part.as_str())
        };
        if let Some((_, _, answer)) = self.answers.iter().find(is_answered) {
            return answer.clone();
        }
        let answer = self.take(call);
        if is_faulted {
            (500, error("InternalFailure"))
        } else {
            answer
        }
    }

    fn take(&mut self, call: Call) -> (u16, Value) {
        match call.target {
            Target::Bus => self.put_events(&call.body),
            Target::Lake => self.put_record_batch(&call.body),
            Target::Bucket => {
                self.objects.insert(call.path, call.body);
                (200, Value::Null)
            }
        }
    }

    /// The error code of an entry or a record that contains this text.
    fn refusal(&mut self, target: Target, text: &str) -> Option<&'static str> {
        let is_refused =
            |(of, part, _): &&(Target, String, _)| *of == target && text.contains(part.as_str());
        let by_chance = (self.random.f64() < self.faults).then_some("InternalFailure");
        self.refused
            .iter()
            .find(is_refused)
            .map(|(_, _, code)| *code)
            .or(by_chance)
    }

    fn put_events(&mut self, body: &str) -> (u16, Value) {
        let call: Value = body.parse().unwrap_or_default();
        let entries = call["Entries"].as_array().cloned().unwrap_or_default();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let bytes = |entry: &Value| {
            14 + ["Source", "DetailType", "Detail"]
                .map(|n| text(entry, n).len())
                .iter()
                .sum::<usize>()
        };
        if !(1..=10).contains(&entries.len())
            || entries.iter().map(bytes).sum::<usize>() >= 256 * 1024
        {
            return (400, error("ValidationException"));
        }
        let mut results = Vec::new();
        for entry in entries {
            let is_object = text(&entry, "Detail")
                .parse::<Value>()
                .is_ok_and(|detail| detail.is_object());
            let code = self.refusal(Target::Bus, &text(&entry, "Detail"));
            let code = code.or((!is_object).then_some("MalformedDetail"));
            results.push(result("EventId", code));
            self.entries.extend(code.is_none().then_some(entry));
        }
        (
            200,
            json!({"FailedEntryCount": failures(&results), "Entries": results}),
        )
    }

    fn put_record_batch(&mut self, body: &str) -> (u16, Value) {
        let records = records_of(body);
        let is_too_long = records.iter().any(|record| record.len() > 1_000 * 1_024);
        if !(1..=500).contains(&records.len()) || is_too_long || body.len() > 4 * 1024 * 1024 {
            return (400, error("InvalidArgumentException"));
        }
        let mut results = Vec::new();
        for record in records {
            let code = self.refusal(Target::Lake, &record);
            results.push(result("RecordId", code));
            self.records.extend(code.is_none().then_some(record));
        }
        (
            200,
            json!({"FailedPutCount": failures(&results), "Encrypted": false, "RequestResponses": results}),
        )
    }
}

/// The records of a call to the lake, as text.
fn records_of(body: &str) -> Vec<String> {
    let call: Value = body.parse().unwrap_or_default();
    let decode = |record: &Value| {
        BASE64
            .decode(record["Data"].as_str().unwrap_or_default().as_bytes())
            .ok()
    };
    let records = call["Records"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    records
        .iter()
        .filter_map(decode)
        .filter_map(|data| String::from_utf8(data).ok())
        .collect()
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

fn error(code: &str) -> Value {
    json!({"__type": code, "message": "a message with a secret value"})
}

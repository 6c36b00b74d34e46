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
    refusals: Vec<Refusal>,
    answers: Vec<FixedAnswer>,
    /// How long each object takes.
    bucket_delay: Duration,
}

/// Entries or records of a target that contain a text fail with this code.
#[derive(Debug)]
struct Refusal {
    target: Target,
    text: String,
    code: &'static str,
}

/// Calls of a target that contain a text get this answer.
#[derive(Debug)]
struct FixedAnswer {
    target: Target,
    text: String,
    answer: Answer,
}

#[derive(Clone, Debug)]
struct Answer {
    status: u16,
    body: Value,
}

impl FakeTargets {
    /// Starts them, empty.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        let server = HttpServer::start(State::default(), None).await?;
        Ok(Self(server))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Every call to `target` fails from here on.
    pub fn take_away(&self, target: Target) {
        self.answer(target, "", 500, error_body("InternalFailure"));
    }

    /// Entries or records of `target` that contain `text` fail with `code` from here on.
    pub fn refuse(&self, target: Target, text: &str, code: &'static str) {
        let refusal = Refusal {
            target,
            text: text.to_owned(),
            code,
        };
        self.use_targets(|targets| targets.refusals.push(refusal));
    }

    /// Calls of `target` that contain `text` get this status and this body from here on, and
    /// nothing of them is taken.
    pub fn answer(&self, target: Target, text: &str, status: u16, body: Value) {
        let answer = FixedAnswer {
            target,
            text: text.to_owned(),
            answer: Answer { status, body },
        };
        self.use_targets(|targets| targets.answers.push(answer));
    }

    /// The bucket takes so long for each object from here on.
    pub fn delay_bucket(&self, delay: Duration) {
        self.use_targets(|targets| targets.bucket_delay = delay);
    }

    /// This share of calls fails from here on, some of them after they were taken, and of the
    /// entries and records of others. The seed chooses which.
    pub fn fail_at_random(&self, share: f64, seed: u64) {
        self.use_targets(|targets| {
            targets.faults = share;
            targets.random = fastrand::Rng::with_seed(seed);
        });
    }

    /// No call, no entry and no record fails from here on.
    pub fn refuse_nothing(&self) {
        self.use_targets(|targets| {
            targets.refusals.clear();
            targets.answers.clear();
        });
    }

    /// Takes the calls so far, also those that failed.
    pub fn take_calls(&self) -> Vec<Call> {
        self.use_targets(|targets| std::mem::take(&mut targets.calls))
    }

    /// Takes the entries that the bus took.
    pub fn take_entries(&self) -> Vec<Value> {
        self.use_targets(|targets| std::mem::take(&mut targets.entries))
    }

    /// Takes the records that the stream took.
    pub fn take_records(&self) -> Vec<String> {
        self.use_targets(|targets| std::mem::take(&mut targets.records))
    }

    /// The objects by their paths.
    pub fn objects(&self) -> BTreeMap<String, String> {
        self.use_targets(|targets| targets.objects.clone())
    }

    fn use_targets<T>(&self, work: impl FnOnce(&mut Targets) -> T) -> T {
        self.0.service.use_targets(work)
    }
}

impl State {
    fn use_targets<T>(&self, work: impl FnOnce(&mut Targets) -> T) -> T {
        let mut targets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut targets)
    }
}

impl Service for State {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let Some(call) = Call::read(request) else {
            return Answer::error(400, "UnknownOperationException").into_response();
        };
        if call.target == Target::Bucket {
            let delay = self.use_targets(|targets| targets.bucket_delay);
            tokio::time::sleep(delay).await;
        }
        let answer = self.use_targets(|targets| targets.answer(call));
        answer.into_response()
    }
}

impl Call {
    /// Reads a request; `None` when it calls none of the targets.
    fn read(request: Request<Bytes>) -> Option<Self> {
        let (parts, body) = request.into_parts();
        let mut headers = BTreeMap::new();
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.insert(name.to_string(), value);
        }
        let operation = headers.get("x-amz-target").map(String::as_str);
        let target = match operation {
            Some("AWSEvents.PutEvents") => Target::Bus,
            Some("Firehose_20150804.PutRecordBatch") => Target::Lake,
            None if parts.method == Method::PUT => Target::Bucket,
            _ => return None,
        };
        Some(Self {
            target,
            path: parts.uri.path().to_owned(),
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

impl Answer {
    fn success(body: Value) -> Self {
        Self { status: 200, body }
    }

    fn error(status: u16, code: &str) -> Self {
        Self {
            status,
            body: error_body(code),
        }
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        response(self.status, &[], self.body.to_string())
    }
}

impl Targets {
    fn answer(&mut self, call: Call) -> Answer {
        self.calls.push(call.clone());
        let is_faulted = self.random.f64() < self.faults;
        if is_faulted && self.random.bool() {
            return Answer::error(500, "InternalFailure");
        }
        let text = match call.target {
            Target::Lake => records_of(&call.body).concat(),
            Target::Bus | Target::Bucket => call.body.clone(),
        };
        let fixed = self
            .answers
            .iter()
            .find(|fixed| fixed.target == call.target && text.contains(&fixed.text));
        if let Some(fixed) = fixed {
            return fixed.answer.clone();
        }
        let answer = self.take(call);
        if is_faulted {
            return Answer::error(500, "InternalFailure");
        }
        answer
    }

    fn take(&mut self, call: Call) -> Answer {
        match call.target {
            Target::Bus => self.put_events(&call.body),
            Target::Lake => self.put_record_batch(&call.body),
            Target::Bucket => {
                self.objects.insert(call.path, call.body);
                Answer::success(Value::Null)
            }
        }
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

    fn put_events(&mut self, body: &str) -> Answer {
        let call: Value = body.parse().unwrap_or_default();
        let entries = call["Entries"].as_array().cloned().unwrap_or_default();
        let bytes: usize = entries.iter().map(entry_bytes).sum();
        if !(1..=10).contains(&entries.len()) || bytes >= 256 * 1024 {
            return Answer::error(400, "ValidationException");
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
        Answer::success(json!({"FailedEntryCount": failures(&results), "Entries": results}))
    }

    fn put_record_batch(&mut self, body: &str) -> Answer {
        let records = records_of(body);
        let is_too_long = records.iter().any(|record| record.len() > 1_000 * 1_024);
        if !(1..=500).contains(&records.len()) || is_too_long || body.len() > 4 * 1024 * 1024 {
            return Answer::error(400, "InvalidArgumentException");
        }
        let mut results = Vec::new();
        for record in records {
            let code = self.refusal(Target::Lake, &record);
            results.push(result("RecordId", code));
            if code.is_none() {
                self.records.push(record);
            }
        }
        Answer::success(json!({
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

fn error_body(code: &str) -> Value {
    json!({"__type": code, "message": "a message with a secret value"})
}

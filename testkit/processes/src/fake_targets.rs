//! The targets of the deliver function at one endpoint: an EventBridge bus and a Firehose stream. This file is the server, and how a test has it fail; `targets` has what each
//! target takes.

mod targets;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::Value;

pub use self::targets::{Call, Target};
use self::targets::{FixedResponse, RefusedText, TargetResponse, Targets, error_body};
use crate::http_server::{HttpServer, Service};

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeTargets(HttpServer<FakeTargetsState>);

#[derive(Debug, Default)]
struct FakeTargetsState(Mutex<Targets>);

impl FakeTargets {
    /// Starts targets that have received nothing.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        let server = HttpServer::start(FakeTargetsState::default(), None).await?;
        Ok(Self(server))
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Every call to `target` fails from here on.
    pub fn set_unavailable(&self, target: Target) {
        self.respond(target, "", 500, error_body("InternalFailure"));
    }

    /// Entries or records of `target` that contain `text` fail with `code` from here on.
    pub fn refuse(&self, target: Target, text: &str, code: &'static str) {
        let refusal = RefusedText {
            target,
            text: text.to_owned(),
            code,
        };
        self.use_targets(|targets| targets.refusals.push(refusal));
    }

    /// Calls of `target` that contain `text` get this status and this body from here on, and
    /// nothing of them is taken. `null` is no body.
    pub fn respond(&self, target: Target, text: &str, status: u16, body: Value) {
        let response = FixedResponse {
            target,
            text: text.to_owned(),
            response: TargetResponse { status, body },
        };
        self.use_targets(|targets| targets.responses.push(response));
    }

    /// This share of calls fails from here on, some of them after they were taken, and of the
    /// entries and records of others. The seed chooses which.
    pub fn fail_at_random(&self, share: f64, seed: u64) {
        self.use_targets(|targets| {
            targets.faults = share;
            targets.random = fastrand::Rng::with_seed(seed);
        });
    }

    /// From here on, no call, entry or record fails by its text or gets a fixed response. Those that
    /// [`Self::fail_at_random`] chooses still fail.
    pub fn refuse_nothing(&self) {
        self.use_targets(|targets| {
            targets.refusals.clear();
            targets.responses.clear();
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

    fn use_targets<T>(&self, work: impl FnOnce(&mut Targets) -> T) -> T {
        self.0.service.use_targets(work)
    }
}

impl FakeTargetsState {
    fn use_targets<T>(&self, work: impl FnOnce(&mut Targets) -> T) -> T {
        let mut targets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut targets)
    }
}

impl Service for FakeTargetsState {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let Some(call) = Call::read(request) else {
            return TargetResponse::error(400, "UnknownOperationException").into_response();
        };
        let response = self.use_targets(|targets| targets.respond(call));
        response.into_response()
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
            _ => return None,
        };
        Some(Self {
            target,
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

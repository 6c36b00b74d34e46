//! From what came of a request to its response, and to the one line that is logged of it.
//!
//! An invocation never ends in an error: a panic is a 500 in the same shape as every other problem, and the process
//! goes on. It knows nothing of the endpoints.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt as _;
use lambda_http::http::header::CONTENT_TYPE;
use lambda_http::http::{HeaderName, HeaderValue, StatusCode};
use lambda_http::{Body, Response};
use serde::Serialize;

use crate::auth::Caller;
use crate::invocation::Invocation;
use crate::problem::Problem;
use crate::request::Route;
use crate::store::customers::Upserted;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The body of a success, as JSON text.
#[derive(Debug)]
pub struct Answer(String);

impl Answer {
    /// An answer with this body.
    #[must_use]
    pub fn json(body: &impl Serialize) -> Self {
        // The bodies of this service are structures of strings and numbers, which always serialize.
        Self(serde_json::to_string(body).unwrap_or_default())
    }
}

/// What the log line says of a request beside its outcome. Filled in as it becomes known.
#[derive(Debug, Default)]
pub struct Record {
    caller: Option<Caller>,
    bytes: Option<usize>,
    received: Option<usize>,
    accepted: Option<usize>,
    replayed: Option<bool>,
    upserted: Option<Upserted>,
    path: Option<&'static str>,
    faults: Vec<&'static str>,
}

impl Record {
    /// By which path it came.
    pub fn route(&mut self, route: &Route) {
        self.path = Some(route.path);
    }

    /// Whose request it is.
    pub fn caller(&mut self, caller: &Caller) {
        self.caller = Some(caller.clone());
    }

    /// How many bytes the body has, unpacked.
    pub fn bytes(&mut self, bytes: usize) {
        self.bytes = Some(bytes);
    }

    /// How many signals came and how many were accepted, and whether they had come before.
    pub fn signals(&mut self, received: usize, accepted: usize, replayed: bool) {
        (self.received, self.accepted, self.replayed) = (Some(received), Some(accepted), Some(replayed));
    }

    /// Whether the customer is new.
    pub fn customer(&mut self, upserted: Upserted) {
        self.upserted = Some(upserted);
    }

    /// The codes of what was wrong.
    pub fn faults<'f>(&mut self, faults: impl IntoIterator<Item = &'f crate::model::fault::Fault>) {
        self.faults.extend(faults.into_iter().map(|fault| fault.code.as_str()));
    }

    /// Each code with how often it came, as `required=2,too-long=1`.
    fn fault_counts(&mut self) -> String {
        self.faults.sort_unstable();
        let counts = self.faults.chunk_by(|a, b| a == b);
        counts.filter_map(|same| Some(format!("{}={}", same.first()?, same.len()))).collect::<Vec<_>>().join(",")
    }
}

/// Does `work`, whatever comes of it, and answers.
pub async fn conclude(
    invocation: &Invocation,
    work: impl AsyncFnOnce(&mut Record) -> Result<Answer, Problem>,
) -> Response<Body> {
    let began = Instant::now();
    let mut record = Record::default();
    let outcome = AssertUnwindSafe(work(&mut record)).catch_unwind().await.unwrap_or(Err(Problem::InternalError));
    if let Err(problem) = &outcome {
        record.faults(problem.faults());
    }
    let response = respond(&outcome, invocation);
    log(invocation, &mut record, &outcome, began);
    response
}

fn respond(outcome: &Result<Answer, Problem>, invocation: &Invocation) -> Response<Body> {
    let mut response = match outcome {
        Ok(answer) => Response::new(Body::Text(answer.0.clone())),
        Err(problem) => Response::new(Body::Text(problem.body(&invocation.id))),
    };
    let media_type = match outcome {
        Ok(_) => "application/json",
        Err(problem) => {
            *response.status_mut() = StatusCode::from_u16(problem.kind().status).unwrap_or_default();
            response.headers_mut().extend(problem.headers());
            "application/problem+json"
        }
    };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(id) = HeaderValue::from_str(&invocation.id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn log(
    invocation: &Invocation,
    record: &mut Record,
    outcome: &Result<Answer, Problem>,
    began: Instant,
) {
    let (status, code) = outcome.as_ref().map_or_else(|problem| (problem.kind().status, problem.kind().code), |_| (200, "ok"));
    let storage = match outcome {
        Err(Problem::StorageUnavailable { error, .. }) => Some(error.to_string()),
        _ => None,
    };
    let faults = record.fault_counts();
    tracing::info!(
        requestId = invocation.id,
        path = record.path,
        status,
        code,
        accountId = record.caller.as_ref().map(|caller| caller.account_id.as_str()),
        keyId = record.caller.as_ref().map(|caller| caller.key_id.as_str()),
        bytes = record.bytes,
        received = record.received,
        accepted = record.accepted,
        rejected = record.received.zip(record.accepted).map(|(received, accepted)| received.saturating_sub(accepted)),
        replayed = record.replayed,
        result = record.upserted.map(Upserted::as_str),
        faults = (!faults.is_empty()).then_some(faults),
        storage,
        milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "request"
    );
}

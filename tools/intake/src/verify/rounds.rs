//! The batches of signals that `verify` sends, in rounds of three: one signal, as many as a request may
//! have, and some of which one is invalid.
//! It records what was sent: for the comparison with what is stored, and for its removal. Must not know what is stored of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use anyhow::Result;
use futures_util::{StreamExt as _, stream};
use model::limits::MAX_SIGNALS_PER_REQUEST;
use serde_json::{Value, json};

use super::api::{Api, ApiRequest, ApiResponse, ExpectedResponse, SIGNALS};
use super::report::CheckContext;
use crate::check_result::CheckOutcome;

/// How many customers (even numbers) and emitters the signals are for.
pub(super) const SUBJECT_COUNT: usize = 100;

/// A request with signals.
pub(super) struct SentBatch {
    pub(super) identifier: String,
    pub(super) signals: Vec<Value>,
    /// How many of the signals are valid: the first ones.
    pub(super) valid: usize,
    /// Whether it was answered with 200.
    pub(super) is_acknowledged: bool,
}

impl SentBatch {
    /// A batch of signals of both shapes: first the valid ones, then the invalid ones, whose type is
    /// blank.
    pub(super) fn new(valid: usize, invalid: usize) -> Self {
        let identifier = uuid::Uuid::new_v4().to_string();
        let signal = |n: usize| {
            let data = json!({"request": identifier, "n": n, "price": 12.5, "note": "é\n😀", "list": [1, true, null, {}]});
            let id = subject_id(n % SUBJECT_COUNT);
            let signal_type = if n < valid { "view" } else { "" };
            if n.is_multiple_of(2) {
                json!({"customerId": id, "eventType": signal_type, "data": data})
            } else {
                let flow = uuid::Uuid::new_v4();
                json!({"emitterId": id, "stepNodeId": signal_type, "eventflowIdentifier": flow, "data": data})
            }
        };
        let signals = (0..valid.saturating_add(invalid)).map(signal).collect();
        Self {
            identifier,
            signals,
            valid,
            is_acknowledged: false,
        }
    }

    pub(super) fn request(&self) -> ApiRequest {
        let body = json!({"requestIdentifier": self.identifier, "signals": self.signals});
        ApiRequest::post(SIGNALS, body.to_string())
    }

    /// What every response has to be.
    pub(super) fn expected(&self) -> ExpectedResponse {
        let received = self.signals.len();
        ExpectedResponse::status(200)
            .body("/requestIdentifier", json!(self.identifier))
            .body("/received", json!(received))
            .body("/accepted", json!(self.valid))
            .body("/rejected", json!(received.saturating_sub(self.valid)))
    }
}

/// The id of a customer or an emitter.
pub(super) fn subject_id(who: usize) -> String {
    if who.is_multiple_of(2) {
        format!("customer-{who}")
    } else {
        format!("journey-{who}")
    }
}

pub(super) struct Sender {
    pub(super) api: Api,
    /// What was sent, by requestIdentifier. A batch is recorded before it is sent, since an
    /// interruption may come before its response.
    pub(super) batches: RefCell<BTreeMap<String, SentBatch>>,
    /// How many signals and updates of customers went to the overflow queue.
    pub(super) deferred: Cell<u64>,
}

impl Sender {
    pub(super) fn new(api: Api) -> Self {
        Self {
            api,
            batches: RefCell::default(),
            deferred: Cell::default(),
        }
    }

    pub(super) async fn send(&self, request: &ApiRequest) -> Result<ApiResponse> {
        let response = self.api.send(request).await;
        let deferred = response.as_ref().map_or(0, ApiResponse::deferred);
        self.deferred.update(|before| before + deferred);
        response
    }

    /// Sends a batch.
    pub(super) async fn send_batch(&self, batch: SentBatch, request: &ApiRequest) -> AnsweredBatch {
        let identifier = batch.identifier.clone();
        let expected = batch.expected();
        self.batches.borrow_mut().insert(identifier.clone(), batch);
        let response = self.send(request).await;
        let is_acknowledged = response
            .as_ref()
            .is_ok_and(|response| response.status == 200);
        if let Some(batch) = self.batches.borrow_mut().get_mut(&identifier) {
            batch.is_acknowledged = is_acknowledged;
        }
        AnsweredBatch { response, expected }
    }
}

/// The response to a batch, and what it has to be.
pub(super) struct AnsweredBatch {
    pub(super) response: Result<ApiResponse>,
    pub(super) expected: ExpectedResponse,
}

impl AnsweredBatch {
    /// The outcome of a check that the response is as expected.
    pub(super) fn outcome(&self) -> CheckOutcome {
        self.expected.outcome(&self.response)
    }
}

/// How many requests with signals are sent at the same time.
const CONCURRENCY: usize = 4;

/// How many signals of a batch are valid and how many are not.
#[derive(Clone, Copy)]
struct BatchSize {
    valid: usize,
    invalid: usize,
}

impl BatchSize {
    const fn signals(self) -> usize {
        self.valid.saturating_add(self.invalid)
    }
}

const SINGLE_SIGNAL: BatchSize = BatchSize {
    valid: 1,
    invalid: 0,
};

const LARGEST_BATCH: BatchSize = BatchSize {
    valid: MAX_SIGNALS_PER_REQUEST,
    invalid: 0,
};

const WITH_INVALID_SIGNAL: BatchSize = BatchSize {
    valid: 24,
    invalid: 1,
};

/// The batches of a round.
const SIZES_OF_ROUND: [BatchSize; 3] = [SINGLE_SIGNAL, LARGEST_BATCH, WITH_INVALID_SIGNAL];

/// How many signals the batches of a round have together.
pub(super) const SIGNALS_OF_ROUND: NonZeroUsize = {
    let small = SINGLE_SIGNAL.signals() + WITH_INVALID_SIGNAL.signals();
    NonZeroUsize::new(small + LARGEST_BATCH.signals()).expect("there are signals in a round")
};

/// Whether the responses to a batch were as expected, or else the first differences.
struct BatchResponses {
    first: Result<(), String>,
    /// The response to the retry, if the batch was sent twice.
    retry: Option<Result<(), String>>,
}

/// Sends about this many signals. The batches of every other round are sent twice.
pub(super) async fn send_batches(context: &CheckContext<'_>, signals: usize) {
    let rounds = signals.div_ceil(SIGNALS_OF_ROUND.get());
    let mut sends = Vec::new();
    for round in 0..rounds {
        let is_retried = round.is_multiple_of(2);
        for size in SIZES_OF_ROUND {
            sends.push(send_batch_and_retry(context, size, is_retried));
        }
    }
    let batch_responses: Vec<BatchResponses> = stream::iter(sends)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let requests = batch_responses.len();
    let mut retries = 0;
    let mut faults = Vec::new();
    let mut faults_of_retries = Vec::new();
    for responses in batch_responses {
        faults.extend(responses.first.err());
        if let Some(retry) = responses.retry {
            retries += 1;
            faults_of_retries.extend(retry.err());
        }
    }
    context.checks.add_faults(
        "Signals",
        "Batches of different sizes, both shapes mixed",
        &faults,
        format!("{requests} requests"),
    );
    context.checks.add_faults(
        "Retries",
        "Retries after the response",
        &faults_of_retries,
        format!("{retries} requests"),
    );
}

/// Sends a batch, and a second time if `is_retried`.
async fn send_batch_and_retry(
    context: &CheckContext<'_>,
    size: BatchSize,
    is_retried: bool,
) -> BatchResponses {
    let batch = SentBatch::new(size.valid, size.invalid);
    let request = batch.request();
    let AnsweredBatch { response, expected } = context.sender.send_batch(batch, &request).await;
    let accepted = expected.clone().body("/replayed", json!(false));
    let first = accepted.check(&response).map(drop);
    let mut retry = None;
    if is_retried {
        let response = context.sender.send(&request).await;
        let replayed = expected.body("/replayed", json!(true));
        retry = Some(replayed.check(&response).map(drop));
    }
    BatchResponses { first, retry }
}

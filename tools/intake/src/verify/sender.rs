//! What `verify` sends, and what it records of it: for the comparison with what is stored, and for its
//! removal. Must not know which checks there are.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::api::{Api, ApiRequest, ApiResponse, ExpectedResponse, SIGNALS};
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
    pub(super) async fn send_batch(&self, batch: SentBatch, request: &ApiRequest) -> BatchResponse {
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
        BatchResponse { response, expected }
    }
}

/// The response to a batch, and what it has to be.
pub(super) struct BatchResponse {
    pub(super) response: Result<ApiResponse>,
    pub(super) expected: ExpectedResponse,
}

impl BatchResponse {
    /// The outcome of a check that the response is as expected.
    pub(super) fn outcome(&self) -> CheckOutcome {
        self.expected.outcome(&self.response)
    }
}

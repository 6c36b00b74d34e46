//! Batches of signals, as `verify` sends them. Must not know what is stored of them.

use serde_json::{Value, json};

use super::api::{ApiRequest, SIGNALS};
use super::expected_response::ExpectedResponse;

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

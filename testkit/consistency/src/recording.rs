//! How a client records what it sent, and what it got for it.

use serde_json::Value;

use crate::generated::{GeneratedBatch, GeneratedUpdate, subject_number};
use crate::{ClientOutcome, Micros, RecordedRequest, RecordedUpdate};

impl RecordedRequest {
    /// A batch whose first attempt is sent now.
    pub fn new(batch: &GeneratedBatch, sent: Micros) -> Self {
        Self {
            sent,
            outcome: ClientOutcome::Unknown,
            identifier: batch.identifier.clone(),
            latest_clock: 0,
            signals: batch.sent.clone(),
        }
    }

    /// Notes the response to an attempt, received now. A client that named no identifier uses the
    /// one of the response from then on. Returns what is wrong with the response.
    pub fn note(&mut self, status: u16, body: &Value, now: Micros) -> Option<&'static str> {
        let named = body["requestIdentifier"].as_str();
        let own = self.identifier.as_deref();
        let is_another = own.is_some_and(|own| named.is_some_and(|named| named != own));
        if own.is_none() && matches!(status, 200 | 503) {
            self.identifier = named.map(ToOwned::to_owned);
        }
        match status {
            200 => self.outcome = ClientOutcome::Acknowledged(now),
            400 => self.outcome = ClientOutcome::Rejected,
            _ => {}
        }
        let rejected = self.rejected();
        match status {
            _ if is_another => Some("another requestIdentifier"),
            200 if named.is_none() => Some("a 200 without a requestIdentifier"),
            200 if body["rejected"] != rejected => Some("another count of rejected signals"),
            400 if rejected != self.signals.len() as u64 => {
                Some("a 400 although a signal is valid")
            }
            _ => None,
        }
    }

    /// How many of its signals break the contract.
    pub fn rejected(&self) -> u64 {
        let rejected = self.signals.iter().filter(|signal| signal.is_rejected);
        rejected.count() as u64
    }
}

impl RecordedUpdate {
    /// An update of a customer of an account, whose first attempt is sent now.
    pub fn new(update: GeneratedUpdate, account: u32, sent: Micros) -> Self {
        Self {
            customer: subject_number(account, update.customer_in_account),
            sent,
            outcome: ClientOutcome::Unknown,
            latest_clock: 0,
            is_deferred: false,
            is_repeated: false,
            is_erasure: false,
            fields: update.fields,
        }
    }

    /// Notes the response to an attempt, received now. Returns what is wrong with the response.
    pub fn note(&mut self, status: u16, body: &Value, now: Micros) -> Option<&'static str> {
        match status {
            200 => {
                self.outcome = ClientOutcome::Acknowledged(now);
                self.is_deferred = body["result"] == "deferred";
                None
            }
            400 => {
                self.outcome = ClientOutcome::Rejected;
                Some("a valid update is refused")
            }
            _ => None,
        }
    }
}

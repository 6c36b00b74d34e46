//! Successes: what a function stored, and the body that says so (docs/api.md, Customers and
//! Signals).

use std::num::NonZeroUsize;

use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::signal::Signal;
use model::timestamp::Timestamp;
use model::validation::{FieldError, Warning};
use serde::Serialize;
use store::customers::UpdateResult;

use crate::route::Route;

/// What a function did; each becomes one response.
#[derive(Debug)]
pub enum Success {
    /// The API key is valid.
    Pong,
    /// The methods of a path: a 204 without a body. Every other success is a 200.
    Options(&'static Route),
    /// A customer was created or updated, or its update is queued.
    Customer(CustomerResponse),
    /// At least one signal of a batch was stored.
    Batch(BatchResponse),
}

/// The response to an update of a customer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomerResponse {
    /// The customer, as it was sent.
    pub customer_id: String,
    /// Whether the customer is new, or the update waits in the overflow queue.
    pub result: UpdateResult,
    /// The `updatedAt` that the update stores.
    pub updated_at: Timestamp,
    /// Fields that are not in the contract.
    pub warnings: Vec<Warning>,
}

/// The response to a batch, also to one of which nothing was stored.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResponse {
    /// The client's requestIdentifier, or the generated one.
    pub request_identifier: String,
    /// How many signals were received, accepted and rejected.
    #[serde(flatten)]
    pub counts: BatchCounts,
    /// The validation errors, in the order of the signals.
    pub field_errors: Vec<FieldError>,
    /// Fields of the envelope and of accepted signals that are not as in the contract.
    pub warnings: Vec<Warning>,
}

/// How a batch was stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoredBatch {
    /// Whether the same request was received before.
    pub replayed: bool,
    /// Signals that are queued instead.
    pub deferred: usize,
}

/// The counts of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BatchCounts {
    /// Signals in the request, valid or not.
    pub received: usize,
    /// Signals that are stored or deferred.
    pub accepted: usize,
    /// Signals that are not stored.
    pub rejected: usize,
    /// Accepted signals that this request queued, to be stored later; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<NonZeroUsize>,
    /// Whether the same request was received before.
    pub replayed: bool,
}

impl BatchResponse {
    /// The response to `batch`, of which every valid signal is stored or, if it is among the
    /// `deferred` ones, queued.
    pub fn new(
        batch: Batch<'_>,
        request_identifier: &RequestIdentifier,
        stored: StoredBatch,
    ) -> Self {
        let StoredBatch { replayed, deferred } = stored;
        let counts = BatchCounts {
            received: batch.received(),
            accepted: batch.signals.len(),
            rejected: batch.rejected.len(),
            deferred: NonZeroUsize::new(deferred),
            replayed,
        };
        let mut warnings = batch.warnings;
        warnings.extend(batch.signals.into_iter().flat_map(Signal::into_warnings));
        Self {
            request_identifier: request_identifier.as_sent().to_owned(),
            counts,
            field_errors: batch
                .rejected
                .into_iter()
                .flat_map(|rejected| rejected.errors)
                .collect(),
            warnings,
        }
    }

    /// The response when the whole batch is rejected, whether all of its signals are invalid or
    /// only one. Nothing is stored, so nothing is replayed, and only the envelope has warnings.
    pub(crate) fn rejecting_all(mut self) -> Self {
        self.warnings
            .retain(|warning| !warning.at.pointer.starts_with("/signals/"));
        let received = self.counts.received;
        let counts = BatchCounts {
            received,
            accepted: 0,
            rejected: received,
            deferred: None,
            replayed: false,
        };
        Self { counts, ..self }
    }
}

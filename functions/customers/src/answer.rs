//! What became of a request, and the response that says so (docs/api.md, Customers).

use model::timestamp::Timestamp;
use model::validation::Warning;
use serde::Serialize;
use service::outcome::Outcome;
use service::telemetry::metric::Metrics;
use store::customers::UpdateResult;

use crate::metric::Metric;

/// What the function did. The variants are the bodies of its responses.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum CustomersOutcome {
    /// The API key is valid.
    Pong(Pong),
    /// A customer was created or updated, or its update is queued.
    Customer(CustomerResponse),
}

/// The response to a ping.
#[derive(Debug, Serialize)]
pub struct Pong {
    response: &'static str,
}

impl Pong {
    pub(crate) const BODY: Self = Self { response: "pong" };
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

impl Outcome for CustomersOutcome {
    fn body(&self) -> impl Serialize {
        self
    }

    fn add_metrics(&self, metrics: &mut Metrics) {
        let Self::Customer(response) = self else {
            return;
        };
        let metric = match response.result {
            UpdateResult::Created => Metric::CustomersCreated,
            UpdateResult::Updated => Metric::CustomersUpdated,
            UpdateResult::Deferred => Metric::CustomersDeferred,
        };
        metrics.add_count(metric.name(), 1);
    }
}

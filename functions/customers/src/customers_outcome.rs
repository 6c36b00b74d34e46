//! The outcome of a request, and its response (docs/api.md, Customers).

use model::timestamp::Timestamp;
use model::validation::Warning;
use serde::{Serialize, Serializer};
use service::outcome::EndpointOutcome;
use service::telemetry::metric::Metrics;
use store::error::UnstoredReason;

use crate::customers_metrics::CustomersMetric;

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
    /// The customerId, as it was sent.
    pub customer_id: String,
    pub result: CustomerResult,
    /// The `updatedAt` that the update has stored, or will store.
    pub updated_at: Timestamp,
    /// About unknown fields.
    pub warnings: Vec<Warning>,
}

/// The outcome of an update. In the response it is one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomerResult {
    /// The customer is new.
    Created,
    /// The customer existed before.
    Updated,
    /// The update is in the overflow queue, because DynamoDB did not acknowledge it.
    Deferred(UnstoredReason),
}

impl Serialize for CustomerResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deferred(_) => "deferred",
        })
    }
}

impl EndpointOutcome for CustomersOutcome {
    fn body(&self) -> impl Serialize {
        self
    }

    fn unstored_reason(&self) -> Option<&UnstoredReason> {
        match self {
            Self::Customer(CustomerResponse {
                result: CustomerResult::Deferred(reason),
                ..
            }) => Some(reason),
            Self::Customer(_) | Self::Pong(_) => None,
        }
    }

    fn add_metrics(&self, metrics: &mut Metrics) {
        let Self::Customer(response) = self else {
            return;
        };
        let metric = match response.result {
            CustomerResult::Created => CustomersMetric::CustomersCreated,
            CustomerResult::Updated => CustomersMetric::CustomersUpdated,
            CustomerResult::Deferred(_) => CustomersMetric::CustomersDeferred,
        };
        metrics.add_count(metric.name(), 1);
    }
}

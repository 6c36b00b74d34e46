//! The kinds of requests: what one of them is, and where it is stored.

use serde_json::{Value, json};
use testkit::RequestBuilder;

/// What the requests of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Updates of customers.
    Updates,
    /// Batches of 1 to 5 signals.
    Batches,
}

impl RequestKind {
    pub(crate) const ALL: [Self; 2] = [Self::Updates, Self::Batches];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Batches => "batches",
        }
    }

    /// The program of the function that serves it.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Updates => "customers",
            Self::Batches => "signals",
        }
    }

    /// The table that has what is sent, by its logical id.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::Updates => "CustomersTable",
            Self::Batches => "SignalsTable",
        }
    }

    /// How many items are stored of a request, of which a batch has this many signals.
    pub(crate) fn items(self, signals: u64) -> u64 {
        match self {
            Self::Updates => 1,
            Self::Batches => signals,
        }
    }

    /// An update of a customer, or a batch with this many of its signals. A batch has an identifier,
    /// so that its idempotency record and its signals are two calls, one after the other.
    pub(crate) fn request(self, number: usize, customer_id: &str, signals: u64) -> RequestBuilder {
        match self {
            Self::Updates => {
                let profile = json!({"city": customer_id});
                RequestBuilder::customer(json!({
                    "customerId": customer_id,
                    "customerData": profile,
                }))
            }
            Self::Batches => RequestBuilder::signals(batch(number, customer_id, signals)),
        }
    }
}

/// The body of the `number`-th request, with this many signals of a customer.
fn batch(number: usize, customer_id: &str, signals: u64) -> Value {
    let signal = |product| {
        json!({
            "customerId": customer_id,
            "eventType": "product_viewed",
            "data": {"productId": product},
        })
    };
    let signals: Vec<_> = (0..signals).map(signal).collect();
    let identifier = format!("00000000-0000-4000-8000-{number:012x}");
    json!({"requestIdentifier": identifier, "signals": signals})
}

//! The events that are measured: one customer, and a batch of signals.

use anyhow::{Context as _, Result};
use hyper::body::Bytes;
use serde_json::{Value, json};

const CUSTOMERS: &str = include_str!("../../../events/customers-create.json");
const SIGNALS: &str = include_str!("../../../events/signals-events.json");

/// What instructions are counted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One customer.
    Customer,
    /// A batch of one signal.
    Signal,
    /// A batch of 100 signals.
    Batch,
}

impl Workload {
    /// The function that serves it.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Self::Customer => "customers",
            Self::Signal | Self::Batch => "signals",
        }
    }

    /// The calls to DynamoDB of a new process that serves this many requests: it looks up a key when
    /// it starts, the key of the requests once, and writes.
    pub(crate) fn calls(self, requests: u64) -> u64 {
        let writes = match self {
            Self::Customer | Self::Signal => 1,
            // A call writes at most 25 signals.
            Self::Batch => 4,
        };
        let lookups = 1 + requests.min(1);
        lookups + writes * requests
    }

    pub(crate) fn event(self) -> Result<Bytes> {
        match self {
            Self::Customer => customer(),
            Self::Signal => batch(1),
            Self::Batch => batch(100),
        }
    }
}

/// One customer with the ten fields of the contract.
fn customer() -> Result<Bytes> {
    let body = json!({"customerId": "c-1001", "customerData": {
        "email": "ada@example.com", "phoneNumber": "+4915112345678", "firstName": "Ada", "lastName": "Lovelace",
        "gender": "female", "dob": "1815-12-10", "city": "London", "state": "", "country": "United Kingdom", "zip": "W1",
    }});
    event(CUSTOMERS, &body)
}

/// A batch of `count` signals, whose data has the seven fields of the contract.
pub(crate) fn batch(count: usize) -> Result<Bytes> {
    let signal = |index: usize| {
        json!({
            "customerId": format!("c-{index:04}"), "eventType": "product_viewed",
            "eventflowIdentifier": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "data": {
                "price": 49.9, "brand": "Acme", "productId": format!("p-{index:04}"), "category": "shoes",
                "subCategory1": "running", "subCategory2": "men", "subCategory3": "trail",
            },
        })
    };
    let signals: Vec<Value> = (0..count).map(signal).collect();
    event(SIGNALS, &json!({"signals": signals}))
}

fn event(example: &str, body: &Value) -> Result<Bytes> {
    let mut event: Value =
        serde_json::from_str(example).context("the example event is not JSON")?;
    let body = body.to_string();
    event["headers"]["content-length"] = body.len().to_string().into();
    event["body"] = body.into();
    Ok(Bytes::from(event.to_string()))
}

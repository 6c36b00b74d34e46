//! Requests with as many signals as a test needs. All are of the customer `c` of the account `shop`.
//! The scripted tests of the simulator have this file, too.

use serde_json::{Value, json};

use super::RequestBuilder;

/// The requestIdentifier of requests that have one.
pub(crate) const REQUEST_IDENTIFIER: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// This many signals. Each has its number, text that JSON escapes, and an unknown field.
pub(crate) fn signals(n: usize) -> Value {
    let signal = |n| {
        json!({
            "customerId": "c",
            "eventType": "view",
            "data": {"n": n, "x": "\u{fffe}\""},
            "more": 1.0,
        })
    };
    (0..n).map(signal).collect()
}

/// The body of a request with this many signals and [`REQUEST_IDENTIFIER`].
pub(crate) fn batch_with_identifier(n: usize) -> Value {
    json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": signals(n)})
}

pub(crate) fn request_with_identifier(n: usize) -> RequestBuilder {
    RequestBuilder::signals(batch_with_identifier(n))
}

pub(crate) fn request_without_identifier(n: usize) -> RequestBuilder {
    RequestBuilder::signals(json!({"signals": signals(n)}))
}

pub(crate) fn customer() -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "Ulm"}}))
}

//! The events that are measured: one customer, and a batch of signals. Must not know what they cost.

use anyhow::{Context as _, Result};
use hyper::body::Bytes;
use serde_json::{Value, json};

const CUSTOMERS: &str = include_str!("../../events/customers-create.json");
const SIGNALS: &str = include_str!("../../events/signals-events.json");

/// The requestIdentifier of batches that have one.
pub const REQUEST_IDENTIFIER: &str = "7f3a0f52-9f8e-4f5a-8f4e-2f1a5c1d9e11";

/// One customer with the ten fields of the contract.
///
/// # Errors
/// When the example event is not JSON.
pub fn customer() -> Result<Bytes> {
    event(CUSTOMERS, &customer_body())
}

/// A batch of `count` signals, whose data has the seven fields of the contract.
///
/// # Errors
/// When the example event is not JSON.
pub fn batch(count: usize, request_identifier: Option<&str>) -> Result<Bytes> {
    event(SIGNALS, &batch_body(count, request_identifier, 0))
}

/// A batch of 500 signals whose body is as long as the service takes, 4 MiB.
///
/// # Errors
/// When the example event is not JSON.
pub fn largest_batch() -> Result<Bytes> {
    const LARGEST: usize = 4 * 1024 * 1024;
    let plain = batch_body(500, None, 0).len();
    let filler =
        LARGEST.saturating_sub(plain).checked_div(500).unwrap_or_default().saturating_sub(r#","filler":"""#.len());
    event(SIGNALS, &batch_body(500, None, filler))
}

/// The body of [`customer`].
pub fn customer_body() -> String {
    json!({"customerId": "c-1001", "customerData": {
        "email": "ada@example.com", "phoneNumber": "+4915112345678", "firstName": "Ada", "lastName": "Lovelace",
        "gender": "female", "dob": "1815-12-10", "city": "London", "state": "", "country": "United Kingdom", "zip": "W1",
    }})
    .to_string()
}

/// The body of a [`batch`], each signal with `filler` characters more if that is not 0.
pub fn batch_body(count: usize, request_identifier: Option<&str>, filler: usize) -> String {
    let signals: Vec<Value> = (0..count).map(|index| signal(index, filler)).collect();
    match request_identifier {
        None => json!({"signals": signals}),
        Some(identifier) => json!({"requestIdentifier": identifier, "signals": signals}),
    }
    .to_string()
}

fn signal(index: usize, filler: usize) -> Value {
    let mut data = json!({
        "price": 49.9, "brand": "Acme", "productId": format!("p-{index:04}"), "category": "shoes",
        "subCategory1": "running", "subCategory2": "men", "subCategory3": "trail",
    });
    if filler > 0 {
        data["filler"] = Value::String("x".repeat(filler));
    }
    json!({
        "customerId": format!("c-{index:04}"), "eventType": "product_viewed",
        "eventflowIdentifier": "3fa85f64-5717-4562-b3fc-2c963f66afa6", "data": data,
    })
}

fn event(example: &str, body: &str) -> Result<Bytes> {
    let mut event: Value = serde_json::from_str(example).context("the example event is not JSON")?;
    event["headers"]["content-length"] = Value::String(body.len().to_string());
    event["body"] = Value::String(body.to_owned());
    Ok(Bytes::from(event.to_string()))
}

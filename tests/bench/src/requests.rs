//! The events that are measured: one customer, a batch of signals, and a batch of records of a stream. Must not know what they
//! cost.

use anyhow::{Context as _, Result};
use hyper::body::Bytes;
use serde_json::{Value, json};

const CUSTOMERS: &str = include_str!("../../../events/customers-create.json");
const SIGNALS: &str = include_str!("../../../events/signals-events.json");
const STREAM: &str = include_str!("../../../events/stream/signals.json");

/// The requestIdentifier of batches that have one.
pub(crate) const REQUEST_IDENTIFIER: &str = "7f3a0f52-9f8e-4f5a-8f4e-2f1a5c1d9e11";

/// Records of a batch of a stream: `BatchSize` of delivery/template.yaml for the bus.
pub(crate) const RECORDS: u32 = 500;

/// The longest body that the service takes: 4 MiB.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// One customer with the ten fields of the contract.
pub(crate) fn customer() -> Result<Bytes> {
    let body = json!({"customerId": "c-1001", "customerData": {
        "email": "ada@example.com", "phoneNumber": "+4915112345678", "firstName": "Ada", "lastName": "Lovelace",
        "gender": "female", "dob": "1815-12-10", "city": "London", "state": "", "country": "United Kingdom", "zip": "W1",
    }});
    event(CUSTOMERS, &body.to_string())
}

/// A batch of `count` signals, whose data has the seven fields of the contract.
pub(crate) fn batch(count: usize, request_identifier: Option<&str>) -> Result<Bytes> {
    event(SIGNALS, &batch_body(count, request_identifier, ""))
}

/// A batch of 500 signals whose body is as long as the service takes.
pub(crate) fn largest_batch() -> Result<Bytes> {
    let plain = batch_body(500, None, "").len();
    let filler = MAX_BODY_BYTES.saturating_sub(plain) / 500;
    event(SIGNALS, &batch_body(500, None, &"x".repeat(filler)))
}

/// Each signal has the filler at the end of its brand.
fn batch_body(count: usize, request_identifier: Option<&str>, filler: &str) -> String {
    let signals: Vec<Value> = (0..count).map(|index| signal(index, filler)).collect();
    let mut body = json!({"signals": signals});
    if let Some(identifier) = request_identifier {
        body["requestIdentifier"] = identifier.into();
    }
    body.to_string()
}

fn signal(index: usize, filler: &str) -> Value {
    json!({
        "customerId": format!("c-{index:04}"), "eventType": "product_viewed",
        "eventflowIdentifier": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
        "data": {
            "price": 49.9, "brand": format!("Acme{filler}"), "productId": format!("p-{index:04}"), "category": "shoes",
            "subCategory1": "running", "subCategory2": "men", "subCategory3": "trail",
        },
    })
}

/// An event with records of new signals, whose data has the seven fields of the contract.
pub(crate) fn records() -> Result<Bytes> {
    let stream: Value = serde_json::from_str(STREAM).context("the example event is not JSON")?;
    let texts = ["brand", "productId", "category", "subCategory1", "subCategory2", "subCategory3"];
    let mut data = json!({"price": {"N": "49.9"}});
    for name in texts {
        data[name] = json!({"S": "running shoes"});
    }
    let record = |number: u32| {
        let mut record = stream["Records"][0].clone();
        let change = &mut record["dynamodb"];
        change["SequenceNumber"] = format!("{number:027}").into();
        let sort_key =
            json!({"S": format!("2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#{number:04}")});
        change["Keys"]["sk"] = sort_key.clone();
        change["NewImage"]["sk"] = sort_key;
        change["NewImage"]["data"] = json!({"M": data});
        record
    };
    Ok(Bytes::from(json!({"Records": (0..RECORDS).map(record).collect::<Vec<_>>()}).to_string()))
}

fn event(example: &str, body: &str) -> Result<Bytes> {
    let mut event: Value = serde_json::from_str(example).context("the example event is not JSON")?;
    event["headers"]["content-length"] = body.len().to_string().into();
    event["body"] = body.into();
    Ok(Bytes::from(event.to_string()))
}

//! A DynamoDB that stores nothing: it answers each call as if it had succeeded, after a delay, and counts it. Must not know
//! what was stored, nor who calls.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Map, Value, json};
use tokio_rustls::TlsAcceptor;

use crate::http_server::{HttpServer, Service};

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeDynamoDb(HttpServer<State>);

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Connections that the function closed during the TLS handshake.
    pub failed_handshakes: u64,
    /// Calls, by operation.
    pub calls: BTreeMap<String, u64>,
    /// Items put or updated.
    pub items: u64,
    /// Write units: of each item, one for each kilobyte begun.
    pub write_units: u64,
}

impl Counts {
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.calls.values().sum()
    }
}

#[derive(Debug, Default)]
struct State {
    counts: Mutex<Counts>,
    delay_micros: AtomicU64,
}

impl FakeDynamoDb {
    /// Starts one, plain or over TLS.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start(tls: Option<TlsAcceptor>) -> Result<Self> {
        Ok(Self(HttpServer::start(State::default(), tls).await?))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// How long each call takes from here on.
    pub fn set_delay(&self, delay: Duration) {
        self.0.service.delay_micros.store(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What was counted since the last time.
    pub fn take_counts(&self) -> Counts {
        std::mem::take(&mut self.0.service.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Service for State {
    fn connected(&self) {
        self.count(|counts| counts.connections += 1);
    }

    fn handshake_failed(&self) {
        self.count(|counts| counts.failed_handshakes += 1);
    }

    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let call: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let written = written(&operation, &call);
        self.count(|counts| {
            let calls = counts.calls.entry(operation.clone()).or_default();
            *calls += 1;
            counts.items += u64::try_from(written.len()).unwrap_or(u64::MAX);
            counts.write_units = written
                .iter()
                .fold(counts.write_units, |sum, bytes| sum + u64::try_from(bytes.div_ceil(1024)).unwrap_or(u64::MAX));
        });
        let delay = Duration::from_micros(self.delay_micros.load(Ordering::Relaxed));
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        respond(&answer_to(&operation, &call))
    }
}

fn answer_to(operation: &str, call: &Value) -> Value {
    match operation {
        "GetItem" => json!({"Item": {
            "keyHash": call["Key"]["keyHash"],
            "keyId": {"S": "key_0123456789ab"},
            "accountId": {"S": "shop"},
            "name": {"S": "web"},
            "createdAt": {"S": "2026-11-20T22:33:44.123Z"},
        }}),
        "BatchWriteItem" => json!({"UnprocessedItems": {}}),
        "UpdateItem" => json!({"Attributes": before(call)}),
        _ => json!({}),
    }
}

/// What `UPDATED_OLD` gives back: of an item that was there, what is written over.
fn before(call: &Value) -> Map<String, Value> {
    let names =
        call["ExpressionAttributeNames"].as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
    let own = ["accountId", "customerId", "createdAt", "updatedAt"];
    names.chain(own).map(|name| (name.to_owned(), json!({"S": "2026-11-20T22:33:44.123Z"}))).collect()
}

fn respond(body: &Value) -> Response<Full<Bytes>> {
    let body = body.to_string();
    let mut response = Response::new(Full::new(Bytes::from(body.clone())));
    let headers = response.headers_mut();
    for (name, value) in [
        ("server", "Server".to_owned()),
        ("content-type", "application/x-amz-json-1.0".to_owned()),
        ("x-amzn-requestid", "F8P0J2M8Q7L5S3R1V9T6N4K2H0VV4KQNSO5AEMVJF66Q9ASUAAJG".to_owned()),
        ("x-amz-crc32", crc32fast::hash(body.as_bytes()).to_string()),
    ] {
        if let Ok(value) = value.try_into() {
            headers.insert(name, value);
        }
    }
    response
}

/// The sizes of the items that a call writes, in bytes.
fn written(operation: &str, call: &Value) -> Vec<usize> {
    match operation {
        "PutItem" => vec![item_bytes(&call["Item"])],
        "UpdateItem" => vec![updated_bytes(call)],
        "BatchWriteItem" => {
            let tables = call["RequestItems"].as_object().into_iter().flat_map(Map::values);
            let requests = tables.filter_map(Value::as_array).flatten();
            requests.map(|request| item_bytes(&request["PutRequest"]["Item"])).collect()
        }
        _ => Vec::new(),
    }
}

/// An update costs what the whole item has afterwards; here the item is what the update sets.
fn updated_bytes(call: &Value) -> usize {
    let own = "accountIdcustomerIdcreatedAtupdatedAt".len() + "2026-11-20T22:33:44.123Z".len();
    let names = call["ExpressionAttributeNames"].as_object().into_iter().flat_map(Map::values);
    let names: usize = names.filter_map(Value::as_str).map(str::len).sum();
    let values = call["ExpressionAttributeValues"].as_object().into_iter().flat_map(Map::values);
    [item_bytes(&call["Key"]), own, names, values.map(value_bytes).sum()].iter().sum()
}

fn item_bytes(item: &Value) -> usize {
    let members = item.as_object().into_iter().flatten();
    members.map(|(name, value)| name.len() + value_bytes(value)).sum()
}

/// The size of a value as DynamoDB counts it: text by its UTF-8, a number by its digits in pairs, a map or list by three
/// bytes and one for each member.
fn value_bytes(value: &Value) -> usize {
    let Some((kind, value)) = value.as_object().and_then(|value| value.iter().next()) else { return 0 };
    match (kind.as_str(), value) {
        ("S", Value::String(text)) => text.len(),
        ("N", Value::String(number)) => {
            let digits = number.trim_matches('0').bytes().filter(u8::is_ascii_digit).count();
            digits.div_ceil(2) + if number.starts_with('-') { 2 } else { 1 }
        }
        ("M", map @ Value::Object(members)) => item_bytes(map) + members.len() + 3,
        ("L", Value::Array(list)) => list.iter().map(value_bytes).sum::<usize>() + list.len() + 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_size_is_computed_as_dynamodb_documents() {
        let item = json!({"pk": {"S": "a#b"}, "n": {"N": "-49.90"}, "m": {"M": {"ä": {"L": [{"NULL": true}]}}}});
        // pk: 2 + 3; n: 1 + two pairs and the sign 4; m: 1 + 3 + 1 + (2 + 3 + 1 + 1).
        assert_eq!(item_bytes(&item), 5 + 5 + 12);
    }

    #[test]
    fn item_takes_a_write_unit_per_started_kilobyte() {
        let put = |bytes: usize| json!({"PutRequest": {"Item": {"x": {"S": "y".repeat(bytes - 1)}}}});
        let call = json!({"RequestItems": {"table": [put(1024), put(1025)]}});
        assert_eq!(written("BatchWriteItem", &call), [1024, 1025]);
    }
}

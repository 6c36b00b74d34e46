//! A DynamoDB that stores nothing: it responds to each call as if it had succeeded, after a delay, and
//! counts it.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Map, Value, json};
use tokio_rustls::TlsAcceptor;

use crate::http_server::{HttpServer, Service, response};

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct StubDynamoDb(HttpServer<StubDynamoDbState>);

/// What the server has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    pub connections: u64,
    /// Connections that the function closed during the TLS handshake.
    pub failed_handshakes: u64,
    pub calls: u64,
}

#[derive(Debug)]
struct StubDynamoDbState {
    counts: Mutex<ServerCounts>,
    delay: Duration,
}

impl StubDynamoDb {
    /// Starts one over TLS that responds to each call after `delay`.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start(tls: TlsAcceptor, delay: Duration) -> Result<Self> {
        let state = StubDynamoDbState {
            counts: Mutex::default(),
            delay,
        };
        let server = HttpServer::start(state, Some(tls)).await?;
        Ok(Self(server))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// What was counted so far.
    pub fn counts(&self) -> ServerCounts {
        self.0.service.counts().clone()
    }
}

impl StubDynamoDbState {
    fn counts(&self) -> MutexGuard<'_, ServerCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for StubDynamoDbState {
    fn connected(&self, _number: u64) {
        self.counts().connections += 1;
    }

    fn handshake_failed(&self) {
        self.counts().failed_handshakes += 1;
    }

    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request
            .headers()
            .get("x-amz-target")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let call: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        self.counts().calls += 1;
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        respond(&response_to(operation, &call))
    }
}

fn response_to(operation: &str, call: &Value) -> Value {
    match operation {
        "GetItem" => json!({"Item": {
            "keyHash": call["Key"]["keyHash"],
            "keyId": {"S": "key_0123456789ab"},
            "accountId": {"S": "shop"},
            "name": {"S": "web"},
            "createdAt": {"S": "2026-11-20T22:33:44.123Z"},
        }}),
        "BatchWriteItem" => json!({"UnprocessedItems": {}}),
        "UpdateItem" => json!({"Attributes": old_attributes(call)}),
        _ => json!({}),
    }
}

/// What `UPDATED_OLD` returns: the values that the update replaces, as if the item had all of them.
fn old_attributes(call: &Value) -> Map<String, Value> {
    let names_in_call = call["ExpressionAttributeNames"]
        .as_object()
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_str);
    // Those that the expression names without an alias.
    let always_written = [
        "accountId",
        "customerId",
        "createdAt",
        "updatedAt",
        "fence",
        "fenceId",
    ];
    names_in_call
        .chain(always_written)
        .map(|name| (name.to_owned(), json!({"S": "2026-11-20T22:33:44.123Z"})))
        .collect()
}

fn respond(body: &Value) -> Response<Full<Bytes>> {
    let body = body.to_string();
    let checksum = crc32fast::hash(body.as_bytes()).to_string();
    let headers = [
        ("server", "Server"),
        ("content-type", "application/x-amz-json-1.0"),
        (
            "x-amzn-requestid",
            "F8P0J2M8Q7L5S3R1V9T6N4K2H0VV4KQNSO5AEMVJF66Q9ASUAAJG",
        ),
        ("x-amz-crc32", checksum.as_str()),
    ];
    response(200, &headers, body)
}

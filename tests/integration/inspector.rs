//! The inspector of `cargo dev`: its API, and who may use it (docs/local.md, Inspector).
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod access;
mod answers;
mod contracts;
mod disconnected_clients;
mod incomplete_bodies;
mod refusals;
mod requests;
mod rows;
mod signals;
mod stored_data;

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{LocalStack, TestResponse, call, client_at};
use model::api_key::KeyHash;
use serde_json::Value;

const BATCH: &str = r#"{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":[{"customerId":"-c1","eventType":"purchase","data":{"price":12345678901234567890.10}},{"customerId":"-c1"}]}"#;

const SIGNALS: &str = "/api/event-flows/signal";

/// The header that the page of the inspector sends with each request that changes something.
const OWN_PAGE: (&str, &str) = ("X-Intake-Inspector", "1");

struct Inspector<'a>(&'a LocalStack);

impl Inspector<'_> {
    fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestResponse {
        let url = format!("{}{path}", self.0.variable("INSPECTOR_URL"));
        call(method, &url, headers, body)
    }

    fn get(&self, path: &str) -> Value {
        let response = self.call("GET", path, &[], b"");
        assert_eq!(response.status, 200, "{path}: {}", response.text);
        response.json()
    }

    fn post(&self, path: &str, body: &str) -> TestResponse {
        let response = self.call("POST", path, &[OWN_PAGE], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text);
        response
    }

    /// Empties the tables and the queue of the stack, and the inspector's history.
    fn reset(&self) {
        let response = self.call("POST", "/reset", &[OWN_PAGE], b"");
        assert_eq!(response.status, 204, "{}", response.text);
    }

    /// The newest request in the list.
    fn newest(&self) -> Value {
        let list = self.get("/requests");
        let newest = list["requests"].as_array().unwrap().last().unwrap();
        assert_eq!(newest["n"], list["last"]);
        newest.clone()
    }
}

/// Fails unless `value` has all these members with these values.
#[track_caller]
fn assert_members(value: &Value, expected: &Value) {
    for (name, member) in expected.as_object().unwrap() {
        assert_eq!(value[name], *member, "{name} of {value}");
    }
}

/// A key of the account `shop`, which the stack knows.
async fn other_key(stack: &LocalStack) -> String {
    let key = format!("intake_sk_{}", "a".repeat(64));
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = client_at(stack.variable("AWS_ENDPOINT_URL_DYNAMODB"))
        .put_item()
        .table_name("ApiKeysTable")
        .item("keyHash", text(&KeyHash::from_key(&key).partition_key()))
        .item("keyId", text("key_shop"))
        .item("accountId", text("shop"))
        .item("name", text("shop"))
        .item("createdAt", text("2026-01-01T00:00:00.000Z"));
    put.send().await.unwrap();
    key
}

//! Requests that together store every attribute of docs/data-model.md. This module must not know
//! what the page says of them.

use std::collections::HashMap;
use std::time::Duration;

use harness::fault_proxy::{Fault, FaultProxy};
use harness::{Item, RequestBuilder, TestApp};
use model::api_key::Endpoint;
use model::customer::PROFILE_FIELDS;
use model::key_entry::KeyEntry;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::TABLES;
use crate::support::clock::{NOW, earlier};
use crate::support::requests::REQUEST_IDENTIFIER;

/// Lambda's id of the invocations in the examples.
const INVOCATION: &str = "8f5d2c0e-1b7a-4e43-9d35-0c6b1a2f7e90";

/// A stack of which `BatchWriteItem` fails where a body has `marker`, and whose queue takes nothing, with
/// signals that are kept for 90 days.
async fn stack_failing_at(marker: &'static str) -> (TestApp, FaultProxy) {
    let emulator = TestApp::emulator();
    let endpoint = emulator.endpoint();
    let failing = Fault::InternalServerError
        .where_body_has(marker)
        .for_operation("BatchWriteItem");
    let proxy = FaultProxy::start(&endpoint, failing).await.unwrap();
    let retention = Some(Duration::from_hours(90 * 24));
    let app = TestApp::with_dynamodb(emulator, &endpoint, &proxy.endpoint(), retention);
    app.sqs.faults().set(Fault::InternalServerError.always());
    (app, proxy)
}

/// A profile with a documented field, an empty one and an unknown one.
fn customer() -> Value {
    let profile = json!({"email": "ada@example.com", "firstName": "Ada", "gender": "", "loyalty": {"tier": "gold", "points": 1250}});
    json!({"customerId": "c-1001", "customerData": profile})
}

/// A profile with every documented field, and unknown ones of every type.
fn customer_with_all_fields() -> Value {
    let mut profile: HashMap<&str, Value> = PROFILE_FIELDS.map(|name| (name, json!("x"))).into();
    profile.extend([
        ("n", json!(1)),
        ("b", json!(true)),
        ("l", json!([null])),
        ("s", json!("")),
    ]);
    json!({"customerId": "c-1002", "customerData": profile})
}

/// An event with an unknown field, an invalid one and a workflow step.
fn batch() -> Value {
    let flow = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
    let data = json!({"price": 49.90, "productId": "p-17"});
    json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [
        {"customerId": "c-1001", "eventType": "purchase", "eventflowIdentifier": flow, "data": data, "sessionId": "s-9"},
        {"customerId": "c-1001", "eventType": ""},
        {"emitterId": "journey-7", "stepNodeId": "start", "eventflowIdentifier": flow}
    ]})
}

/// What the functions store of requests that together have every attribute. The requests are sent once.
pub(super) async fn stored() -> &'static HashMap<&'static str, Vec<Item>> {
    static STORED: OnceCell<HashMap<&'static str, Vec<Item>>> = OnceCell::const_new();
    STORED.get_or_init(items_of_requests).await
}

async fn items_of_requests() -> HashMap<&'static str, Vec<Item>> {
    let (stack, _proxy) = stack_failing_at("\"fails\"").await;
    let expires_at = Some(NOW.plus(Duration::from_hours(90 * 24)));
    let named = |entry: &mut KeyEntry| {
        let key_id = "key_3f2a9c81d04e".to_owned();
        let name = "web".to_owned();
        *entry = KeyEntry {
            key_id,
            name,
            created_at: NOW,
            expires_at,
            ..entry.clone()
        };
    };
    let key = stack.key_with("acme", named).await;
    let revoked = |entry: &mut KeyEntry| {
        *entry = KeyEntry {
            revoked_at: Some(NOW),
            only: Some(Endpoint::Signals),
            ..entry.clone()
        };
    };
    stack.key_with("acme", revoked).await;
    let too_long = json!({"signals": ["x".repeat(310 * 1024)]});
    let failing = json!({"signals": [{"customerId": "c", "eventType": "fails"}]});
    // The fence of a field that was removed long ago goes with an update by a slower clock.
    for (profile, time) in [
        (json!({"n": null}), earlier(40 * 24 * 60 * 60)),
        (json!({"city": "Ulm"}), NOW),
        (json!({"zip": "1"}), earlier(1)),
    ] {
        let body = json!({"customerId": "c-1003", "customerData": profile});
        let call = RequestBuilder::customer(body).key(&key).received_at(time);
        let response = stack.send(call).await;
        assert_eq!(response.status, 200, "{}", response.text);
    }
    for (call, status) in [
        (RequestBuilder::customer(customer()), 200),
        (RequestBuilder::customer(customer_with_all_fields()), 200),
        (RequestBuilder::signals(batch()), 200),
        (RequestBuilder::signals(too_long), 400),
        (RequestBuilder::signals(failing), 503),
    ] {
        let response = stack
            .send(call.key(&key).received_at(NOW).invocation(INVOCATION))
            .await;
        assert_eq!(response.status, status, "{}", response.text);
    }
    let mut items = HashMap::new();
    for table in TABLES {
        items.insert(table, stack.items(&format!("{table}Table")).await);
    }
    items
}

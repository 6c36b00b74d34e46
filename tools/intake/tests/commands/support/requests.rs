//! Requests of clients, whose data a command then finds.

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

/// The eventflowIdentifier of steps.
pub(crate) const FLOW: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

/// Sends these signals as if they had arrived at this time.
pub(crate) async fn send_at(app: &TestApp, key: &str, received_at: Timestamp, signals: Value) {
    let call = RequestBuilder::signals(json!({ "signals": signals }));
    let response = app.send(call.key(key).received_at(received_at)).await;
    assert_eq!(response.status, 200, "{}", response.text);
}

/// Sends a request that succeeds.
pub(crate) async fn send(app: &TestApp, key: &str, call: RequestBuilder) {
    let response = app.send(call.key(key)).await;
    assert_eq!(response.status, 200, "{response:?}");
}

/// Sends a batch of signals that are all rejected.
pub(crate) async fn send_rejected(app: &TestApp, key: &str, signals: Value) {
    let body = json!({ "signals": signals });
    let call = RequestBuilder::signals(body)
        .key(key)
        .received_at(Timestamp::now());
    let response = app.send(call).await;
    assert_eq!(response.status, 400, "{response:?}");
}

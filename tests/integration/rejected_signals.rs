//! Rejected signals are stored as sent, with their errors; or, with strict handling, nothing is
//! (docs/api.md, Signals).

use harness::{RequestBuilder, TestApp, TestResponse};
use serde_json::{Value, json};

use crate::support::clock::NOW;

/// A requestIdentifier in capitals, which is stored as sent.
const UPPERCASE_IDENTIFIER: &str = "6F1C0A52-7C1E-4A3E-9F0B-0D2F6F8A1B11";

#[tokio::test]
async fn rejected_signal_is_stored_once_as_sent() {
    let (app, key) = TestApp::with_key("shop").await;
    let invalid = r#"{ "customerId":"c1", "eventType":"", "data":{"n":1e999} }"#;
    let body = format!(
        r#"{{"requestIdentifier":"{UPPERCASE_IDENTIFIER}","signals":[{{"customerId":"c","eventType":"t"}},{invalid}]}}"#
    );
    for _ in 0..2 {
        let call = RequestBuilder::signals(&body).key(&key).received_at(NOW);
        assert_eq!(app.send(call).await.status, 200);
    }
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items.len(), 1, "a retry overwrites its own item");
    let text = |name: &str| items[0][name].as_s().unwrap().as_str();
    assert_eq!(text("requestIdentifier"), UPPERCASE_IDENTIFIER);
    assert_eq!(text("payload"), invalid);
    assert!(
        text("sk").starts_with(&UPPERCASE_IDENTIFIER.to_lowercase()),
        "{}",
        text("sk")
    );
    assert_eq!(items[0]["errors"].as_l().unwrap().len(), 2);
}

#[tokio::test]
async fn rejected_bodies_under_one_identifier_are_all_stored() {
    let (app, key) = TestApp::with_key("shop").await;
    for event_type in ["", " ", "  ", "  "] {
        let signals = json!([{"customerId": "c", "eventType": event_type}]);
        let call = RequestBuilder::signals(
            json!({"requestIdentifier": UPPERCASE_IDENTIFIER, "signals": signals}),
        );
        assert_eq!(app.send(call.key(&key).received_at(NOW)).await.status, 400);
    }
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items.len(), 3, "three bodies, one of them sent twice");
    let later = NOW.plus(std::time::Duration::from_hours(24));
    let again = RequestBuilder::signals(
        json!({"requestIdentifier": UPPERCASE_IDENTIFIER, "signals": [{"customerId": "c", "eventType": ""}]}),
    );
    assert_eq!(
        app.send(again.key(&key).received_at(later)).await.status,
        400
    );
    assert_eq!(
        app.items("RejectedSignalsTable").await.len(),
        4,
        "a retry on the next day writes another item"
    );
}

/// The places of the warnings in a response.
fn warned_pointers(response: &TestResponse) -> Vec<String> {
    let body = response.json();
    let warnings = body.get("warnings").and_then(Value::as_array).unwrap();
    warnings
        .iter()
        .map(|warning| warning["pointer"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn strict_batch_with_an_invalid_signal_stores_nothing() {
    let (app, key) = TestApp::with_key("shop").await;
    let signal = |unknown: &str| json!({"customerId": "c", "eventType": "t", unknown: 1});
    let body = json!({"requestIdentifier": UPPERCASE_IDENTIFIER, "signals": [signal("data"), signal("unknown")], "other": 1});
    let send = async |handling| {
        let call = RequestBuilder::signals(&body).key(&key);
        app.send(call.header("prefer", handling)).await
    };
    let strict = send("handling=strict").await;
    assert_eq!(strict.status, 400, "{strict:?}");
    assert_eq!(warned_pointers(&strict), ["/other"]);
    for table in ["SignalsTable", "RejectedSignalsTable", "IdempotencyTable"] {
        assert_eq!(app.items(table).await, []);
    }
    let lenient = send("handling=lenient").await;
    assert_eq!(lenient.status, 200, "the refusal has left no record");
    assert_eq!(warned_pointers(&lenient), ["/other", "/signals/1/unknown"]);
}

#[tokio::test]
async fn oversized_and_invalid_batches_store_no_rejection() {
    let (app, key) = TestApp::with_key("shop").await;
    let many = RequestBuilder::signals(json!({"signals": vec![1; 501]}));
    let broken = RequestBuilder::signals(json!({"requestIdentifier": "x", "signals": [1]}));
    app.send(many.key(&key))
        .await
        .assert_problem(413, "too-many-signals");
    app.send(broken.key(&key))
        .await
        .assert_problem(400, "validation-failed");
    assert_eq!(app.items("RejectedSignalsTable").await, []);
}

#[tokio::test]
async fn payload_beyond_an_item_is_stored_truncated() {
    let (app, key) = TestApp::with_key("shop").await;
    let long = json!({"customerId": "c", "eventType": "t", "data": {"x": "ü".repeat(200_000)}});
    let body = json!({"signals": [long, {"customerId": "c", "eventType": "t"}]});
    let response = app.send(RequestBuilder::signals(&body).key(&key)).await;
    assert_eq!(response.json()["fieldErrors"][0]["code"], "too-large");
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items[0]["truncated"].as_bool(), Ok(&true));
    assert!(
        long.to_string()
            .starts_with(items[0]["payload"].as_s().unwrap().as_str())
    );
}

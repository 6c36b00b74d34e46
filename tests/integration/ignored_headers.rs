//! Headers on which a client relies and which have no effect have a warning (docs/api.md, Warnings).

use harness::{RequestBuilder, TestApp};
use serde_json::{Value, json};

const IDENTIFIER: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// The messages of the warnings about headers.
fn messages(response: &Value) -> Vec<&str> {
    let warnings = response["warnings"].as_array().unwrap().iter();
    let of_headers = warnings.filter(|warning| warning["code"] == "ignored-header");
    of_headers
        .map(|warning| {
            assert_eq!(
                (&warning["field"], &warning["pointer"]),
                (&json!(""), &json!(""))
            );
            warning["message"].as_str().unwrap()
        })
        .collect()
}

#[tokio::test]
async fn prefer_that_is_not_understood_has_a_warning() {
    let (app, key) = TestApp::with_key("shop").await;
    let signal = json!({"customerId": "c", "eventType": "t"});
    let wanted = [
        "The header Prefer was ignored: its only known values are handling=strict and handling=lenient.",
    ];
    for (prefer, status, expected) in [
        ("handling=strickt", 200, &wanted[..]),
        ("respond-async", 200, &wanted),
        ("handling=lenient", 200, &[]),
        ("handling=strict", 400, &[]),
    ] {
        let batch = json!({"signals": [signal, {}]});
        let call = RequestBuilder::signals(batch)
            .key(&key)
            .header("prefer", prefer);
        let response = app.send(call).await;
        assert_eq!(response.status, status, "{prefer}");
        assert_eq!(messages(&response.json()), expected, "{prefer}");
    }
}

#[tokio::test]
async fn idempotency_key_without_a_request_identifier_has_a_warning() {
    let (app, key) = TestApp::with_key("shop").await;
    let signal = json!({"customerId": "c", "eventType": "t"});
    let send = async |batch: Value| {
        let call = RequestBuilder::signals(batch)
            .key(&key)
            .header("idempotency-key", "k-1");
        app.send(call).await.json()
    };
    let response = send(json!({"signals": [signal]})).await;
    let expected = "The header Idempotency-Key was ignored: send a requestIdentifier in the body, which makes a retry safe.";
    assert_eq!(messages(&response), [expected]);
    let response = send(json!({"requestIdentifier": IDENTIFIER, "signals": [signal]})).await;
    assert!(messages(&response).is_empty());
}

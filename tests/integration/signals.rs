//! Each signal is validated and stored on its own (docs/api.md, Signals).

use aws_sdk_dynamodb::types::AttributeValue;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp};

const FLOW: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
const REQUEST: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// `n` signals of three customers and one emitter in turn, each with its number.
fn mixed(n: usize) -> Vec<Value> {
    (0..n)
        .map(|n| match n % 4 {
            0 => json!({"emitterId": "e", "stepNodeId": "node", "eventflowIdentifier": FLOW, "data": {"n": n}}),
            customer => json!({"customerId": format!("c{customer}"), "eventType": "view", "data": {"n": n}}),
        })
        .collect()
}

#[tokio::test]
async fn event_and_step_are_stored_with_their_own_field_names() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let body = json!({
        "requestIdentifier": REQUEST,
        "signals": [
            {"customerId": "c1", "eventType": "view", "data": {"price": 49.9, "brand": "Acme", "tags": ["a", null, true]}},
            {"emitterId": "e1", "stepNodeId": "start", "eventflowIdentifier": FLOW, "data": null, "priority": 7}
        ]
    });
    let received_at = Timestamp::from_millis(1_795_214_024_123);
    let response = app.send(RequestBuilder::signals(body).key(&key).at(received_at)).await;
    assert_eq!(response.status, 200);
    insta::assert_snapshot!(response.text, @r#"{"requestIdentifier":"6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","received":2,"accepted":2,"rejected":0,"replayed":false,"fieldErrors":[],"warnings":[{"field":"signals[1].priority","pointer":"/signals/1/priority","code":"undocumented-member","message":"signals[1].priority is not in the contract; it is stored with the signal under undocumented."}]}"#);

    let data = [
        ("price", AttributeValue::N("49.9".into())),
        ("brand", s("Acme")),
        ("tags", AttributeValue::L(vec![s("a"), AttributeValue::Null(true), AttributeValue::Bool(true)])),
    ];
    let data = AttributeValue::M(data.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let event = [
        ("pk", s("shop#c1")),
        ("sk", s("2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0000")),
        ("accountId", s("shop")),
        ("customerId", s("c1")),
        ("eventType", s("view")),
        ("data", data),
        ("requestIdentifier", s(REQUEST)),
        ("receivedAt", s("2026-11-20T22:33:44.123Z")),
    ];
    let item = |members: Vec<(&str, AttributeValue)>| members.into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
    assert_eq!(app.history("shop", "c1").await, [item(event.to_vec())]);
    let step = vec![
        ("pk", s("shop#e1")),
        ("sk", s("2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#0001")),
        ("accountId", s("shop")),
        ("emitterId", s("e1")),
        ("stepNodeId", s("start")),
        ("eventflowIdentifier", s(FLOW)),
        ("data", AttributeValue::M([].into())),
        ("undocumented", AttributeValue::M([("priority".to_owned(), AttributeValue::N("7".into()))].into())),
        ("requestIdentifier", s(REQUEST)),
        ("receivedAt", s("2026-11-20T22:33:44.123Z")),
    ];
    assert_eq!(app.history("shop", "e1").await, [item(step)]);
}

#[tokio::test]
async fn invalid_signal_is_rejected_and_the_others_are_stored() {
    for (invalid, code, pointer) in [
        (r#"{"customerId":"c","eventType":""}"#, "blank", "/signals/7/eventType"),
        ("[[]]", "invalid-type", "/signals/7"),
    ] {
        let app = TestApp::start();
        let key = app.key("shop").await;
        let mut signals: Vec<String> = mixed(20).iter().map(ToString::to_string).collect();
        signals[7] = invalid.to_owned();
        let response =
            app.send(RequestBuilder::signals(format!(r#"{{"signals":[{}]}}"#, signals.join(","))).key(&key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let body = response.json();
        assert_eq!((&body["received"], &body["accepted"], &body["rejected"]), (&json!(20), &json!(19), &json!(1)));
        assert_eq!(response.field_errors(), [(pointer.to_owned(), code.to_owned())]);
        assert!(body["fieldErrors"][0]["message"].as_str().unwrap().ends_with('.'));
        assert_eq!(app.items("SignalsTable").await.len(), 19);
    }
}

#[tokio::test]
async fn batch_without_a_valid_signal_is_a_400_and_stores_nothing() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let body = json!({"requestIdentifier": REQUEST, "signals": [{"customerId": "c"}, 5]});
    let response = app.send(RequestBuilder::signals(body).key(&key)).await;
    response.assert_problem(400, "validation-failed");
    let body = response.json();
    assert_eq!(body["requestIdentifier"], REQUEST);
    assert_eq!((&body["received"], &body["accepted"], &body["rejected"]), (&json!(2), &json!(0), &json!(2)));
    assert_eq!(body["replayed"], false);
    assert_eq!(response.field_errors().len(), 2);
    assert_eq!(app.items("IdempotencyTable").await, []);
}

#[tokio::test]
async fn strict_batch_with_an_invalid_signal_stores_nothing() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let mut signals = mixed(5);
    signals[2] = json!({"unknown": 1});
    signals[3]["unknown"] = json!(1);
    let body = json!({"requestIdentifier": REQUEST, "signals": signals, "other": 1});
    let strict = || RequestBuilder::signals(&body).key(&key).header("prefer", "handling=strict");
    let response = app.send(strict()).await;
    response.assert_problem(400, "validation-failed");
    assert_eq!((&response.json()["accepted"], &response.json()["rejected"]), (&json!(0), &json!(5)));
    let detail = "Nothing was stored: 1 of 5 signals is invalid and Prefer: handling=strict was set. fieldErrors says what is wrong.";
    assert_eq!(response.json()["detail"], detail);
    let warned = |response: &Value| {
        let warnings = response["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| warning["pointer"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(warned(&response.json()), ["/other"]);
    assert_eq!(app.items("SignalsTable").await, []);
    assert_eq!(app.items("IdempotencyTable").await, []);
    let lenient = app.send(RequestBuilder::signals(&body).key(&key).header("prefer", "handling=lenient")).await;
    assert_eq!(lenient.status, 200);
    assert_eq!(warned(&lenient.json()), ["/other", "/signals/3/unknown"], "a rejected signal has none");
}

#[tokio::test]
async fn batch_of_500_signals_is_accepted_and_of_501_rejected() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let full = app.send(RequestBuilder::signals(json!({"signals": mixed(500)})).key(&key)).await;
    assert_eq!(full.json()["accepted"], 500);
    let over = app.send(RequestBuilder::signals(json!({"signals": mixed(501)})).key(&key)).await;
    over.assert_problem(413, "too-many-signals");
    assert_eq!(over.json()["detail"], "Too many signals: 501, limit 500. Nothing was stored.");
    assert_eq!(app.items("SignalsTable").await.len(), 500);
}

#[tokio::test]
async fn retention_sets_the_expiry_of_signals() {
    let emulator = TestApp::emulator();
    let endpoint = emulator.endpoint();
    let app = TestApp::over(emulator, &endpoint, &endpoint, Some(std::time::Duration::from_hours(24)));
    let key = app.key("shop").await;
    let received_at = Timestamp::from_millis(1_795_214_024_123);
    app.send(RequestBuilder::signals(json!({"signals": mixed(2)})).key(&key).at(received_at)).await;
    let expires_at = AttributeValue::N("1795300424".into());
    assert!(app.items("SignalsTable").await.iter().all(|item| item["expiresAt"] == expires_at));
}

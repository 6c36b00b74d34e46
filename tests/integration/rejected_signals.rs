//! Rejected signals are stored as sent, with their errors (docs/api.md, Signals).

use model::timestamp::Timestamp;
use serde_json::json;
use testkit::fault_proxy::{Fault, FaultProxy};
use testkit::{RequestBuilder, Tables, TestApp};

const REQUEST: &str = "6F1C0A52-7C1E-4A3E-9F0B-0D2F6F8A1B11";
const RECEIVED_AT: Timestamp = Timestamp::from_millis(1_795_214_024_123);

#[tokio::test]
async fn rejected_signal_is_stored_as_sent_with_its_errors() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let invalid = r#"{ "customerId":"c1", "eventType":"", "data":{"n":1e999} }"#;
    let body =
        format!(r#"{{"requestIdentifier":"{REQUEST}","signals":[{{"customerId":"c","eventType":"t"}},{invalid}]}}"#);
    for _ in 0..2 {
        assert_eq!(app.send(RequestBuilder::signals(&body).key(&key).at(RECEIVED_AT)).await.status, 200);
    }
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items.len(), 1, "a retry overwrites its own item");
    let text = |name: &str| items[0][name].as_s().unwrap().as_str();
    assert!(text("pk").starts_with("shop#2026-11-20#") && text("pk").len() == "shop#2026-11-20#00".len());
    let hash = text("sk").strip_prefix(&format!("{}#0001#", REQUEST.to_lowercase())).unwrap();
    assert!(hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    assert_eq!((text("accountId"), text("requestIdentifier"), text("keyId")), ("shop", REQUEST, "key_of_shop"));
    assert_eq!((text("payload"), text("subjectId")), (invalid, "c1"));
    assert_eq!(text("receivedAt"), "2026-11-20T22:33:44.123Z");
    assert_eq!(items[0]["index"].as_n().unwrap(), "1");
    assert_eq!(items[0]["expiresAt"].as_n().unwrap(), &(RECEIVED_AT.seconds() + 14 * 86_400).to_string());
    assert!(!items[0].contains_key("truncated"));
    let errors = items[0]["errors"].as_l().unwrap();
    let codes: Vec<_> = errors.iter().map(|error| error.as_m().unwrap()["code"].as_s().unwrap().as_str()).collect();
    assert_eq!(codes, ["blank", "number-out-of-range"]);
}

#[tokio::test]
async fn rejected_bodies_under_one_identifier_are_all_stored() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    for event_type in ["", " ", "  ", "  "] {
        let signals = json!([{"customerId": "c", "eventType": event_type}]);
        let call = RequestBuilder::signals(json!({"requestIdentifier": REQUEST, "signals": signals}));
        assert_eq!(app.send(call.key(&key).at(RECEIVED_AT)).await.status, 400);
    }
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items.len(), 3, "three bodies, one of them sent twice");
    let later = RECEIVED_AT.plus(std::time::Duration::from_hours(24));
    let again = RequestBuilder::signals(
        json!({"requestIdentifier": REQUEST, "signals": [{"customerId": "c", "eventType": ""}]}),
    );
    assert_eq!(app.send(again.key(&key).at(later)).await.status, 400);
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 4, "a retry on the next day writes another item");
}

#[tokio::test]
async fn strict_oversized_and_invalid_batches_store_no_rejection() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let strict = RequestBuilder::signals(json!({"signals": [1]})).header("prefer", "handling=strict");
    let many = RequestBuilder::signals(json!({"signals": vec![1; 501]}));
    let broken = RequestBuilder::signals(json!({"requestIdentifier": "x", "signals": [1]}));
    for call in [strict, many, broken] {
        assert!(app.send(call.key(&key)).await.status >= 400);
    }
    assert_eq!(app.items("RejectedSignalsTable").await, []);
}

#[tokio::test]
async fn payload_beyond_an_item_is_stored_truncated() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let long = json!({"customerId": "c", "eventType": "t", "data": {"x": "ü".repeat(200_000)}});
    let body = json!({"signals": [long, {"customerId": "c", "eventType": "t"}]});
    assert_eq!(app.send(RequestBuilder::signals(&body).key(&key)).await.field_errors()[0].1, "too-large");
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items[0]["truncated"].as_bool(), Ok(&true));
    assert!(long.to_string().starts_with(items[0]["payload"].as_s().unwrap().as_str()));
}

#[tokio::test]
async fn batch_of_500_rejected_signals_is_stored_whole() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let invalid = [json!(1), json!("x"), json!({}), json!({"customerId": "c"})];
    let signals: Vec<_> = invalid.iter().cycle().take(500).collect();
    let response = app.send(RequestBuilder::signals(json!({"signals": signals})).key(&key)).await;
    response.assert_problem(400, "validation-failed");
    let items = app.items("RejectedSignalsTable").await;
    assert_eq!(items.len(), 500);
    let identifier = response.json()["requestIdentifier"].clone();
    assert!(items.iter().all(|item| item["requestIdentifier"].as_s().unwrap() == &identifier));
}

#[tokio::test]
async fn retries_of_rejected_signals_are_not_those_of_accepted_ones() {
    let (emulator, failing) = (TestApp::emulator(), Fault::InternalServerError);
    let (direct, rejected) = (emulator.endpoint(), Tables::name("RejectedSignalsTable"));
    let proxy = FaultProxy::start(&direct, failing.where_body_has(rejected)).await.unwrap();
    let app = TestApp::over(emulator, &direct, &proxy.endpoint(), None);
    let key = app.key("shop").await;
    let send = async |signals| app.send(RequestBuilder::signals(json!({"signals": signals})).key(&key)).await;
    let valid = json!({"customerId": "c", "eventType": "t"});
    // A process has 20 retries, and each request would use three of them.
    for _ in 0..10 {
        assert_eq!(send(json!([valid, {}])).await.status, 200);
    }
    proxy.set(failing.at(1));
    let response = send(json!([valid])).await;
    assert_eq!((response.status, proxy.counts().faulted > 20), (200, true), "{}", response.text);
}

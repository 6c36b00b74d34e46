//! The consumer of a stream in Rust (docs/data-model.md, A consumer of the streams). The one in Python is tried by
//! `tests/deploy/test_delivery.py`.

use std::path::Path;

use serde_json::{Value, json};

#[path = "../examples/stream_consumer.rs"]
#[expect(dead_code, reason = "the tests call what the function calls")]
mod consumer;

fn recorded() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../events/stream/signals.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn consumer_gets_new_signals_with_all_their_digits() {
    let mut items = Vec::new();
    let response = consumer::consume(&recorded(), |item| {
        items.push(item.to_owned());
        Ok(())
    });
    assert_eq!(response, json!({"batchItemFailures": []}));
    assert_eq!(items.len(), 2, "{items:?}");
    assert!(items[0].contains(r#""price":12345678901234567890.123456789012345678"#), "{}", items[0]);
    assert!(items[0].contains(r#""tags":["new \"é\"",true,null]"#), "{}", items[0]);
    assert_eq!(serde_json::from_str::<Value>(&items[1]).unwrap()["data"], json!({}));
}

#[test]
fn failed_record_is_reported_and_those_after_it_are_left() {
    let mut calls = 0;
    let response = consumer::consume(&recorded(), |_| {
        calls += 1;
        Err("away".into())
    });
    assert_eq!(response, json!({"batchItemFailures": [{"itemIdentifier": "111100000000000000000000001"}]}));
    assert_eq!(calls, 1);
}

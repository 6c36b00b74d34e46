//! `cargo dev --contracts`: the sample data keeps the example's contract, and the broken event
//! beside it does not.

use std::fs;

use harness::LocalStack;
use serde_json::json;

use super::{Inspector, SIGNALS, assert_members};
use crate::support::page::root;

/// Sends these signals, of which none is rejected.
fn send_accepted(stack: &LocalStack, signals: &str) {
    let body = format!("{{\"signals\":[{signals}]}}");
    let response = stack.send("POST", SIGNALS, &[], body.as_bytes());
    assert_eq!(response.json()["rejected"], 0, "{response:?}");
}

#[test]
fn data_of_each_signal_is_judged_by_the_contract_of_its_type() {
    let folder = root().join("events/contracts");
    let stack = LocalStack::start(&["--contracts", folder.to_str().unwrap()]);
    let send = |signals: &str| send_accepted(&stack, signals);
    let sample = fs::read_to_string(root().join("events/seed/signals.ndjson")).unwrap();
    let viewed: Vec<_> = sample
        .lines()
        .filter(|line| line.contains(r#""eventType":"product_viewed""#))
        .collect();
    send(&viewed.join(","));
    send(&fs::read_to_string(folder.join("broken.ndjson")).unwrap());
    let flow = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
    send(&format!(
        r#"{{"emitterId":"e","stepNodeId":"product_viewed","data":null,"eventflowIdentifier":"{flow}"}}"#
    ));
    send(r#"{"customerId":"c","eventType":"other"}"#);

    let inspector = Inspector(&stack);
    let counts = inspector.get("/counts")["contracts"].clone();
    assert_eq!(counts, json!({"ok": viewed.len(), "broken": 2, "none": 1}));
    let signals = inspector.get("/signals?after=1")["signals"].clone();
    assert_eq!(signals[0]["contract"], "broken");
    let of_price = json!({"pointer": "/price", "message": "value is not of type \"number\""});
    assert!(
        signals[0]["breaks"].as_array().unwrap().contains(&of_price),
        "{signals}"
    );
    assert_eq!(signals[1]["contract"], "broken");
    assert_eq!(signals[1]["breaks"][0]["pointer"], "");
    assert_eq!(signals[2]["contract"], "none");
    assert_eq!(signals[2]["breaks"], json!(null));
    let request = inspector.get("/requests/2");
    assert_eq!(request["fieldCode"], "contract-broken");
    let breaks = request["contractBreaks"].as_array().unwrap();
    assert!(
        breaks
            .iter()
            .any(|one| one["pointer"] == "/signals/0/data/price"),
        "{request}"
    );
    stack.stop("INT");
}

#[test]
fn signal_that_is_rejected_or_refused_is_not_judged() {
    let folder = tempfile::tempdir().unwrap();
    let contract = r#"{"properties": {"price": {"type": "number"}}}"#;
    fs::write(folder.path().join("purchase.json"), contract).unwrap();
    let options = ["--contracts", folder.path().to_str().unwrap()];
    let stack = LocalStack::start(&options);
    let inspector = Inspector(&stack);
    for price in [r#""1""#, "1"] {
        send_accepted(
            &stack,
            &format!(r#"{{"customerId":"c","eventType":"purchase","data":{{"price":{price}}}}}"#),
        );
    }
    let counts = inspector.get("/counts")["contracts"].clone();
    assert_eq!(counts, json!({"ok": 1, "broken": 1, "none": 0}));
    let first = inspector.get("/requests/1")["contractBreaks"][0].clone();
    assert_eq!(first["pointer"], "/signals/0/data/price");

    let rejected = r#"{"signals":[{"customerId":"","eventType":"purchase","data":{"price":"1"}}]}"#;
    stack.send("POST", SIGNALS, &[], rejected.as_bytes());
    let refused = r#"{"requestIdentifier":"x","signals":[{"customerId":"c","eventType":"purchase","data":{"price":"1"}}]}"#;
    assert_eq!(
        stack.send("POST", SIGNALS, &[], refused.as_bytes()).status,
        400
    );
    assert_eq!(inspector.get("/counts")["contracts"], counts);
    let signals = inspector.get("/signals?after=2")["signals"].clone();
    for (index, verdict) in ["rejected", "refused"].into_iter().enumerate() {
        let expected = json!({"verdict": verdict, "contract": null, "breaks": null});
        assert_members(&signals[index], &expected);
    }
    stack.stop("TERM");
}

//! What is stored: customers, their signals and rejected signals, and the reset that deletes it.

use serde_json::{Value, json};
use testkit::LocalStack;

use super::{BATCH, Inspector, SIGNALS, other_key};

#[test]
fn stored_data_is_shown_with_every_digit() {
    // The test reads what is stored at once. With a queue, a busy machine might have it there still.
    let stack = LocalStack::start(&["--no-queue"]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let customer = inspector.call("GET", "/customers/-c1", &[], b"").text;
    assert!(
        customer.starts_with(r#"{"profile":null,"signals":[{"#),
        "{customer}"
    );
    assert!(customer.contains("12345678901234567890.1"), "{customer}");
    let body = br#"{"customerId":"c2","customerData":{"firstName":"Ada"}}"#;
    stack.send("POST", "/api/customers", &[], body);
    let profile = &inspector.get("/customers/c2")["profile"];
    let names: Vec<_> = profile
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "accountId",
            "createdAt",
            "customerId",
            "firstName",
            "updatedAt"
        ],
        "{profile}"
    );
    stack.stop("TERM");
}

#[test]
fn rejected_signal_that_is_mended_and_redriven_is_no_longer_listed() {
    let stack = LocalStack::start(&["--no-queue"]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let rejected = &inspector.get("/rejected")["rejected"];
    assert_eq!(rejected[0]["payload"], json!({"customerId": "-c1"}));
    let mut mended = rejected[0].clone();
    mended["payload"]["eventType"] = json!("mended");
    inspector.post("/rejected/redrive", &mended.to_string());
    assert_eq!(inspector.get("/rejected"), json!({"rejected": []}));
    stack.stop("TERM");
}

#[test]
fn rejected_signal_without_a_subject_has_null_in_its_place() {
    let stack = LocalStack::start(&["--no-queue"]);
    let inspector = Inspector(&stack);
    let body = br#"{"signals":[{"eventType":"viewed"}]}"#;
    stack.send("POST", SIGNALS, &[], body);
    let rejected = &inspector.get("/rejected")["rejected"];
    let entry = rejected[0].as_object().unwrap();
    assert_eq!(entry.get("subjectId"), Some(&Value::Null), "{rejected}");
    stack.stop("TERM");
}

/// Sends a batch and a customer with these headers.
fn send_batch_and_customer(stack: &LocalStack, headers: &[(&str, &str)]) {
    let answer = stack.send("POST", SIGNALS, headers, BATCH.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["replayed"], false, "{answer:?}");
    let customer = br#"{"customerId":"-c1","customerData":{}}"#;
    stack.send("POST", "/api/customers", headers, customer);
}

fn assert_data_is_stored(inspector: &Inspector<'_>, account: &str) {
    let length = |list: &Value| list.as_array().unwrap().len();
    let customer = inspector.get(&format!("/customers/-c1?account={account}"));
    assert_eq!(customer["profile"]["accountId"], account);
    assert_eq!(length(&customer["signals"]), 1, "{customer}");
    let rejected = inspector.get(&format!("/rejected?account={account}"));
    assert_eq!(length(&rejected["rejected"]), 1, "{rejected}");
}

#[tokio::test]
async fn reset_empties_everything_but_the_keys() {
    let stack = LocalStack::start(&["--no-queue"]);
    let inspector = Inspector(&stack);
    let key_of_shop = format!("Bearer {}", other_key(&stack).await);
    for _ in 0..2 {
        send_batch_and_customer(&stack, &[]);
        send_batch_and_customer(&stack, &[("Authorization", &key_of_shop)]);
        assert_data_is_stored(&inspector, "dev");
        assert_data_is_stored(&inspector, "shop");
        inspector.reset();
        let customer = inspector.get("/customers/-c1");
        assert_eq!(customer, json!({"profile": null, "signals": []}));
        assert_eq!(inspector.get("/rejected"), json!({"rejected": []}));
        assert_eq!(
            inspector.get("/accounts"),
            json!({"accounts": ["dev", "shop"]})
        );
        assert_eq!(inspector.get("/requests")["requests"], json!([]));
    }
    assert_eq!(inspector.get("/requests")["last"], 8);
    stack.stop("TERM");
}

//! What is stored: customers, their signals and rejected signals, and the reset that deletes it.

use harness::LocalStack;
use serde_json::{Value, json};

use super::{BATCH, Inspector, OWN_PAGE, SIGNALS, assert_members, other_key};

#[test]
fn stored_data_is_shown_with_every_digit() {
    // The test reads what is stored at once. With a queue, a busy machine might have it there still.
    let stack = LocalStack::start(&[]);
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
fn redrive_that_does_not_store_the_signal_is_an_error_that_says_why() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let as_sent = inspector.get("/rejected")["rejected"][0].clone();
    let redrive = |body: &str| {
        let response = inspector.call("POST", "/rejected/redrive", &[OWN_PAGE], body.as_bytes());
        (response.status, response.json())
    };
    let (status, still_rejected) = redrive(&as_sent.to_string());
    assert_eq!(status, 422, "{still_rejected}");
    let expected = json!({
        "message": "The signal is not stored: it is still rejected.",
        "fieldErrors": as_sent["errors"],
    });
    assert_eq!(still_rejected, expected);
    assert_eq!(still_rejected["fieldErrors"][0]["code"], "required");
    assert_eq!(inspector.get("/rejected")["rejected"], json!([as_sent]));

    let (status, malformed) = redrive(r#"{"id": "#);
    assert_eq!(status, 400, "{malformed}");
    let message = malformed["message"].as_str().unwrap();
    assert!(
        message.starts_with("Line 1 of the body is not a line of"),
        "{message}"
    );

    let mut mended = as_sent;
    mended["payload"]["eventType"] = json!("mended");
    let mended = mended.to_string();
    let (status, redriven) = redrive(&mended);
    assert_eq!(status, 200, "{redriven}");
    assert_members(&redriven, &json!({"outcome": "accepted", "errors": []}));
    let (status, again) = redrive(&mended);
    assert_eq!(status, 200, "an earlier redrive has stored it: {again}");
    let (status, missing) = redrive(&mended.replace("#0001#", "#0002#"));
    assert_eq!(status, 404, "{missing}");
    stack.stop("TERM");
}

/// Sends a batch and a customer with these headers.
fn send_batch_and_customer(stack: &LocalStack, headers: &[(&str, &str)]) {
    let response = stack.send("POST", SIGNALS, headers, BATCH.as_bytes());
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.json()["replayed"], false, "{response:?}");
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
    let stack = LocalStack::start(&[]);
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

#[tokio::test]
async fn reset_of_one_account_leaves_what_others_have() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key_of_shop = format!("Bearer {}", other_key(&stack).await);
    let of_shop = [("Authorization", key_of_shop.as_str())];
    for _ in 0..2 {
        send_batch_and_customer(&stack, &of_shop);
        assert_data_is_stored(&inspector, "shop");
        let reset = inspector.call("POST", "/reset?account=shop", &[OWN_PAGE], b"");
        assert_eq!(reset.status, 204, "{reset:?}");
        let customer = inspector.get("/customers/-c1?account=shop");
        assert_eq!(customer, json!({"profile": null, "signals": []}));
        assert_eq!(
            inspector.get("/rejected?account=shop"),
            json!({"rejected": []})
        );
        assert_eq!(inspector.get("/counts?account=shop")["requests"], 0);
    }
    send_batch_and_customer(&stack, &[]);
    send_batch_and_customer(&stack, &of_shop);
    let reset = inspector.call("POST", "/reset?account=shop", &[OWN_PAGE], b"");
    assert_eq!(reset.status, 204, "{reset:?}");
    assert_data_is_stored(&inspector, "dev");
    let requests = inspector.get("/requests");
    assert_eq!(requests["requests"].as_array().unwrap().len(), 2);
    assert_eq!(inspector.get("/counts")["requests"], 2);
    let unknown = inspector.call("POST", "/reset?account=dve", &[OWN_PAGE], b"");
    assert_eq!(unknown.status, 400, "{unknown:?}");
    stack.stop("TERM");
}

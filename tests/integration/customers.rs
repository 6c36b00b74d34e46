//! One customer per request, merged into the stored profile (docs/api.md, Customers).

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

fn string(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

#[tokio::test]
async fn absent_profile_field_stays_a_null_removes_it_and_a_string_replaces_it() {
    let (app, key) = TestApp::with_key("shop").await;
    let before = json!({"customerId": "c1", "customerData": {"email": "a", "city": "London", "state": "x", "tier": "gold"}});
    app.send(RequestBuilder::customer(before).key(&key)).await;
    let change = json!({"customerId": "c1", "customerData": {"city": null, "state": "", "tier": null, "dob": null}});
    let response = app.send(RequestBuilder::customer(change).key(&key)).await;
    assert_eq!(response.status, 200);

    let item = app.customer("shop", "c1").await.unwrap();
    assert_eq!(item.get("email"), Some(&string("a")));
    assert_eq!(item.get("state"), Some(&string("")));
    assert_eq!(item.get("city"), None);
    assert_eq!(item.get("tier"), None);
    assert_eq!(item.get("dob"), None);
}

#[tokio::test]
async fn profile_beyond_an_item_is_a_422() {
    let (app, key) = TestApp::with_key("shop").await;
    let value = "x".repeat(1000);
    let mut stored = 0;
    // An item has room for 400 KB: for 19 or 20 of these updates.
    let too_large = loop {
        let data: serde_json::Map<_, _> = (0..20)
            .map(|n| (format!("m{stored}-{n}"), json!(value)))
            .collect();
        let body = json!({"customerId": "c1", "customerData": data});
        let response = app.send(RequestBuilder::customer(body).key(&key)).await;
        if response.status != 200 {
            break response;
        }
        stored += 1;
        assert!(stored <= 20, "{stored} updates of 20 KB are stored");
    };
    too_large.assert_problem(422, "customer-too-large");
    assert!(stored >= 19, "only {stored} updates of 20 KB are stored");
}

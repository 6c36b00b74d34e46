//! One customer per request, merged into the stored profile (docs/api.md, Customers).

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{RequestBuilder, TestApp, table_name};
use serde_json::json;

use crate::support::clock::NOW;

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
async fn profile_full_of_fences_of_removed_fields_takes_a_new_field() {
    let (app, key) = TestApp::with_key("shop").await;
    let update = async |profile: serde_json::Value| {
        let body = json!({"customerId": "c", "customerData": profile});
        app.send(RequestBuilder::customer(body).key(&key).received_at(NOW))
            .await
    };
    assert_eq!(update(json!({"city": "Rom"})).await.status, 200);
    let mut item = app.customer("shop", "c").await.unwrap();
    let old = NOW.minus(Duration::from_hours(400 * 24));
    let old = AttributeValue::N((old.millis() << 20).to_string());
    let padding = "x".repeat(65);
    item.extend((0..4_680).map(|n| (format!("fence:{n:04}{padding}"), old.clone())));
    let put = app
        .client
        .put_item()
        .table_name(table_name("CustomersTable"))
        .set_item(Some(item));
    put.send().await.unwrap();
    let response = update(json!({"a-new-name": "x".repeat(900)})).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let item = app.customer("shop", "c").await.unwrap();
    assert!(item.contains_key("a-new-name"));
}

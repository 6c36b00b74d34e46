//! Authentication precedes every other check of a request (docs/api.md, API keys and Errors).

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use model::api_key::{ApiKey, Endpoint, KeyHash};
use model::timestamp::Timestamp;
use serde_json::json;
use testkit::{RequestBuilder, Tables, TestApp, key_record, store_key};

const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_000);

fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

#[tokio::test]
async fn unauthorized_response_says_only_whether_a_key_was_sent() {
    let app = TestApp::start();
    let revoked = app
        .key_with("shop", |record| record.revoked_at = Some(NOW))
        .await;
    let expired = app
        .key_with("shop", |record| record.expires_at = Some(NOW))
        .await;
    let mut bodies = std::collections::HashSet::new();
    for (call, challenge) in [
        (RequestBuilder::ping(), r#"Bearer realm="intake""#),
        (
            RequestBuilder::ping().header("authorization", "Basic YTpi"),
            r#"Bearer realm="intake""#,
        ),
        (
            RequestBuilder::ping().header("authorization", "Bearer"),
            r#"Bearer realm="intake""#,
        ),
        (
            RequestBuilder::ping().key("two words"),
            r#"Bearer realm="intake", error="invalid_token""#,
        ),
        (
            RequestBuilder::ping().key("unknown"),
            r#"Bearer realm="intake", error="invalid_token""#,
        ),
        (
            RequestBuilder::ping().key(&"k".repeat(7_000)),
            r#"Bearer realm="intake", error="invalid_token""#,
        ),
        (
            RequestBuilder::ping().key(&revoked),
            r#"Bearer realm="intake", error="invalid_token""#,
        ),
        (
            RequestBuilder::ping().key(&expired),
            r#"Bearer realm="intake", error="invalid_token""#,
        ),
    ] {
        let response = app.send(call.at(NOW).invocation("the-same")).await;
        response.assert_problem(401, "unauthorized");
        assert_eq!(response.header("www-authenticate"), challenge);
        bodies.insert(response.text);
    }
    assert_eq!(bodies.len(), 1, "the body is the same for every cause");
}

#[tokio::test]
async fn missing_key_is_a_401_before_any_other_error() {
    let app = TestApp::start();
    let large = " ".repeat(5 * 1024 * 1024);
    for call in [
        RequestBuilder::customer("not json"),
        RequestBuilder::signals(&large),
        RequestBuilder::customer("{}").without_header("content-type"),
        RequestBuilder::signals("{}").header("content-encoding", "br"),
    ] {
        app.send(call).await.assert_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn restricted_key_is_accepted_by_its_endpoint_and_by_the_ping_only() {
    let app = TestApp::start();
    let customer = json!({"customerId": "c", "customerData": {}});
    let signal = json!({"signals": [{"customerId": "c", "eventType": "e"}]});
    for (only, customers, signals) in [
        (Endpoint::Customers, 200, 403),
        (Endpoint::Signals, 403, 200),
    ] {
        let key = app
            .key_with("shop", |record| record.only = Some(only))
            .await;
        assert_eq!(app.send(RequestBuilder::ping().key(&key)).await.status, 200);
        for (call, status) in [
            (RequestBuilder::customer(&customer), customers),
            (RequestBuilder::signals(&signal), signals),
            // Before any other error of the request.
            (
                RequestBuilder::customer("not json").without_header("content-type"),
                if customers == 200 { 415 } else { 403 },
            ),
        ] {
            let response = app.send(call.key(&key)).await;
            assert_eq!(response.status, status, "{only:?}: {}", response.text);
            if status == 403 {
                response.assert_problem(403, "forbidden");
            }
        }
    }
    assert_eq!(
        (
            app.items("CustomersTable").await.len(),
            app.items("SignalsTable").await.len()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn key_writes_only_customers_of_its_account() {
    let app = TestApp::start();
    let (a, a_b) = (app.key("a").await, app.key("a-b").await);
    for id in ["c", "#c", "b#c", "../a-b#c", "a-b#c", "\u{0}c"] {
        app.send(
            RequestBuilder::customer(json!({"customerId": id, "customerData": {"city": "x"}}))
                .key(&a),
        )
        .await;
    }
    app.send(
        RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "y"}}))
            .key(&a_b),
    )
    .await;
    let items = app.items("CustomersTable").await;
    assert_eq!(items.len(), 7);
    for item in items {
        let (account, id) = item["pk"].as_s().unwrap().split_once('#').unwrap();
        assert_eq!(
            (account, id),
            (
                item["accountId"].as_s().unwrap().as_str(),
                item["customerId"].as_s().unwrap().as_str()
            )
        );
    }
}

#[tokio::test]
async fn cached_key_expires_to_the_second() {
    let app = TestApp::start();
    let key = app
        .key_with("shop", |record| record.expires_at = Some(later(30)))
        .await;
    assert_eq!(
        app.send(RequestBuilder::ping().key(&key).at(NOW))
            .await
            .status,
        200
    );
    let last = Timestamp::from_millis(later(30).millis() - 1);
    assert_eq!(
        app.send(RequestBuilder::ping().key(&key).at(last))
            .await
            .status,
        200
    );
    assert_eq!(
        app.send(RequestBuilder::ping().key(&key).at(later(30)))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn revoked_key_is_rejected_after_a_minute() {
    let (app, key) = TestApp::with_key("shop").await;
    assert_eq!(
        app.send(RequestBuilder::ping().key(&key).at(NOW))
            .await
            .status,
        200
    );
    set_attribute(&app, &key, "revokedAt", &NOW.to_string()).await;
    let cached = app
        .send(RequestBuilder::ping().key(&key).at(later(59)))
        .await;
    assert_eq!(cached.status, 200, "a valid key is cached for a minute");
    app.send(RequestBuilder::ping().key(&key).at(later(60)))
        .await
        .assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn verification_key_is_accepted_for_accounts_of_verify_only() {
    let app = TestApp::start();
    for (account, status) in [("shop", 401), ("verify-0123", 200)] {
        let key = ApiKey::random_for_verification().unwrap();
        store_key(&app.emulator.endpoint(), &key, &key_record(account)).await;
        for _ in 0..2 {
            let response = app
                .send(RequestBuilder::ping().key(key.expose_secret()))
                .await;
            assert_eq!(response.status, status, "{account}");
        }
    }
    let stored: Vec<_> = app
        .items("ApiKeysTable")
        .await
        .into_iter()
        .map(|item| item["keyHash"].clone())
        .collect();
    assert!(
        stored
            .iter()
            .all(|hash| hash.as_s().unwrap().starts_with("verify-")),
        "{stored:?}"
    );
}

#[tokio::test]
async fn key_with_a_corrupt_item_cannot_be_checked() {
    let (app, key) = TestApp::with_key("shop").await;
    set_attribute(&app, &key, "only", "everything").await;
    app.send(RequestBuilder::ping().key(&key))
        .await
        .assert_problem(503, "storage-unavailable");
}

pub(crate) async fn set_attribute(app: &TestApp, key: &str, name: &str, value: &str) {
    let update = app
        .client
        .update_item()
        .table_name(Tables::name("ApiKeysTable"))
        .key(
            "keyHash",
            AttributeValue::S(KeyHash::of(key).partition_key()),
        )
        .update_expression("SET #name = :value")
        .expression_attribute_names("#name", name)
        .expression_attribute_values(":value", AttributeValue::S(value.to_owned()));
    update.send().await.unwrap();
}

//! Authentication precedes every other check of a request (docs/api.md, API keys and Errors).

use std::collections::HashSet;

use harness::{RequestBuilder, TestApp, key_entry, store_key};
use model::api_key::{ApiKey, Endpoint};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::clock::{NOW, later};

/// The status of a request with this key that arrives at this time.
async fn status_at(app: &TestApp, key: &str, at: Timestamp) -> u16 {
    let ping = RequestBuilder::ping().key(key).received_at(at);
    app.send(ping).await.status
}

#[tokio::test]
async fn unauthorized_response_does_not_say_which_keys_exist() {
    let (app, valid) = TestApp::with_key("shop").await;
    assert_eq!(status_at(&app, &valid, NOW).await, 200);
    let revoked = app
        .key_with("shop", |entry| entry.revoked_at = Some(NOW))
        .await;
    let expired = app
        .key_with("shop", |entry| entry.expires_at = Some(NOW))
        .await;
    let without_key = [
        RequestBuilder::ping(),
        RequestBuilder::ping().header("authorization", "Basic YTpi"),
        RequestBuilder::ping().header("authorization", "Bearer"),
    ];
    let with_key = [
        RequestBuilder::ping().key("unknown"),
        RequestBuilder::ping().key(&"k".repeat(7_000)),
        RequestBuilder::ping().key(&revoked),
        RequestBuilder::ping().key(&expired),
    ];
    let send = async |call: RequestBuilder, challenge: &str| {
        let response = app.send(call.received_at(NOW).invocation("the-same")).await;
        response.assert_problem(401, "unauthorized");
        assert_eq!(response.header("www-authenticate"), challenge);
        response.text
    };
    for call in without_key {
        send(call, r#"Bearer realm="intake""#).await;
    }
    let mut bodies = HashSet::new();
    for call in with_key {
        bodies.insert(send(call, r#"Bearer realm="intake", error="invalid_token""#).await);
    }
    assert_eq!(bodies.len(), 1, "the body is the same for every cause");
}

#[tokio::test]
async fn unauthorized_response_says_what_is_wrong_with_the_header() {
    let (app, valid) = TestApp::with_key("shop").await;
    let quoted = format!("\"{valid}\"");
    let cases = [
        (None, "the request has no Authorization header"),
        (
            Some(valid.clone()),
            "the Authorization header has no scheme: write Bearer before the key",
        ),
        (
            Some("Basic YTpi".to_owned()),
            "the scheme of the Authorization header is not Bearer",
        ),
        (
            Some("Bearer".to_owned()),
            "the Authorization header has no key after Bearer",
        ),
        (
            Some(format!("Bearer Bearer {valid}")),
            "the Authorization header has Bearer twice",
        ),
        (
            Some(format!("Bearer {valid},Bearer {valid}")),
            "the Authorization header was sent more than once",
        ),
        (
            Some("Bearer two words".to_owned()),
            "the key has a space in it, or another character that no key has",
        ),
        (
            Some(format!("Bearer {quoted}")),
            "there are quotation marks around the key",
        ),
    ];
    for (header, fault) in cases {
        let ping = RequestBuilder::ping();
        let call = match &header {
            Some(header) => ping.header("authorization", header),
            None => ping,
        };
        let response = app.send(call).await;
        let expected =
            format!("A valid API key is required: Authorization: Bearer <API key>; {fault}.");
        assert_eq!(response.json()["detail"], expected);
    }
    // Whether the key in the marks is valid makes no difference.
    let revoked = app
        .key_with("shop", |entry| entry.revoked_at = Some(NOW))
        .await;
    let body_of = async |key: &str| {
        let ping = RequestBuilder::ping().key(key).invocation("the-same");
        app.send(ping).await.text
    };
    let of_revoked = body_of(&format!("\"{revoked}\"")).await;
    assert_eq!(body_of(&quoted).await, of_revoked);
    assert_eq!(body_of("\"unknown\"").await, of_revoked);
}

#[tokio::test]
async fn missing_key_is_a_401_before_any_other_error() {
    let (app, key) = TestApp::with_key("shop").await;
    let with_key = RequestBuilder::customer("not json").key(&key);
    assert_eq!(app.send(with_key).await.status, 400);
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
    let customer = RequestBuilder::customer(json!({"customerId": "c", "customerData": {}}));
    let invalid_customer = RequestBuilder::customer("not json").without_header("content-type");
    let signal = json!({"signals": [{"customerId": "c", "eventType": "e"}]});
    let signal = RequestBuilder::signals(&signal);
    let key_for = |endpoint| app.key_with("shop", move |entry| entry.only = Some(endpoint));

    let key = key_for(Endpoint::Customers).await;
    let send = |call: &RequestBuilder| app.send(call.clone().key(&key));
    assert_eq!(send(&RequestBuilder::ping()).await.status, 200);
    assert_eq!(send(&customer).await.status, 200);
    send(&signal).await.assert_problem(403, "forbidden");
    assert_eq!(send(&invalid_customer).await.status, 415);

    let key = key_for(Endpoint::Signals).await;
    let send = |call: &RequestBuilder| app.send(call.clone().key(&key));
    assert_eq!(send(&RequestBuilder::ping()).await.status, 200);
    assert_eq!(send(&signal).await.status, 200);
    send(&customer).await.assert_problem(403, "forbidden");
    // The restriction precedes every other error of the request.
    send(&invalid_customer)
        .await
        .assert_problem(403, "forbidden");

    assert_eq!(app.items("CustomersTable").await.len(), 1);
    assert_eq!(app.items("SignalsTable").await.len(), 1);
}

#[tokio::test]
async fn key_writes_only_customers_of_its_account() {
    let app = TestApp::start();
    let key_of_a = app.key("a").await;
    let key_of_a_b = app.key("a-b").await;
    let customer = |id: &str| {
        RequestBuilder::customer(json!({"customerId": id, "customerData": {"city": "x"}}))
    };
    for id in ["c", "#c", "b#c", "../a-b#c", "a-b#c", "\u{0}c"] {
        app.send(customer(id).key(&key_of_a)).await;
    }
    app.send(customer("c").key(&key_of_a_b)).await;
    let items = app.items("CustomersTable").await;
    assert_eq!(items.len(), 7);
    for item in items {
        let (account, id) = item["pk"].as_s().unwrap().split_once('#').unwrap();
        assert_eq!(account, item["accountId"].as_s().unwrap());
        assert_eq!(id, item["customerId"].as_s().unwrap());
    }
}

#[tokio::test]
async fn cached_key_expires_at_its_exact_time() {
    // The table keeps the time of an expiry in whole seconds.
    let expires_at = Timestamp::from_millis(later(30).seconds() * 1_000);
    let app = TestApp::start();
    let key = app
        .key_with("shop", |entry| entry.expires_at = Some(expires_at))
        .await;
    assert_eq!(status_at(&app, &key, NOW).await, 200);
    let last_millisecond = Timestamp::from_millis(expires_at.millis() - 1);
    assert_eq!(status_at(&app, &key, last_millisecond).await, 200);
    assert_eq!(status_at(&app, &key, expires_at).await, 401);
}

#[tokio::test]
async fn verification_key_is_accepted_for_accounts_of_verify_only() {
    let app = TestApp::start();
    for (account, status) in [("shop", 401), ("verify-0123", 200)] {
        let key = ApiKey::random_for_verification().unwrap();
        store_key(&app.emulator.endpoint(), &key, &key_entry(account)).await;
        for _ in 0..2 {
            let response = app
                .send(RequestBuilder::ping().key(key.expose_secret()))
                .await;
            assert_eq!(response.status, status, "{account}");
        }
    }
    for item in app.items("ApiKeysTable").await {
        let hash = item["keyHash"].as_s().unwrap();
        assert!(hash.starts_with("verify-"), "{hash}");
    }
}

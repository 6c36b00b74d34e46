//! A retried request is stored once (docs/api.md, Retries).

use std::time::Duration;

use futures_util::future::join_all;
use harness::{RequestBuilder, TestApp};
use serde_json::json;

use crate::support::clock::NOW;
use crate::support::requests::{
    REQUEST_IDENTIFIER, batch_with_identifier, request_with_identifier,
};

#[tokio::test]
async fn twelve_concurrent_attempts_are_stored_once() {
    let (app, key) = TestApp::with_key("shop").await;
    let body = batch_with_identifier(30);
    let responses =
        join_all((0..12).map(|_| app.send(RequestBuilder::signals(&body).key(&key)))).await;
    assert!(responses.iter().all(|response| response.status == 200));
    assert_eq!(
        responses
            .iter()
            .filter(|response| response.json()["replayed"] == false)
            .count(),
        1
    );
    assert_eq!(app.items("SignalsTable").await.len(), 30);
}

#[tokio::test]
async fn replay_keeps_the_time_of_the_first_arrival() {
    let (app, key) = TestApp::with_key("shop").await;
    let first = NOW;
    app.send(request_with_identifier(2).key(&key).received_at(first))
        .await;
    app.send(
        request_with_identifier(2)
            .key(&key)
            .received_at(first.plus(Duration::from_hours(1))),
    )
    .await;
    let history = app.history("shop", "c").await;
    assert_eq!(history.len(), 2);
    assert!(
        history
            .iter()
            .all(|item| item["receivedAt"].as_s().unwrap() == "2026-11-20T22:33:44.123Z")
    );
}

#[tokio::test]
async fn retry_with_another_body_is_a_422_and_stores_nothing() {
    let (app, key) = TestApp::with_key("shop").await;
    let first = app.send(request_with_identifier(1).key(&key)).await;
    assert_eq!(first.status, 200, "{first:?}");
    let mut another = batch_with_identifier(2);
    another["signals"][1] = json!("not a signal");
    for another_body in [batch_with_identifier(2), another] {
        app.send(RequestBuilder::signals(another_body).key(&key))
            .await
            .assert_problem(422, "request-identifier-reused");
        assert_eq!(app.items("SignalsTable").await.len(), 1);
        assert_eq!(app.items("RejectedSignalsTable").await, []);
    }
    // The first body is still what the identifier stands for.
    let retry = app.send(request_with_identifier(1).key(&key)).await;
    assert_eq!(retry.json()["replayed"], true, "{retry:?}");
}

#[tokio::test]
async fn uppercase_request_identifier_conflicts_with_lowercase() {
    let (app, key) = TestApp::with_key("shop").await;
    app.send(request_with_identifier(1).key(&key)).await;
    let mut upper = batch_with_identifier(1);
    upper["requestIdentifier"] = REQUEST_IDENTIFIER.to_uppercase().into();
    // The case of the identifier makes it another body.
    app.send(RequestBuilder::signals(upper).key(&key))
        .await
        .assert_problem(422, "request-identifier-reused");
}

#[tokio::test]
async fn idempotency_record_expires_before_dynamodb_deletes_it() {
    let (app, key) = TestApp::with_key("shop").await;
    let first = NOW.plus(Duration::from_millis(900));
    app.send(request_with_identifier(1).key(&key).received_at(first))
        .await;
    let almost = first.plus(Duration::from_millis(24 * 3600 * 1_000 - 1));
    app.send(request_with_identifier(2).key(&key).received_at(almost))
        .await
        .assert_problem(422, "request-identifier-reused");
    let later = first.plus(Duration::from_secs(24 * 3600 + 1));
    let response = app
        .send(request_with_identifier(2).key(&key).received_at(later))
        .await;
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["replayed"], false);
    assert_eq!(app.items("SignalsTable").await.len(), 3);
}

#[tokio::test]
async fn identifier_of_another_account_is_no_conflict() {
    let app = TestApp::start();
    let one = app.key("one").await;
    let two = app.key("two").await;
    for (signals, key) in [(1, &one), (2, &two)] {
        let request = request_with_identifier(signals);
        let response = app.send(request.key(key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert_eq!(response.json()["replayed"], false, "{}", response.text);
    }
}

#[tokio::test]
async fn request_without_identifier_writes_no_idempotency_record() {
    let (app, key) = TestApp::with_key("shop").await;
    let response = app
        .send(
            RequestBuilder::signals(json!({"signals": [{"customerId": "c", "eventType": "view"}]}))
                .key(&key),
        )
        .await;
    let generated = response.json()["requestIdentifier"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(generated.len(), 36);
    let history = app.history("shop", "c").await;
    assert_eq!(history[0]["requestIdentifier"].as_s().unwrap(), &generated);
    assert_eq!(app.items("IdempotencyTable").await, []);
}

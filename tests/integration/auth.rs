//! SPEC 2.5 and 2.7: whose a request is, before anything else about it.

use std::time::Duration;

use model::timestamp::Timestamp;
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_000);

fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

#[tokio::test]
async fn ping_with_a_valid_key_needs_no_content_type() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let answer = stack.send(RequestBuilder::ping().key(&key)).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, r#"{"response":"pong"}"#));
    assert!(!answer.header("x-request-id").is_empty());
}

#[tokio::test]
async fn unauthorized_response_says_only_whether_a_key_was_sent() {
    let stack = TestApp::start();
    let revoked = stack.key_with("shop", |record| record.revoked_at = Some(NOW)).await;
    let expired = stack.key_with("shop", |record| record.expires_at = Some(NOW)).await;
    let mut bodies = std::collections::HashSet::new();
    for (call, challenge) in [
        (RequestBuilder::ping(), r#"Bearer realm="intake""#),
        (RequestBuilder::ping().header("authorization", "Basic YTpi"), r#"Bearer realm="intake""#),
        (RequestBuilder::ping().header("authorization", "Bearer"), r#"Bearer realm="intake""#),
        (RequestBuilder::ping().key("two words"), r#"Bearer realm="intake", error="invalid_token""#),
        (RequestBuilder::ping().key("unknown"), r#"Bearer realm="intake", error="invalid_token""#),
        (RequestBuilder::ping().key(&"k".repeat(7_000)), r#"Bearer realm="intake", error="invalid_token""#),
        (RequestBuilder::ping().key(&revoked), r#"Bearer realm="intake", error="invalid_token""#),
        (RequestBuilder::ping().key(&expired), r#"Bearer realm="intake", error="invalid_token""#),
    ] {
        let answer = stack.send(call.at(NOW).invocation("the-same")).await;
        answer.assert_problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), challenge);
        bodies.insert(answer.text);
    }
    assert_eq!(bodies.len(), 1, "the body does not say which");
}

#[tokio::test]
async fn missing_key_is_a_401_before_any_other_error() {
    let stack = TestApp::start();
    let large = " ".repeat(5 * 1024 * 1024);
    for call in [
        RequestBuilder::customer("not json"),
        RequestBuilder::signals(&large),
        RequestBuilder::customer("{}").without_header("content-type"),
        RequestBuilder::signals("{}").header("content-encoding", "br"),
    ] {
        stack.send(call).await.assert_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn key_writes_only_customers_of_its_account() {
    let stack = TestApp::start();
    let (one, two) = (stack.key("one").await, stack.key("two").await);
    let body = |email: &str| json!({"customerId": "c", "customerData": {"email": email}});
    stack.send(RequestBuilder::customer(body("1")).key(&one)).await;
    assert_eq!(stack.send(RequestBuilder::customer(body("2")).key(&two)).await.json()["result"], "created");
    assert_eq!(stack.customer("one", "c").await.unwrap()["email"].as_s().unwrap(), "1");
}

#[tokio::test]
async fn separator_in_an_identifier_stays_in_the_account() {
    let stack = TestApp::start();
    let (a, a_b) = (stack.key("a").await, stack.key("a-b").await);
    for id in ["#c", "b#c", "../a-b#c", "a-b#c", "\u{0}c"] {
        stack.send(RequestBuilder::customer(json!({"customerId": id, "customerData": {"city": "x"}})).key(&a)).await;
    }
    stack.send(RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "y"}})).key(&a_b)).await;
    let items = stack.items("CustomersTable").await;
    assert_eq!(items.len(), 6);
    for item in items {
        let (account, id) = item["pk"].as_s().unwrap().split_once('#').unwrap();
        assert_eq!(
            (account, id),
            (item["accountId"].as_s().unwrap().as_str(), item["customerId"].as_s().unwrap().as_str())
        );
    }
}

#[tokio::test]
async fn cached_key_expires_to_the_second() {
    let stack = TestApp::start();
    let key = stack.key_with("shop", |record| record.expires_at = Some(later(30))).await;
    assert_eq!(stack.send(RequestBuilder::ping().key(&key).at(NOW)).await.status, 200);
    let last = Timestamp::from_millis(later(30).millis() - 1);
    assert_eq!(stack.send(RequestBuilder::ping().key(&key).at(last)).await.status, 200);
    assert_eq!(stack.send(RequestBuilder::ping().key(&key).at(later(30))).await.status, 401);
}

#[tokio::test]
async fn a_yes_is_remembered_for_a_minute_and_a_no_for_ten_seconds() {
    let mut stack = TestApp::start();
    let known = stack.key("shop").await;
    assert_eq!(stack.send(RequestBuilder::ping().key(&known).at(NOW)).await.status, 200);
    assert_eq!(stack.send(RequestBuilder::ping().key("unknown").at(NOW)).await.status, 401);
    // From here on the key table cannot be read: what is still known is remembered.
    stack.emulator.stop();
    assert_eq!(stack.send(RequestBuilder::ping().key(&known).at(later(59))).await.status, 200);
    assert_eq!(stack.send(RequestBuilder::ping().key("unknown").at(later(9))).await.status, 401);
    stack.send(RequestBuilder::ping().key("unknown").at(later(10))).await.assert_problem(503, "storage-unavailable");
}

#[tokio::test]
async fn when_the_key_table_cannot_be_read_a_yes_stands_for_fifteen_minutes() {
    let mut stack = TestApp::start();
    let known = stack.key("shop").await;
    assert_eq!(stack.send(RequestBuilder::ping().key(&known).at(NOW)).await.status, 200);
    stack.emulator.stop();
    assert_eq!(stack.send(RequestBuilder::ping().key(&known).at(later(899))).await.status, 200);
    let answer = stack.send(RequestBuilder::ping().key(&known).at(later(900))).await;
    answer.assert_problem(503, "storage-unavailable");
    assert_eq!(answer.header("retry-after"), "2");
    stack.send(RequestBuilder::ping().key("never-seen").at(NOW)).await.assert_problem(503, "storage-unavailable");
}

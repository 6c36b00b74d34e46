//! Signals that DynamoDB does not acknowledge in time go to the overflow queue, and a drain stores
//! them (docs/reliability.md, Overflow).

mod customers;
mod drain;
mod newest;
mod patience;
mod processes;

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use emulator::sqs::FakeSqs;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{Endpoints, RequestBuilder, TestApp};

const REQUEST: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";
const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_123);

/// A minute later.
const DRAINED_AT: Timestamp = Timestamp::from_millis(1_795_214_084_123);

const RETENTION: Duration = Duration::from_hours(7 * 24);

type Item = HashMap<String, AttributeValue>;

/// An app with an overflow queue, and a fault proxy before every table but that of the keys.
pub(crate) struct Stack {
    pub(crate) app: TestApp,
    pub(crate) proxy: FaultProxy,
    pub(crate) sqs: FakeSqs,
    key: String,
}

impl Stack {
    pub(crate) async fn start(plan: impl Into<Plan>) -> Self {
        let (emulator, sqs) = (TestApp::emulator(), FakeSqs::start().await.unwrap());
        let keys = emulator.endpoint();
        let proxy = FaultProxy::start(&keys, plan).await.unwrap();
        let endpoints = Endpoints {
            keys: &keys,
            others: &proxy.endpoint(),
            sqs: Some(&sqs),
            s3: None,
        };
        let app = TestApp::at(emulator, &endpoints, Some(RETENTION));
        let key = app.key("shop").await;
        Self {
            app,
            proxy,
            sqs,
            key,
        }
    }

    pub(crate) async fn send(&self, body: &Value, at: Timestamp) -> (u16, Value) {
        let response = self
            .app
            .send(RequestBuilder::signals(body).key(&self.key).at(at))
            .await;
        (response.status, response.json())
    }

    /// Takes all messages and drains them; returns those that are to be delivered again.
    async fn drain(&self) -> Vec<String> {
        self.drain_all(&self.sqs.take_messages()).await
    }

    async fn drain_all(&self, messages: &[String]) -> Vec<String> {
        self.app.drain(messages, DRAINED_AT).await
    }

    async fn stored(&self) -> Vec<Item> {
        let mut items = self.app.items("SignalsTable").await;
        items.sort_by_key(|item| item["sk"].as_s().unwrap().clone());
        items
    }
}

fn signals(n: usize) -> Value {
    let signal = |n| json!({"customerId": "c", "eventType": "view", "data": {"n": n, "x": "\u{fffe}\""}, "more": 1.0});
    (0..n).map(signal).collect()
}

fn named(n: usize) -> Value {
    json!({"requestIdentifier": REQUEST, "signals": signals(n)})
}

/// The items that a request leaves when nothing fails.
async fn items_without_a_fault(body: &Value) -> Vec<Item> {
    let stack = Stack::start(Plan::none()).await;
    let (status, response) = stack.send(body, NOW).await;
    assert_eq!(
        (status, response.get("deferred")),
        (200, None),
        "absent when 0: {response}"
    );
    assert_eq!(stack.sqs.take_messages(), [""; 0]);
    stack.stored().await
}

#[tokio::test]
async fn deferred_signals_become_the_items_that_the_request_would_have_written() {
    let expected = items_without_a_fault(&named(60)).await;
    for (fault, deferred) in [
        (Fault::Throttled.always().of("BatchWriteItem"), 60),
        (Fault::ResetBefore.always().of("BatchWriteItem"), 60),
        // Whether the record is written is not known, so nothing is written now.
        (Fault::InternalServerError.always().of("PutItem"), 60),
        (Fault::ResetAfter.always().of("PutItem"), 60),
        // The first two batches are stored.
        (
            Fault::InternalServerError
                .where_body_has("\"59\"")
                .of("BatchWriteItem"),
            10,
        ),
    ] {
        let stack = Stack::start(fault.clone()).await;
        let (status, response) = stack.send(&named(60), NOW).await;
        assert_eq!(
            (status, &response["accepted"], &response["deferred"]),
            (200, &json!(60), &json!(deferred)),
            "{fault:?}"
        );
        assert_eq!(response["replayed"], false);
        assert_eq!(stack.stored().await.len(), 60 - deferred, "{fault:?}");
        stack.proxy.set(Plan::none());
        assert_eq!(stack.drain().await, [""; 0]);
        assert_eq!(stack.stored().await, expected, "{fault:?}");
    }
}

#[tokio::test]
async fn signals_without_an_identifier_are_deferred_without_a_record() {
    let stack = Stack::start(Fault::TableThrottled.always().of("BatchWriteItem")).await;
    let (status, response) = stack.send(&json!({"signals": signals(3)}), NOW).await;
    assert_eq!((status, &response["deferred"]), (200, &json!(3)));
    stack.proxy.set(Plan::none());
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 3);
    assert_eq!(stack.app.items("IdempotencyTable").await.len(), 0);
}

#[tokio::test]
async fn retry_before_the_drain_stores_its_signals_once() {
    for fault in [
        Fault::ResetBefore.always(),
        Fault::Throttled.always().of("BatchWriteItem"),
    ] {
        let stack = Stack::start(fault.clone()).await;
        assert_eq!(
            stack.send(&named(30), NOW).await.1["deferred"],
            30,
            "{fault:?}"
        );
        stack.proxy.set(Plan::none());
        let later = NOW.plus(Duration::from_secs(5));
        let (status, response) = stack.send(&named(30), later).await;
        assert_eq!((status, response.get("deferred")), (200, None));
        assert_eq!(stack.drain().await, [""; 0]);
        assert_eq!(stack.stored().await.len(), 30, "{fault:?}");
    }
}

#[tokio::test]
async fn two_deferred_attempts_that_are_drained_together_are_stored_once() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(2), NOW).await;
    stack
        .send(&named(2), NOW.plus(Duration::from_secs(1)))
        .await;
    stack.proxy.set(Plan::none());
    assert_eq!(stack.drain().await, [""; 0]);
    assert_eq!(stack.stored().await.len(), 2);
}

#[tokio::test]
async fn identifier_that_another_body_took_keeps_the_deferred_signals() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    assert_eq!(stack.send(&named(2), NOW).await.1["deferred"], 2);
    stack.proxy.set(Plan::none());
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(stack.send(&named(1), later).await.0, 200);
    assert_eq!(stack.drain().await, [""; 0]);
    let times: Vec<_> = stack
        .stored()
        .await
        .iter()
        .map(|item| item["receivedAt"].as_s().unwrap().clone())
        .collect();
    assert_eq!(times, [NOW.to_string(), NOW.to_string(), later.to_string()]);
}

#[tokio::test]
async fn record_that_arrives_late_changes_no_key() {
    let stack = Stack::start(Fault::Held.always().of("PutItem")).await;
    assert_eq!(stack.send(&named(2), NOW).await.1["deferred"], 2);
    stack.proxy.set(Plan::none());
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(
        stack.send(&named(2), later).await.1["replayed"],
        false,
        "there is no record yet"
    );
    assert!(stack.proxy.apply_held().await.unwrap() > 0);
    assert_eq!(stack.drain().await, [""; 0]);
    assert_eq!(stack.stored().await.len(), 2);
}

#[tokio::test]
async fn retry_with_the_identifier_of_a_503_is_stored_once_through_the_queue() {
    let stack = Stack::start(
        Fault::ResetBefore
            .where_body_has("\"29\"")
            .of("BatchWriteItem"),
    )
    .await;
    stack.sqs.set_unavailable(true);
    let (status, failed) = stack.send(&json!({"signals": signals(30)}), NOW).await;
    assert_eq!(status, 503);
    stack.sqs.set_unavailable(false);
    stack.proxy.set(Fault::ResetAfter.always());
    let retry = json!({"requestIdentifier": failed["requestIdentifier"], "signals": signals(30)});
    assert_eq!(
        stack.send(&retry, NOW.plus(Duration::from_secs(1))).await.1["deferred"],
        30
    );
    stack.proxy.set(Plan::none());
    assert_eq!(stack.drain().await, [""; 0]);
    assert_eq!(stack.stored().await.len(), 30);
}

#[tokio::test]
async fn answer_of_sqs_without_an_id_or_with_another_md5_acknowledges_nothing() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    let customer =
        || RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})).key(&stack.key);
    for answer in [
        json!({}),
        json!({"MessageId": "1"}),
        json!({"MessageId": "1", "MD5OfMessageBody": "00"}),
    ] {
        stack.sqs.answer_sends_with(Some(answer.clone()));
        let (status, _) = stack.send(&json!({"signals": signals(1)}), NOW).await;
        assert_eq!(
            (status, stack.app.send(customer()).await.status),
            (503, 503),
            "{answer}"
        );
    }
    stack.sqs.answer_sends_with(None);
    assert_eq!(
        stack.send(&json!({"signals": signals(1)}), NOW).await.1["deferred"],
        1
    );
}

#[tokio::test]
async fn rejected_signals_of_a_deferred_batch_are_reported_and_kept() {
    let stack = Stack::start(
        Fault::Throttled
            .where_body_has("\"eventType\":{")
            .of("BatchWriteItem"),
    )
    .await;
    let body = json!({"signals": [{"customerId": "c", "eventType": "e"}, {"customerId": "c"}]});
    let (status, response) = stack.send(&body, NOW).await;
    let counts = ["received", "accepted", "rejected", "deferred"].map(|name| &response[name]);
    assert_eq!(
        (status, counts),
        (200, [&json!(2), &json!(1), &json!(1), &json!(1)]),
        "{response}"
    );
    assert_eq!(stack.app.items("RejectedSignalsTable").await.len(), 1);
}

#[tokio::test]
async fn messages_of_an_account_are_its_group() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(1), NOW).await;
    assert_eq!(stack.sqs.take_groups(), [Some("shop".to_owned())]);
    stack.drain_all(&["unreadable".to_owned()]).await;
    assert_eq!(stack.sqs.take_groups(), [None]);
}

#[tokio::test]
async fn body_of_4_mib_is_deferred_whole() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    let large = "x".repeat(200 * 1024);
    let signal = |n| json!({"customerId": "c", "eventType": "e", "data": {"n": n, "large": large}});
    let body = json!({"signals": (0..20).map(signal).collect::<Value>()});
    assert_eq!(stack.send(&body, NOW).await.1["deferred"], 20);
    let messages = stack.sqs.take_messages();
    assert!(messages.len() >= 4, "{}", messages.len());
    stack.proxy.set(Plan::none());
    assert_eq!(stack.drain_all(&messages).await, [""; 0]);
    assert_eq!(stack.stored().await.len(), 20);
}

//! What callers hear when DynamoDB fails in each of its ways, and what is stored then (SPEC 2.4, 2.5).

mod auth;
mod stale_connections;
mod late_writes;
mod unavailable;
mod refused_by_store;
mod throttling;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{RequestBuilder, TestApp, TestResponse};

const REQUEST: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// Faults that are over when the call is made again.
const PASSING: [Fault; 8] = [
    Fault::Throttled,
    Fault::TableThrottled,
    Fault::InternalServerError,
    Fault::ServiceUnavailable,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::CutBody,
    Fault::Slow(Duration::from_millis(30)),
];

/// A stack that has a proxy before every table but the keys, and a key.
async fn behind(plan: impl Into<Plan>) -> (TestApp, FaultProxy, String) {
    let emulator = TestApp::emulator();
    let keys = emulator.endpoint();
    let proxy = FaultProxy::start(&keys, plan).await;
    let stack = TestApp::over(emulator, &keys, &proxy.endpoint(), None);
    let key = stack.key("shop").await;
    (stack, proxy, key)
}

fn signals(n: usize) -> Value {
    (0..n).map(|n| json!({"customerId": "c", "eventType": "view", "data": {"n": n}})).collect()
}

fn named(n: usize) -> RequestBuilder {
    RequestBuilder::signals(json!({"requestIdentifier": REQUEST, "signals": signals(n)}))
}

fn unnamed(n: usize) -> RequestBuilder {
    RequestBuilder::signals(json!({"signals": signals(n)}))
}

fn customer() -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "Ulm"}}))
}

/// The numbers of the signals that are stored, in their order.
async fn stored(stack: &TestApp) -> Vec<usize> {
    let number = |item: &std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>| {
        item["data"].as_m().unwrap()["n"].as_n().unwrap().parse().unwrap()
    };
    stack.history("shop", "c").await.iter().map(number).collect()
}

#[track_caller]
fn assert_unavailable(answer: &TestResponse) {
    answer.assert_problem(503, "storage-unavailable");
    assert_eq!(answer.header("retry-after"), "2");
}

#[tokio::test]
async fn transient_fault_of_any_call_stores_each_signal_once() {
    for fault in PASSING {
        // The claim, and then the two batches.
        for nth in 1..=3 {
            let (stack, proxy, key) = behind(fault.at(nth)).await;
            let answer = stack.send(named(40).key(&key)).await;
            assert_eq!(answer.status, 200, "{fault:?} at call {nth}: {}", answer.text);
            assert_eq!(answer.json()["accepted"], 40);
            assert_eq!(answer.json()["replayed"], false, "{fault:?} at call {nth}: the claim is this invocation's own");
            assert_eq!(stored(&stack).await, (0..40).collect::<Vec<_>>(), "{fault:?} at call {nth}");
            assert_eq!(proxy.counts().faulted, 1);
        }
    }
}

#[tokio::test]
async fn transient_fault_without_identifier_stores_signals_once() {
    for fault in PASSING {
        let (stack, proxy, key) = behind(fault.at(1)).await;
        let answer = stack.send(unnamed(3).key(&key)).await;
        assert_eq!((answer.status, stored(&stack).await), (200, vec![0, 1, 2]), "{fault:?}: {}", answer.text);
        assert_eq!(proxy.counts().of("PutItem"), 0, "no claim was needed");
    }
}

#[tokio::test]
async fn customer_created_by_a_lost_attempt_is_created() {
    for fault in PASSING {
        let (stack, _proxy, key) = behind(fault.at(1)).await;
        let answer = stack.send(customer().key(&key)).await;
        assert_eq!((answer.status, &answer.json()["result"]), (200, &json!("created")), "{fault:?}: {}", answer.text);
        assert_eq!(stack.send(customer().key(&key)).await.json()["result"], "updated");
        assert_eq!(stack.customer("shop", "c").await.unwrap()["city"].as_s().unwrap(), "Ulm");
    }
}

#[tokio::test]
async fn transient_fault_of_the_key_table_fails_no_request() {
    for fault in PASSING {
        let emulator = TestApp::emulator();
        let direct = emulator.endpoint();
        let keys = FaultProxy::start(&direct, fault.at(1)).await;
        let stack = TestApp::over(emulator, &keys.endpoint(), &direct, None);
        let key = stack.key("shop").await;
        assert_eq!(stack.send(RequestBuilder::ping().key(&key)).await.status, 200, "{fault:?}");
        assert_eq!(stack.send(customer().key(&key)).await.status, 200, "{fault:?}");
    }
}

#[tokio::test]
async fn stalled_call_is_retried_before_the_deadline() {
    for call in [named(3), customer()] {
        let (stack, _proxy, key) = behind(Fault::Stall.at(1)).await;
        let began = Instant::now();
        let answer = stack.send(call.key(&key)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn one_passing_fault_adds_at_most_thirty_milliseconds_at_the_median() {
    let (stack, proxy, key) = behind(Plan::none()).await;
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..31 {
        // By turns, so that whatever else the machine does falls on both alike.
        for (plan, took) in [Plan::none(), Fault::Throttled.at(1).into()].into_iter().zip(&mut took) {
            proxy.set(plan);
            let began = Instant::now();
            assert_eq!(stack.send(customer().key(&key)).await.status, 200);
            took.push(began.elapsed());
        }
    }
    let [undisturbed, disturbed] = took.map(|mut took| {
        took.sort_unstable();
        took[took.len() / 2]
    });
    let added = disturbed.saturating_sub(undisturbed);
    assert!(added <= Duration::from_millis(30), "{added:?}");
}

#[tokio::test]
async fn unprocessed_items_are_sent_again_until_all_are_stored() {
    for done in [0, 1, 7, 24] {
        let first = Fault::Unprocessed { done }.at(1);
        let again = Fault::Unprocessed { done: 0 }.at(3);
        let (stack, proxy, key) = behind(Plan::of([first, again])).await;
        let answer = stack.send(named(30).key(&key)).await;
        assert_eq!((answer.status, &answer.json()["accepted"]), (200, &json!(30)), "{}", answer.text);
        assert_eq!(stored(&stack).await, (0..30).collect::<Vec<_>>());
        assert_eq!(proxy.counts().of("BatchWriteItem"), 4, "two batches, one of them sent again twice");
    }
}

#[tokio::test]
async fn lasting_unprocessed_items_are_a_503_that_a_retry_completes() {
    let (some, none) = (Fault::Unprocessed { done: 1 }.at(2), Fault::Unprocessed { done: 0 }.always());
    let (stack, proxy, key) = behind(Plan::of([some, none])).await;
    let budget = Duration::from_millis(1_200);
    let began = Instant::now();
    let answer = stack.send(named(25).key(&key).within(budget)).await;
    assert_unavailable(&answer);
    assert!(began.elapsed() < budget + Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(answer.json()["requestIdentifier"], REQUEST);
    proxy.set(Plan::none());
    let answer = stack.send(named(25).key(&key)).await;
    assert_eq!((answer.status, &answer.json()["replayed"]), (200, &json!(true)), "{}", answer.text);
    assert_eq!(stored(&stack).await, (0..25).collect::<Vec<_>>());
}

//! When no retry helps.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use super::{assert_unavailable, behind, customer, named, signals, stored, unnamed};

const LASTING: [Fault; 10] = [
    Fault::Throttled,
    Fault::TableThrottled,
    Fault::InternalServerError,
    Fault::ServiceUnavailable,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::CutBody,
    Fault::Stall,
    Fault::ExpiredToken,
    Fault::UnrecognizedClient,
];

#[tokio::test]
async fn lasting_fault_is_a_503_before_the_deadline() {
    let budget = Duration::from_millis(600);
    for fault in LASTING {
        let (stack, _proxy, key) = behind(fault.always()).await;
        for call in [customer(), named(30), unnamed(30)] {
            let began = Instant::now();
            let answer = stack.send(call.key(&key).within(budget)).await;
            assert_unavailable(&answer);
            // The reserve that an invocation keeps for its answer is a second.
            assert!(began.elapsed() < budget + Duration::from_secs(1), "{fault:?}: {:?}", began.elapsed());
            if matches!(fault, Fault::ResetAfter | Fault::CutBody) {
                continue;
            }
            assert!(answer.json().get("requestIdentifier").is_none(), "{fault:?}: nothing could be claimed");
        }
    }
}

#[tokio::test]
async fn response_503_names_an_identifier_only_if_it_is_recorded() {
    let batches_fail = Fault::InternalServerError.always().of("BatchWriteItem");
    let (stack, proxy, key) = behind(batches_fail.clone()).await;
    let answer = stack.send(unnamed(30).key(&key)).await;
    assert_unavailable(&answer);
    assert!(answer.json()["requestIdentifier"].is_string(), "{}", answer.text);
    proxy.set(Plan::of([batches_fail, Fault::InternalServerError.always().of("PutItem")]));
    let answer = stack.send(unnamed(30).key(&key)).await;
    assert_unavailable(&answer);
    assert!(answer.json().get("requestIdentifier").is_none(), "{}", answer.text);
}

#[tokio::test]
async fn idempotency_record_survives_a_503_and_the_retry_completes() {
    let (stack, proxy, key) = behind(Fault::ResetAfter.always().of("BatchWriteItem")).await;
    let answer = stack.send(named(60).key(&key)).await;
    assert_unavailable(&answer);
    proxy.set(Plan::none());
    let answer = stack.send(named(60).key(&key)).await;
    assert_eq!((answer.status, &answer.json()["replayed"]), (200, &json!(true)));
    assert_eq!(stored(&stack).await, (0..60).collect::<Vec<_>>());
}

#[tokio::test]
async fn retry_budget_bounds_the_calls_during_an_outage() {
    const REQUESTS: u64 = 100;
    for fault in [Fault::InternalServerError, Fault::ResetBefore, Fault::CutBody] {
        let (stack, proxy, key) = behind(fault.always()).await;
        for _ in 0..REQUESTS {
            assert_unavailable(&stack.send(customer().key(&key)).await);
        }
        // Undisturbed, each would make one call.
        let calls = proxy.counts().calls();
        assert!(calls * 10 <= REQUESTS * 13, "{fault:?}: {calls} calls for {REQUESTS} requests");
        proxy.set(Plan::none());
        assert_eq!(stack.send(customer().key(&key)).await.status, 200, "no retry left, and none needed");
    }
}

#[tokio::test]
async fn retry_with_the_identifier_of_a_503_is_stored_once() {
    // The first batch is stored, the second fails for good.
    let second = Fault::InternalServerError.where_body_has("\"29\"").of("BatchWriteItem");
    let (stack, proxy, key) = behind(second).await;
    let answer = stack.send(unnamed(30).key(&key)).await;
    assert_unavailable(&answer);
    assert_eq!(stored(&stack).await.len(), 25);
    proxy.set(Plan::none());
    let retry = json!({"requestIdentifier": answer.json()["requestIdentifier"], "signals": signals(30)});
    let answer = stack.send(RequestBuilder::signals(retry).key(&key)).await;
    assert_eq!((answer.status, &answer.json()["replayed"]), (200, &json!(true)), "{}", answer.text);
    assert_eq!(stored(&stack).await, (0..30).collect::<Vec<_>>());
}

//! A transient fault fails no request and stores nothing twice (docs/api.md, When DynamoDB is
//! unavailable).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use super::FAILURES;
use crate::support::app_behind_proxy::{
    AppBehindProxy, app_behind_key_proxy, app_behind_proxy, assert_faulted,
};
use crate::support::requests::{
    REQUEST_IDENTIFIER, assert_unavailable, customer, request_with_identifier,
    request_without_identifier, stored_numbers,
};

/// Faults of one call, after which the same call succeeds.
fn transient() -> impl Iterator<Item = Fault> {
    FAILURES
        .into_iter()
        .chain([Fault::Slow(Duration::from_millis(30))])
}

#[tokio::test]
async fn transient_fault_of_the_record_is_not_taken_for_an_earlier_request() {
    for fault in transient() {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault.on_call(1)).await;
        let response = app.send(request_with_identifier(2).key(&key)).await;
        assert_eq!(response.status, 200, "{fault:?}: {}", response.text);
        assert_eq!(response.json()["accepted"], 2, "{fault:?}");
        assert_eq!(response.json()["replayed"], false, "{fault:?}");
        assert_eq!(proxy.counts().faulted, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn request_without_identifier_writes_no_record_although_an_answer_is_lost() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::ResetAfter.on_call(1)).await;
    let response = app.send(request_without_identifier(3).key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, [0, 1, 2]);
    assert_faulted(&proxy);
    assert_eq!(proxy.counts().calls_of("PutItem"), 0);
}

#[tokio::test]
async fn customer_created_by_a_lost_attempt_is_created() {
    for fault in transient() {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault.on_call(1)).await;
        let response = app.send(customer().key(&key)).await;
        assert_faulted(&proxy);
        let result = &response.json()["result"];
        assert_eq!(response.status, 200, "{fault:?}: {}", response.text);
        assert_eq!(result, "created", "{fault:?}: {}", response.text);
        let response = app.send(customer().key(&key)).await;
        assert_eq!(response.json()["result"], "updated");
        let item = app.customer("shop", "c").await.unwrap();
        assert_eq!(item["city"].as_s().unwrap(), "Ulm");
    }
}

#[tokio::test]
async fn transient_fault_of_the_key_table_fails_no_request() {
    for fault in transient() {
        let AppBehindProxy { app, proxy, key } = app_behind_key_proxy().await;
        proxy.set(fault.on_call(1));
        let response = app.send(RequestBuilder::ping().key(&key)).await;
        assert_eq!(response.status, 200, "{fault:?}");
        assert_faulted(&proxy);
        let response = app.send(customer().key(&key)).await;
        assert_eq!(response.status, 200, "{fault:?}");
    }
}

#[tokio::test]
async fn hanging_call_is_retried_before_the_deadline() {
    join_all([request_with_identifier(3), customer()].map(async |call| {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::Hanging.on_call(1)).await;
        let began = Instant::now();
        let response = app.send(call.key(&key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert_faulted(&proxy);
        assert!(
            began.elapsed() < Duration::from_secs(9),
            "{:?}",
            began.elapsed()
        );
    }))
    .await;
}

#[tokio::test]
async fn connection_is_not_used_again_after_a_timeout_an_error_or_an_unreadable_answer() {
    for fault in [
        Fault::Hanging,
        Fault::InternalServerError,
        Fault::Status(503),
        Fault::ResetBefore,
        Fault::CutBody,
        Fault::EmptyBody,
        Fault::HtmlBody,
    ] {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault.on_call(1)).await;
        for _ in 0..3 {
            assert_eq!(app.send(customer().key(&key)).await.status, 200);
        }
        let counts = proxy.counts();
        assert_eq!(counts.faulted, 1, "{fault:?}");
        assert_eq!(counts.after_a_fault, 0, "{fault:?}");
    }
}

#[tokio::test]
async fn unprocessed_items_are_sent_again_until_all_are_stored() {
    let first = Fault::Unprocessed { done: 7 }.on_call(1);
    let again = Fault::Unprocessed { done: 0 }.on_call(3);
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Plan::new([first, again])).await;
    let response = app.send(request_with_identifier(30).key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 30, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, (0..30).collect::<Vec<_>>());
    assert_eq!(
        proxy.counts().calls_of("BatchWriteItem"),
        4,
        "two batches, one of them three times"
    );
}

#[tokio::test]
async fn lasting_unprocessed_items_are_a_503_that_a_retry_completes() {
    let some = Fault::Unprocessed { done: 1 }.on_call(2);
    let none = Fault::Unprocessed { done: 0 }.always();
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Plan::new([some, none])).await;
    let timeout = Duration::from_millis(1_200);
    let began = Instant::now();
    let response = app
        .send(request_with_identifier(25).key(&key).time_left(timeout))
        .await;
    assert_unavailable(&response);
    assert!(
        began.elapsed() < timeout + Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(response.json()["requestIdentifier"], REQUEST_IDENTIFIER);
    proxy.set(Plan::none());
    let response = app.send(request_with_identifier(25).key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["replayed"], true, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, (0..25).collect::<Vec<_>>());
}

//! When DynamoDB stays unavailable, the response is a 503 before the deadline (docs/api.md, When
//! DynamoDB is unavailable).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::function_process::FunctionProcess;
use testkit::{RequestBuilder, TestApp, build_functions, emulator_options, table_name};

use super::FAILURES;
use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy, assert_faulted};
use crate::support::requests::{
    assert_unavailable, customer, request_with_identifier, request_without_identifier, signals,
    stored_numbers,
};

/// How long a request of these tests may take: long enough for its steps on a busy machine.
const TIME_OF_A_REQUEST: Duration = Duration::from_secs(2);

/// Faults of every call.
fn lasting() -> impl Iterator<Item = Fault> {
    FAILURES.into_iter().chain([
        Fault::Hanging,
        Fault::ExpiredToken,
        Fault::UnrecognizedClient,
    ])
}

#[tokio::test]
async fn lasting_fault_is_a_503_before_the_deadline() {
    let timeout = Duration::from_millis(600);
    join_all(lasting().map(async |fault| {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(Plan::none()).await;
        for call in [customer(), request_without_identifier(1)] {
            assert_eq!(app.send(call.key(&key)).await.status, 200);
        }
        proxy.set(fault.always());
        for call in [
            customer(),
            request_with_identifier(30),
            request_without_identifier(30),
        ] {
            let began = Instant::now();
            let response = app.send(call.key(&key).time_left(timeout)).await;
            assert_unavailable(&response);
            // An invocation reserves a second for its response.
            assert!(
                began.elapsed() < timeout + Duration::from_secs(1),
                "{fault:?}: {:?}",
                began.elapsed()
            );
            // After these faults DynamoDB has done the call, so the record may exist.
            if !matches!(
                fault,
                Fault::ResetAfter | Fault::CutBody | Fault::EmptyBody | Fault::HtmlBody
            ) {
                assert!(
                    response.json().get("requestIdentifier").is_none(),
                    "{fault:?}: no record was written"
                );
            }
        }
    }))
    .await;
}

#[tokio::test]
async fn process_with_expired_credentials_ends_after_its_503() {
    let (app, key) = TestApp::with_key("shop").await;
    let proxy = FaultProxy::start(&app.emulator.endpoint(), Plan::none())
        .await
        .unwrap();
    let program = build_functions().unwrap().join("customers");
    let mut process = FunctionProcess::start(&emulator_options(&program, &proxy.endpoint()))
        .await
        .unwrap();
    let status = async |process: &FunctionProcess| {
        process
            .invoke(customer().key(&key).event())
            .await
            .unwrap()
            .json()["statusCode"]
            .clone()
    };
    assert_eq!(status(&process).await, 200);
    proxy.set(Fault::ExpiredToken.always());
    assert_eq!(status(&process).await, 503);
    process.ended().await.unwrap();
    assert_eq!(process.invocation_errors(), 0);
}

#[tokio::test]
async fn failing_table_of_rejected_signals_fails_no_request() {
    let fault = Fault::InternalServerError
        .always()
        .where_body_has(table_name("RejectedSignalsTable"));
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault).await;
    let signals = json!([{"customerId": "c", "eventType": "e"}, 17]);
    let call = RequestBuilder::signals(json!({"signals": signals}));
    let call = call.key(&key).time_left(TIME_OF_A_REQUEST);
    let response = app.send(call).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 1, "{}", response.text);
    assert_faulted(&proxy);
}

#[tokio::test]
async fn failing_request_makes_a_bounded_number_of_calls() {
    const REQUESTS: u64 = 10;
    // Half of the bounds of the waits, 25, 50, 100, 200, 200 and 200 ms, add up to 388 ms: on
    // average, a request of 400 ms makes 7 calls. The waits are random, so twice as many may pass.
    const MAX_CALLS: u64 = 14;
    let faults = [Fault::InternalServerError, Fault::EmptyBody];
    join_all(faults.map(async |fault| {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault.always()).await;
        for _ in 0..REQUESTS {
            let update = customer().key(&key).time_left(Duration::from_millis(400));
            assert_unavailable(&app.send(update).await);
        }
        let calls = proxy.counts().calls();
        assert!(
            (REQUESTS * 2..=REQUESTS * MAX_CALLS).contains(&calls),
            "{fault:?}: {calls} calls"
        );
        proxy.set(Plan::none());
        let response = app.send(customer().key(&key)).await;
        assert_eq!(response.status, 200, "{fault:?}: {}", response.text);
    }))
    .await;
}

#[tokio::test]
async fn burst_of_failures_of_up_to_3_s_fails_no_request() {
    let fault = Fault::InternalServerError.lasting(Duration::from_secs(3));
    let calls = [
        customer(),
        request_with_identifier(30),
        request_without_identifier(30),
    ];
    join_all(calls.map(async |call| {
        let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault.clone()).await;
        let response = app.send(call.key(&key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert!(
            proxy.counts().faulted > 4,
            "the call is repeated for as long as the request has time"
        );
    }))
    .await;
}

#[tokio::test]
async fn retry_with_the_identifier_of_a_503_is_stored_once() {
    // The first batch is stored, each attempt of the second one fails.
    let second = Fault::InternalServerError
        .where_body_has("\"29\"")
        .for_operation("BatchWriteItem");
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(second).await;
    let response = app
        .send(
            request_without_identifier(30)
                .key(&key)
                .time_left(TIME_OF_A_REQUEST),
        )
        .await;
    assert_unavailable(&response);
    assert_eq!(stored_numbers(&app).await.len(), 25);
    let identifier = &response.json()["requestIdentifier"];
    let retry = json!({"requestIdentifier": identifier, "signals": signals(30)});
    let failed_retry = app
        .send(
            RequestBuilder::signals(&retry)
                .key(&key)
                .time_left(TIME_OF_A_REQUEST),
        )
        .await;
    assert_unavailable(&failed_retry);
    assert_eq!(
        &failed_retry.json()["requestIdentifier"],
        identifier,
        "a retry that fails may be repeated, too"
    );
    proxy.set(Plan::none());
    let response = app.send(RequestBuilder::signals(&retry).key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["replayed"], true, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, (0..30).collect::<Vec<_>>());
}

#[tokio::test]
async fn refused_connection_is_a_503_on_both_endpoints() {
    let mut app = TestApp::start();
    let key = app.key("shop").await;
    // Each function reads the key from the table once, and caches it.
    for call in [RequestBuilder::ping(), request_without_identifier(1)] {
        assert_eq!(app.send(call.key(&key)).await.status, 200);
    }
    app.emulator.stop();
    let calls = [
        customer(),
        request_without_identifier(1),
        request_with_identifier(1),
    ];
    join_all(calls.map(async |call| {
        let response = app.send(call.key(&key).time_left(TIME_OF_A_REQUEST)).await;
        assert_unavailable(&response);
        assert!(response.json().get("requestIdentifier").is_none());
    }))
    .await;
}

#[tokio::test]
async fn update_has_its_whole_time_after_one_that_hung() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::Hanging.always()).await;
    let short = customer().key(&key).time_left(Duration::from_millis(300));
    assert_eq!(app.send(short).await.status, 503);
    proxy.set(Fault::Slow(Duration::from_millis(1_500)).always());
    assert_eq!(app.send(customer().key(&key)).await.status, 200);
}

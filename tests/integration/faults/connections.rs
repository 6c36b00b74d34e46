//! Connections that are dropped while Lambda has frozen a process, without a packet to the process;
//! those that a failed call leaves; and an address where nothing listens.

use std::time::Duration;

use futures_util::future::join_all;
use model::timestamp::Timestamp;
use serde_json::json;
use testkit::fault_proxy::{Fault, Plan};
use testkit::{RequestBuilder, TestApp};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy, assert_faulted};
use crate::support::overflow_stack::OverflowStack;
use crate::support::requests::{
    assert_unavailable, customer, request_with_identifier, request_without_identifier, signals,
    stored_numbers,
};

#[tokio::test]
async fn dropped_connections_fail_no_request() {
    join_all(
        [(customer(), 0), (request_without_identifier(400), 400)].map(async |(call, again)| {
            let AppBehindProxy { app, proxy, key } = app_behind_proxy(Plan::none()).await;
            // Sixteen calls run concurrently, each on a connection of its own.
            assert_eq!(
                app.send(request_without_identifier(400).key(&key))
                    .await
                    .status,
                200
            );
            // On a starved machine, those calls may have been given up with their connections.
            assert_eq!(app.send(customer().key(&key)).await.status, 200);
            proxy.forget_connections();
            let response = app.send(call.key(&key)).await;
            assert_eq!(response.status, 200, "{}", response.text);
            // A call on a dropped connection counts as faulted.
            assert_faulted(&proxy);
            assert_eq!(stored_numbers(&app).await.len(), 400 + again);
            let before = proxy.counts().calls();
            assert_eq!(app.send(RequestBuilder::ping().key(&key)).await.status, 200);
            assert_eq!(app.send(customer().key(&key)).await.status, 200);
            assert_eq!(
                proxy.counts().calls() - before,
                1,
                "the pool has no dropped connection left"
            );
        }),
    )
    .await;
}

#[tokio::test]
async fn dropped_connections_defer_at_most_one_request() {
    let stack = OverflowStack::start(Plan::none()).await;
    let is_deferred = async || {
        let batch = json!({"signals": signals(400)});
        let response = stack.send(&batch, Timestamp::now()).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json().get("deferred").is_some()
    };
    // The first request opens the connections. On a starved machine even it may be deferred.
    is_deferred().await;
    stack.proxy.forget_connections();
    // The 1.25 seconds before the queue leave time for a second call on a new connection.
    let mut deferred = 0;
    for _ in 0..3 {
        if is_deferred().await {
            deferred += 1;
        }
    }
    assert!(deferred <= 1, "{deferred} requests are deferred");
    assert_faulted(&stack.proxy);
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

/// How long a request may take: long enough for its steps on a busy machine.
const TIME_OF_A_REQUEST: Duration = Duration::from_secs(2);

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

//! Lambda freezes a process between requests. Its connections may be dropped meanwhile, without a
//! packet to the process.

use futures_util::future::join_all;
use model::timestamp::Timestamp;
use serde_json::json;
use testkit::RequestBuilder;
use testkit::fault_proxy::Plan;

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy, assert_faulted};
use crate::support::overflow_stack::OverflowStack;
use crate::support::requests::{customer, request_without_identifier, signals, stored_numbers};

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

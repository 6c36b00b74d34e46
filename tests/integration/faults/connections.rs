//! Connections that are dropped while Lambda has frozen a process, without a packet to the process;
//! those that a failed call leaves; and a large upload.

use std::time::Duration;

use aws::deadline::Deadline;
use futures_util::future::join_all;
use harness::fake_s3::bucket_at;
use harness::fault_proxy::{Fault, Plan};
use harness::{AppBehindProxy, RequestBuilder};

use crate::support::faulted::assert_faulted;
use crate::support::items::stored_numbers;
use crate::support::requests::{customer, request_without_identifier};
use crate::support::slow_server::SlowServer;

#[tokio::test]
async fn dropped_connections_fail_no_request() {
    join_all(
        [(customer(), 0), (request_without_identifier(100), 100)].map(async |(call, again)| {
            let AppBehindProxy { app, proxy, key } = AppBehindProxy::start(Plan::none()).await;
            // Four calls run concurrently, each on a connection of its own.
            assert_eq!(
                app.send(request_without_identifier(100).key(&key))
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
            assert_eq!(stored_numbers(&app).await.len(), 100 + again);
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
async fn connection_is_not_used_again_after_a_timeout_an_error_or_an_unreadable_response() {
    for fault in [
        Fault::Hanging,
        Fault::InternalServerError,
        Fault::Status(503),
        Fault::ResetBefore,
        Fault::CutBody,
        Fault::ResponseReplaced(""),
        Fault::ResponseReplaced("<html></html>"),
    ] {
        let AppBehindProxy { app, proxy, key } = AppBehindProxy::start(fault.on_call(1)).await;
        for _ in 0..3 {
            assert_eq!(app.send(customer().key(&key)).await.status, 200);
        }
        let counts = proxy.counts();
        assert_eq!(counts.faulted, 1, "{fault:?}");
        assert_eq!(counts.after_a_fault, 0, "{fault:?}");
    }
}

/// S3 counts as unresponsive after 400 ms, and an upload of 8 MB may take another 800.
#[tokio::test]
async fn connection_outlives_a_large_upload_and_not_a_small_one_that_takes_as_long() {
    let server = SlowServer::start(Duration::from_millis(600), "").await;
    let bucket = bucket_at(&server.endpoint(), "failures");
    let upload = async |bytes: usize| {
        let body = vec![0; bytes];
        let deadline = Deadline::after(Duration::from_secs(20));
        let put = bucket.put("key", body, "application/json", deadline);
        put.await.unwrap();
        server.connections()
    };
    assert_eq!(upload(8_000_000).await, 1);
    assert_eq!(upload(1).await, 1);
    assert_eq!(upload(1).await, 2);
}

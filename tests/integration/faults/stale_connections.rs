//! Lambda freezes a process between requests. Its connections may be dropped meanwhile, without a packet to the process.

use emulator::sqs::FakeSqs;
use testkit::fault_proxy::{FaultProxy, Plan};
use testkit::{RequestBuilder, TestApp};

use super::{app_behind_proxy, customer, stored_numbers, without_identifier};

#[tokio::test]
async fn dropped_connections_fail_no_request() {
    for (call, again) in [(customer(), 0), (without_identifier(400), 400)] {
        let (app, proxy, key) = app_behind_proxy(Plan::none()).await;
        // Sixteen calls run concurrently, each on a connection of its own.
        assert_eq!(app.send(without_identifier(400).key(&key)).await.status, 200);
        proxy.forget_connections();
        let response = app.send(call.key(&key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert_eq!(stored_numbers(&app).await.len(), 400 + again);
        let before = proxy.counts().calls();
        assert_eq!(app.send(RequestBuilder::ping().key(&key)).await.status, 200);
        assert_eq!(app.send(customer().key(&key)).await.status, 200);
        assert_eq!(proxy.counts().calls() - before, 1, "the pool has no dropped connection left");
    }
}

#[tokio::test]
async fn dropped_connections_defer_at_most_one_request() {
    let (emulator, sqs) = (TestApp::emulator(), FakeSqs::start().await.unwrap());
    let direct = emulator.endpoint();
    let proxy = FaultProxy::start(&direct, Plan::none()).await.unwrap();
    let app = TestApp::with_queue(emulator, &direct, &proxy.endpoint(), None, Some(&sqs));
    let key = app.key("shop").await;
    let is_deferred = async || {
        let response = app.send(without_identifier(400).key(&key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.json().get("deferred").is_some()
    };
    assert!(!is_deferred().await);
    proxy.forget_connections();
    // The two seconds before the queue end sooner than an attempt does.
    let deferred = [is_deferred().await, is_deferred().await, is_deferred().await];
    assert!(deferred.into_iter().filter(|deferred| *deferred).count() <= 1, "{deferred:?}");
}

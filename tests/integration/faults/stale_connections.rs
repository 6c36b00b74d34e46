//! Lambda freezes a process between requests. Its connections may be dropped meanwhile, without a packet to the process.

use testkit::RequestBuilder;
use testkit::fault_proxy::Plan;

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

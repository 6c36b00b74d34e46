//! Throttling of all tables, one table or one partition, by exceptions and by unprocessed items
//! (docs/outages.md, How long a request waits).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy};
use crate::support::requests::{
    REQUEST_IDENTIFIER, assert_unavailable, customer, request_with_identifier,
    request_without_identifier, stored_numbers,
};

/// The customer whose partition is hot. The proxy finds its calls by this text.
const HOT: &str = "hot-customer";

/// How long DynamoDB throttles.
const WINDOW: Duration = Duration::from_secs(3);

/// Signals of which every fifth belongs to the hot customer.
fn mixed(n: usize) -> RequestBuilder {
    let customer = |n: usize| {
        if n.is_multiple_of(5) {
            HOT.to_owned()
        } else {
            format!("c{n}")
        }
    };
    let signals: Value = (0..n)
        .map(|n| json!({"customerId": customer(n), "eventType": "view"}))
        .collect();
    RequestBuilder::signals(json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": signals}))
}

/// Fails unless the request gets a 200 and all of it is stored, although DynamoDB throttles.
async fn assert_stored(call: RequestBuilder, signals: usize, throttling: Fault) {
    let plan = throttling.lasting(WINDOW);
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(plan).await;
    let response = app.send(call.key(&key)).await;
    assert_eq!(response.status, 200, "{throttling:?}: {response:?}");
    assert!(proxy.counts().faulted > 0, "no call was throttled");
    let stored = app.items("SignalsTable").await.len();
    assert_eq!(stored, signals, "{throttling:?}");
    let customers = usize::from(signals == 0);
    assert_eq!(app.items("CustomersTable").await.len(), customers);
}

/// How long a request without a queue waits. The simulator throttles single tables and partitions.
#[tokio::test]
async fn throttling_of_up_to_3_s_fails_no_request() {
    tokio::join!(
        assert_stored(request_with_identifier(10), 10, Fault::Throttled),
        assert_stored(customer(), 0, Fault::TableThrottled),
        assert_stored(
            request_without_identifier(60),
            60,
            Fault::Unprocessed { done: 0 }
        ),
    );
}

#[tokio::test]
async fn lasting_throttling_is_a_503_after_a_bounded_number_of_calls() {
    let faults = [Fault::Throttled, Fault::Unprocessed { done: 0 }];
    join_all(faults.map(async |fault| {
        let AppBehindProxy { app, proxy, key } =
            app_behind_proxy(fault.always().for_operation("BatchWriteItem")).await;
        let began = Instant::now();
        assert_unavailable(&app.send(request_with_identifier(500).key(&key)).await);
        let took = began.elapsed();
        // Without a queue, the write timeout is 5 seconds. The last wait may begin up to 0.2 s before its end.
        let expected = Duration::from_millis(4_500)..Duration::from_secs(10);
        assert!(expected.contains(&took), "{fault:?}: {took:?}");
        let calls = proxy.counts().calls_of("BatchWriteItem");
        assert!((10..=400).contains(&calls), "{fault:?}: {calls} calls");
        proxy.set(
            fault
                .lasting(Duration::from_millis(300))
                .for_operation("BatchWriteItem"),
        );
        let response = app.send(request_without_identifier(10).key(&key)).await;
        assert_eq!(response.status, 200, "it has its 5 seconds again");
        assert_eq!(stored_numbers(&app).await, (0..10).collect::<Vec<_>>());
    }))
    .await;
}

#[tokio::test]
async fn hot_partition_delays_no_other_customer() {
    let AppBehindProxy { app, proxy, key } =
        app_behind_proxy(Fault::UnprocessedWhere(HOT).where_body_has(HOT)).await;
    let response = app
        .send(mixed(100).key(&key).time_left(Duration::from_millis(1_500)))
        .await;
    assert_unavailable(&response);
    assert_eq!(app.items("SignalsTable").await.len(), 80);
    proxy.set(Plan::none());
    let response = app.send(mixed(100).key(&key)).await;
    assert_eq!(response.json()["replayed"], true);
    assert_eq!(app.items("SignalsTable").await.len(), 100);
}

//! Throttling of all tables, one table or one partition, by exceptions and by unprocessed items
//! (docs/api.md, When DynamoDB is unavailable).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use testkit::fault_proxy::{Capacity, Fault, Limits, Plan};
use testkit::{RequestBuilder, Tables};

use super::{
    app_behind_proxy, assert_unavailable, customer, stored_numbers, with_identifier,
    without_identifier,
};

/// The customer whose partition is hot. The proxy finds its calls by this text.
const HOT: &str = "hot-customer";

const WINDOWS: [Duration; 3] = [
    Duration::from_millis(20),
    Duration::from_millis(300),
    Duration::from_secs(3),
];

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
    RequestBuilder::signals(json!({"requestIdentifier": super::REQUEST, "signals": signals}))
}

fn hot_customer() -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": HOT, "customerData": {"city": "Ulm"}}))
}

/// Asserts that a request gets 200 in spite of the faults of `plan`, and that all of it is stored.
async fn assert_stored(call: RequestBuilder, signals: usize, plan: Plan, what: &str) {
    let (app, proxy, key) = app_behind_proxy(plan).await;
    let began = Instant::now();
    let response = app.send(call.key(&key)).await;
    assert_eq!(
        response.status,
        200,
        "{what}, after {:?}: {}",
        began.elapsed(),
        response.text
    );
    assert!(proxy.counts().faulted > 0, "{what}: no call was throttled");
    assert_eq!(app.items("SignalsTable").await.len(), signals, "{what}");
    assert_eq!(
        app.items("CustomersTable").await.len(),
        usize::from(signals == 0),
        "{what}"
    );
}

#[tokio::test]
async fn throttling_of_up_to_3_s_fails_no_request() {
    let mut cases = Vec::new();
    for window in WINDOWS {
        for (how, fault) in [
            ("exception", Fault::Throttled),
            ("table exception", Fault::TableThrottled),
        ] {
            let everything = || Plan::from(fault.lasting(window));
            cases.push((
                with_identifier(10),
                10,
                everything(),
                format!("everything by {how} for {window:?}, 10"),
            ));
            cases.push((
                customer(),
                0,
                everything(),
                format!("everything by {how} for {window:?}, customer"),
            ));
            let partition = || Plan::from(fault.lasting(window).about(HOT));
            cases.push((
                mixed(10),
                10,
                partition(),
                format!("partition by {how} for {window:?}, 10"),
            ));
            cases.push((
                hot_customer(),
                0,
                partition(),
                format!("partition by {how} for {window:?}, customer"),
            ));
        }
        let idempotency = Fault::Throttled
            .lasting(window)
            .about(Tables::name("IdempotencyTable"));
        cases.push((
            with_identifier(10),
            10,
            idempotency.into(),
            format!("idempotency table for {window:?}, 10"),
        ));
        let signals = Fault::Throttled
            .lasting(window)
            .about(Tables::name("SignalsTable"));
        cases.push((
            with_identifier(500),
            500,
            signals.into(),
            format!("signals table for {window:?}, 500"),
        ));
        let unprocessed = Fault::Unprocessed { done: 0 }.lasting(window);
        cases.push((
            without_identifier(500),
            500,
            unprocessed.into(),
            format!("unprocessed for {window:?}, 500"),
        ));
        let hot = Fault::UnprocessedWhere(HOT).lasting(window).about(HOT);
        cases.push((
            mixed(500),
            500,
            hot.into(),
            format!("partition unprocessed for {window:?}, 500"),
        ));
    }
    let run = |(call, signals, plan, what): (RequestBuilder, usize, Plan, String)| async move {
        assert_stored(call, signals, plan, &what).await;
    };
    stream::iter(cases.into_iter().map(run))
        .buffer_unordered(12)
        .collect::<Vec<()>>()
        .await;
}

#[tokio::test]
async fn lasting_throttling_is_a_503_after_a_bounded_number_of_calls() {
    let faults = [Fault::Throttled, Fault::Unprocessed { done: 0 }];
    join_all(faults.map(async |fault| {
        let (app, proxy, key) = app_behind_proxy(fault.always().of("BatchWriteItem")).await;
        let began = Instant::now();
        assert_unavailable(&app.send(with_identifier(500).key(&key)).await);
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{fault:?}: {:?}",
            began.elapsed()
        );
        let calls = proxy.counts().of("BatchWriteItem");
        assert!((10..=400).contains(&calls), "{fault:?}: {calls} calls");
        proxy.set(
            fault
                .lasting(Duration::from_millis(300))
                .of("BatchWriteItem"),
        );
        assert_eq!(
            app.send(without_identifier(10).key(&key)).await.status,
            200,
            "it has its 5 seconds again"
        );
        assert_eq!(stored_numbers(&app).await, (0..10).collect::<Vec<_>>());
    }))
    .await;
}

#[tokio::test]
async fn hot_partition_delays_no_other_customer() {
    let (app, proxy, key) =
        app_behind_proxy(Fault::UnprocessedWhere(HOT).where_body_has(HOT)).await;
    let response = app
        .send(mixed(100).key(&key).within(Duration::from_millis(1_500)))
        .await;
    assert_unavailable(&response);
    assert_eq!(app.items("SignalsTable").await.len(), 80);
    proxy.set(Plan::none());
    assert_eq!(
        app.send(mixed(100).key(&key)).await.json()["replayed"],
        true
    );
    assert_eq!(app.items("SignalsTable").await.len(), 100);
}

#[tokio::test]
async fn request_over_the_capacity_of_a_partition_is_stored_as_it_refills() {
    let limits = Limits {
        units_per_partition: 15.0,
        partitions: 1,
        burst: Duration::ZERO,
        ..Limits::default()
    };
    let (app, proxy, key) = app_behind_proxy(Plan::none().capacity(Capacity::new(limits))).await;
    let response = app.send(with_identifier(40).key(&key)).await;
    assert_eq!(
        (response.status, &response.json()["accepted"]),
        (200, &json!(40)),
        "{}",
        response.text
    );
    assert_eq!(stored_numbers(&app).await, (0..40).collect::<Vec<_>>());
    assert!(proxy.counts().throttled > 0);
}

#[tokio::test]
async fn throttling_uses_no_retry_budget() {
    let (app, proxy, key) =
        app_behind_proxy(Fault::Throttled.lasting(Duration::from_millis(500))).await;
    assert_eq!(
        app.send(without_identifier(500).key(&key)).await.status,
        200
    );
    assert!(proxy.counts().faulted > 4, "{:?}", proxy.counts());
    // The retry budget has 20 retries for other faults. This uses 10.
    for _ in 0..10 {
        proxy.set(Fault::InternalServerError.at(1));
        assert_eq!(app.send(customer().key(&key)).await.status, 200);
    }
}

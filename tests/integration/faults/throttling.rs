//! Throttling of all tables, one table or one partition, by exceptions and by unprocessed items
//! (docs/outages.md, How long a request waits).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use testkit::fault_proxy::{Capacity, CapacityLimits, Fault, Plan};
use testkit::{RequestBuilder, table_name};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy};
use crate::support::requests::{
    REQUEST_IDENTIFIER, assert_unavailable, customer, request_with_identifier,
    request_without_identifier, stored_numbers,
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
    RequestBuilder::signals(json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": signals}))
}

fn hot_customer() -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": HOT, "customerData": {"city": "Ulm"}}))
}

/// A request, and the faults in spite of which it is stored.
struct Case {
    name: String,
    call: RequestBuilder,
    /// How many signals the request has. One of a customer has none.
    signals: usize,
    plan: Plan,
}

/// Fails unless the request gets a 200 and all of it is stored.
async fn assert_stored(case: Case) {
    let Case {
        name,
        call,
        signals,
        plan,
    } = case;
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(plan).await;
    let began = Instant::now();
    let response = app.send(call.key(&key)).await;
    let took = began.elapsed();
    assert_eq!(response.status, 200, "{name}, after {took:?}: {response:?}");
    assert!(proxy.counts().faulted > 0, "{name}: no call was throttled");
    assert_eq!(app.items("SignalsTable").await.len(), signals, "{name}");
    let customers = usize::from(signals == 0);
    assert_eq!(app.items("CustomersTable").await.len(), customers, "{name}");
}

/// Requests that DynamoDB answers with this exception for a while.
fn cases_of_exceptions(exception: Fault, window: Duration) -> [Case; 4] {
    let of_everything = exception.lasting(window);
    let of_a_partition = exception.lasting(window).where_body_has(HOT);
    [
        Case {
            name: format!("{exception:?} for {window:?}, signals"),
            call: request_with_identifier(10),
            signals: 10,
            plan: of_everything.clone().into(),
        },
        Case {
            name: format!("{exception:?} for {window:?}, customer"),
            call: customer(),
            signals: 0,
            plan: of_everything.into(),
        },
        Case {
            name: format!("{exception:?} of a partition for {window:?}, signals"),
            call: mixed(10),
            signals: 10,
            plan: of_a_partition.clone().into(),
        },
        Case {
            name: format!("{exception:?} of a partition for {window:?}, customer"),
            call: hot_customer(),
            signals: 0,
            plan: of_a_partition.into(),
        },
    ]
}

/// Requests of which DynamoDB throttles one table for a while.
fn cases_of_tables(window: Duration) -> [Case; 2] {
    let throttled = |table| {
        Fault::Throttled
            .lasting(window)
            .where_body_has(table_name(table))
            .into()
    };
    [
        Case {
            name: format!("idempotency table for {window:?}"),
            call: request_with_identifier(10),
            signals: 10,
            plan: throttled("IdempotencyTable"),
        },
        Case {
            name: format!("signals table for {window:?}"),
            call: request_with_identifier(500),
            signals: 500,
            plan: throttled("SignalsTable"),
        },
    ]
}

/// Requests of which DynamoDB returns items as unprocessed for a while.
fn cases_of_unprocessed_items(window: Duration) -> [Case; 2] {
    let all = Fault::Unprocessed { done: 0 }.lasting(window);
    let of_a_partition = Fault::UnprocessedWhere(HOT)
        .lasting(window)
        .where_body_has(HOT);
    [
        Case {
            name: format!("unprocessed for {window:?}"),
            call: request_without_identifier(500),
            signals: 500,
            plan: all.into(),
        },
        Case {
            name: format!("unprocessed of a partition for {window:?}"),
            call: mixed(500),
            signals: 500,
            plan: of_a_partition.into(),
        },
    ]
}

#[tokio::test]
async fn throttling_of_up_to_3_s_fails_no_request() {
    let mut cases = Vec::new();
    for window in WINDOWS {
        cases.extend(cases_of_exceptions(Fault::Throttled, window));
        cases.extend(cases_of_exceptions(Fault::TableThrottled, window));
        cases.extend(cases_of_tables(window));
        cases.extend(cases_of_unprocessed_items(window));
    }
    stream::iter(cases.into_iter().map(assert_stored))
        .buffer_unordered(12)
        .collect::<Vec<()>>()
        .await;
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

#[tokio::test]
async fn request_over_the_capacity_of_a_partition_is_stored_as_it_refills() {
    let limits = CapacityLimits {
        units_per_partition: 15.0,
        partitions: 1,
        burst: Duration::ZERO,
        ..CapacityLimits::default()
    };
    let AppBehindProxy { app, proxy, key } =
        app_behind_proxy(Plan::none().capacity(Capacity::new(limits))).await;
    let response = app.send(request_with_identifier(40).key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 40, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, (0..40).collect::<Vec<_>>());
    assert!(proxy.counts().throttled > 0);
}

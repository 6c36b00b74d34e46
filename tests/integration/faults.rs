//! DynamoDB fails in each of its ways: what clients get, and what is stored.

mod auth;
mod late_writes;
mod refused_by_store;
mod stale_connections;
mod throttling;
mod transient;
mod unavailable;

use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{Item, RequestBuilder, TestApp, TestResponse};

const REQUEST: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// Failures of a call that DynamoDB may recover from at once, or never.
const FAILURES: [Fault; 9] = [
    Fault::Throttled,
    Fault::TableThrottled,
    Fault::InternalServerError,
    Fault::ServiceUnavailable,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::CutBody,
    Fault::EmptyBody,
    Fault::HtmlBody,
];

/// An app, the fault proxy between it and its tables, and a key of the account `shop`.
pub(crate) struct AppBehindProxy {
    pub(crate) app: TestApp,
    pub(crate) proxy: FaultProxy,
    pub(crate) key: String,
}

/// An app with a fault proxy before every table but that of the keys.
pub(crate) async fn app_behind_proxy(plan: impl Into<Plan>) -> AppBehindProxy {
    let emulator = TestApp::emulator();
    let keys = emulator.endpoint();
    let proxy = FaultProxy::start(&keys, plan).await.unwrap();
    let app = TestApp::with_dynamodb(emulator, &keys, &proxy.endpoint(), None);
    let key = app.key("shop").await;
    AppBehindProxy { app, proxy, key }
}

fn signals(n: usize) -> Value {
    (0..n)
        .map(|n| json!({"customerId": "c", "eventType": "view", "data": {"n": n}}))
        .collect()
}

fn with_identifier(n: usize) -> RequestBuilder {
    RequestBuilder::signals(json!({"requestIdentifier": REQUEST, "signals": signals(n)}))
}

fn without_identifier(n: usize) -> RequestBuilder {
    RequestBuilder::signals(json!({"signals": signals(n)}))
}

fn customer() -> RequestBuilder {
    RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "Ulm"}}))
}

/// The numbers of the stored signals, in their order.
async fn stored_numbers(app: &TestApp) -> Vec<usize> {
    let number = |item: &Item| {
        let data = item["data"].as_m().unwrap();
        data["n"].as_n().unwrap().parse().unwrap()
    };
    app.history("shop", "c").await.iter().map(number).collect()
}

#[track_caller]
fn assert_unavailable(response: &TestResponse) {
    response.assert_problem(503, "storage-unavailable");
    assert_eq!(response.header("retry-after"), "2");
}

//! An app with an overflow queue.

use std::time::Duration;

use emulator::sqs::FakeSqs;
use model::timestamp::Timestamp;
use serde_json::Value;
use testkit::fault_proxy::{FaultProxy, Plan};
use testkit::{Endpoints, RequestBuilder, TestApp, TestResponse};

const RETENTION: Duration = Duration::from_hours(7 * 24);

/// An app with an overflow queue, and a fault proxy before every table but that of the keys.
pub(crate) struct OverflowStack {
    pub(crate) app: TestApp,
    pub(crate) proxy: FaultProxy,
    pub(crate) sqs: FakeSqs,
    pub(crate) key: String,
}

impl OverflowStack {
    pub(crate) async fn start(plan: impl Into<Plan>) -> Self {
        let emulator = TestApp::emulator();
        let sqs = FakeSqs::start().await.unwrap();
        let keys = emulator.endpoint();
        let proxy = FaultProxy::start(&keys, plan).await.unwrap();
        let endpoints = Endpoints {
            keys: &keys,
            others: &proxy.endpoint(),
            sqs: Some(&sqs),
            s3: None,
        };
        let app = TestApp::with_endpoints(emulator, &endpoints, Some(RETENTION));
        let key = app.key("shop").await;
        Self {
            app,
            proxy,
            sqs,
            key,
        }
    }

    /// Sends a batch of signals that arrives at this time.
    pub(crate) async fn send(&self, body: &Value, at: Timestamp) -> TestResponse {
        let call = RequestBuilder::signals(body).key(&self.key).received_at(at);
        self.app.send(call).await
    }

    /// Sends a batch of which so many signals are deferred.
    pub(crate) async fn send_deferred(&self, body: &Value, at: Timestamp, count: usize) {
        let response = self.send(body, at).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["deferred"], count, "{response:?}");
    }
}

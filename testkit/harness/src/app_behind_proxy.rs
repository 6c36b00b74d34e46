//! The functions in this process, which defer what they cannot store.

use emulator::fault_proxy::{Fault, FaultProxy, Plan};
use model::timestamp::Timestamp;

use crate::request_builder::{RequestBuilder, TestResponse};
use crate::test_app::TestApp;

/// The functions, and a fault proxy before every table but that of the keys.
pub struct AppBehindProxy {
    pub app: TestApp,
    pub proxy: FaultProxy,
    /// A key of the account `shop`.
    pub key: String,
}

impl AppBehindProxy {
    /// Empty tables, behind a proxy that has this plan.
    pub async fn start(plan: impl Into<Plan>) -> Self {
        let emulator = TestApp::emulator();
        let keys = emulator.endpoint();
        let proxy = FaultProxy::start(&keys, plan).await.unwrap();
        let app = TestApp::with_dynamodb(emulator, &keys, &proxy.endpoint(), None);
        let key = app.key("shop").await;
        Self { app, proxy, key }
    }

    /// Sends a request with the key.
    pub async fn send(&self, call: RequestBuilder) -> TestResponse {
        self.app.send(call.key(&self.key)).await
    }

    /// Sends a request that succeeds, and that the function defers, because DynamoDB is unavailable
    /// meanwhile.
    pub async fn send_deferred(&self, call: RequestBuilder) {
        self.proxy.set(Fault::ResetBefore.always());
        let response = self.send(call).await;
        assert_eq!(response.status, 200, "{response:?}");
        self.proxy.set(Plan::none());
    }

    /// Drains all messages of the queue.
    pub async fn drain(&self) {
        let messages = self.app.sqs.take_messages();
        let failed = self.app.drain(&messages, Timestamp::now()).await;
        assert!(failed.is_empty(), "{failed:?}");
    }
}

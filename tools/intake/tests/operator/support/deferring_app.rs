//! An app with an overflow queue, into which its functions defer what they cannot store.

use emulator::sqs::FakeSqs;
use model::timestamp::Timestamp;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{Endpoints, RequestBuilder, TestApp};

use super::requests::send;

/// An app whose functions reach DynamoDB, but for the table of the keys, through a proxy.
pub(crate) struct DeferringApp {
    pub(crate) app: TestApp,
    pub(crate) sqs: FakeSqs,
    /// A key of the account `shop`.
    pub(crate) key: String,
    proxy: FaultProxy,
}

impl DeferringApp {
    pub(crate) async fn start() -> Self {
        let emulator = TestApp::emulator();
        let sqs = FakeSqs::start().await.unwrap();
        let keys = emulator.endpoint();
        let proxy = FaultProxy::start(&keys, Plan::none()).await.unwrap();
        let endpoints = Endpoints {
            keys: &keys,
            others: &proxy.endpoint(),
            sqs: Some(&sqs),
            s3: None,
        };
        let app = TestApp::with_endpoints(emulator, &endpoints, None);
        let key = app.key("shop").await;
        Self {
            app,
            sqs,
            key,
            proxy,
        }
    }

    /// Sends a request that succeeds.
    pub(crate) async fn send(&self, call: RequestBuilder) {
        send(&self.app, &self.key, call).await;
    }

    /// Sends a request that succeeds, and that the function defers, because DynamoDB is away.
    pub(crate) async fn send_deferred(&self, call: RequestBuilder) {
        self.proxy.set(Fault::ResetBefore.always());
        self.send(call).await;
        self.proxy.set(Plan::none());
    }

    /// Drains all messages of the queue.
    pub(crate) async fn drain(&self) {
        let messages = self.sqs.take_messages();
        let failed = self.app.drain(&messages, Timestamp::now()).await;
        assert!(failed.is_empty(), "{failed:?}");
    }
}

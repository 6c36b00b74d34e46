//! An app whose calls to DynamoDB pass a fault proxy.

use harness::TestApp;
use harness::fault_proxy::{FaultProxy, Plan};

/// An app, the fault proxy between it and its tables, and a key of the account `shop`.
pub(crate) struct AppBehindProxy {
    pub(crate) app: TestApp,
    pub(crate) proxy: FaultProxy,
    pub(crate) key: String,
}

/// Fails unless the proxy has faulted a call.
#[track_caller]
pub(crate) fn assert_faulted(proxy: &FaultProxy) {
    let counts = proxy.counts();
    assert!(counts.faulted > 0, "no call was faulted: {counts:?}");
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

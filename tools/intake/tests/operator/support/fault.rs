//! Calls to DynamoDB that get a fault.

use std::time::Duration;

use testkit::fault_proxy::FaultProxy;

/// How often the proxy is asked.
const INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a call has got the fault of the proxy's plan.
pub(crate) async fn wait_for_fault(proxy: &FaultProxy) {
    while proxy.counts().faulted == 0 {
        tokio::time::sleep(INTERVAL).await;
    }
}

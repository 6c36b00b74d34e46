//! A check that the fault of a test has happened.

use harness::fault_proxy::FaultProxy;

/// Fails unless the proxy has faulted a call.
#[track_caller]
pub(crate) fn assert_faulted(proxy: &FaultProxy) {
    let counts = proxy.counts();
    assert!(counts.faulted > 0, "no call was faulted: {counts:?}");
}

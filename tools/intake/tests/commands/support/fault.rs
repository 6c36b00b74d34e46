//! Calls of an operator's commands to DynamoDB that get a fault.

use std::time::Duration;

use harness::TestApp;
use harness::fault_proxy::{Fault, FaultProxy, Plan};

use super::TIMEOUT;
use super::operator::Operator;

/// How often the proxy is asked.
const INTERVAL: Duration = Duration::from_millis(5);

/// An operator, and the fault proxy that the operator's calls to DynamoDB pass.
pub(crate) struct OperatorBehindProxy {
    pub(crate) operator: Operator,
    pub(crate) proxy: FaultProxy,
}

pub(crate) async fn operator_behind_proxy(
    app: &TestApp,
    plan: impl Into<Plan>,
) -> OperatorBehindProxy {
    let proxy = FaultProxy::start(&app.emulator.endpoint(), plan)
        .await
        .unwrap();
    let operator = Operator::new(app).variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
    OperatorBehindProxy { operator, proxy }
}

/// An operator whose writes with the text `an-invalid-value` DynamoDB refuses.
pub(crate) async fn operator_with_refused_value(app: &TestApp) -> OperatorBehindProxy {
    let refused = Fault::Refused("ValidationException").where_body_has("an-invalid-value");
    operator_behind_proxy(app, refused).await
}

/// Waits until a call has got the fault of the proxy's plan.
pub(crate) async fn wait_for_fault(proxy: &FaultProxy) {
    wait_for_faults(proxy, 1).await;
}

/// Waits until this many calls have got the fault of the proxy's plan.
pub(crate) async fn wait_for_faults(proxy: &FaultProxy, calls: u64) {
    let faulted = async {
        while proxy.counts().faulted < calls {
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::time::timeout(TIMEOUT, faulted)
        .await
        .expect("the calls get the fault in time");
}

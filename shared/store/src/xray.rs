//! X-Ray's subsegments, one for each attempt of a call to DynamoDB in a traced invocation ("AWS X-Ray segment documents" in the
//! X-Ray developer guide). They go to Lambda's X-Ray daemon in a datagram each, which nothing waits for.
//!
//! A subsegment contains the operation and the table, and how the call ended: never a key or a value.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, SystemTime};

use aws_runtime::retries::classifiers::THROTTLING_ERRORS;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::call_stats;

/// Where the daemon listens.
const DAEMON_VARIABLE: &str = "AWS_XRAY_DAEMON_ADDRESS";

/// What the daemon expects before a document.
const DAEMON_HEADER: &str = "{\"format\":\"json\",\"version\":1}\n";

/// An attempt that was sent.
#[derive(Clone, Debug)]
struct Attempt {
    began: Duration,
    operation: String,
    table: String,
}

impl Storable for Attempt {
    type Storer = StoreReplace<Self>;
}

/// The tables of a call: of one item, or of a batch.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::zero_sized_map_values, reason = "only the names are read, and serde skips what they name")]
struct Tables {
    table_name: Option<String>,
    request_items: Option<BTreeMap<String, IgnoredAny>>,
}

/// Sends the subsegments.
#[derive(Debug)]
pub(crate) struct SubsegmentInterceptor(UdpSocket);

impl SubsegmentInterceptor {
    /// For the daemon of the environment, if it has one.
    pub(crate) fn from_environment() -> Option<Self> {
        let address = std::env::var(DAEMON_VARIABLE).ok()?;
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        socket.connect(address).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(Self(socket))
    }
}

impl Intercept for SubsegmentInterceptor {
    fn name(&self) -> &'static str {
        "SubsegmentInterceptor"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if call_stats::with_trace(|_| ()).is_none() {
            return Ok(());
        }
        let request = context.request();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let tables = request.body().bytes().and_then(|body| serde_json::from_slice::<Tables>(body).ok());
        let attempt = Attempt {
            began: now(),
            operation: target.rsplit('.').next().unwrap_or_default().to_owned(),
            table: tables
                .and_then(|tables| tables.table_name.or_else(|| tables.request_items?.into_keys().next()))
                .unwrap_or_default(),
        };
        config.interceptor_state().store_put(attempt);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(Attempt { began, operation, table }) = config.load::<Attempt>() else { return Ok(()) };
        let status = context.response().map(|response| response.status().as_u16());
        let body = context.response().and_then(|response| response.body().bytes()).unwrap_or_default();
        let is_error = status.is_some_and(|status| (400..500).contains(&status));
        let document = call_stats::with_trace(|trace| {
            json!({
                "name": "DynamoDB",
                "id": format!("{:016x}", fastrand::u64(..)),
                "trace_id": trace.id,
                "parent_id": trace.parent_id,
                "type": "subsegment",
                "namespace": "aws",
                "start_time": began.as_secs_f64(),
                "end_time": now().as_secs_f64(),
                "aws": {"operation": operation, "table_name": table},
                "error": is_error,
                "throttle": is_error && is_throttling(&String::from_utf8_lossy(body)),
                // Without a response, the connection or the time ran out.
                "fault": !is_error && status != Some(200),
            })
        });
        if let Some(document) = document {
            // A trace may lack a call.
            let _ = self.0.send(format!("{DAEMON_HEADER}{document}").as_bytes());
        }
        Ok(())
    }
}

fn is_throttling(body: &str) -> bool {
    THROTTLING_ERRORS.iter().any(|code| body.contains(code))
}

fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

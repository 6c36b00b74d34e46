//! The log lines of this function beside the line of each request.

use serde::Serialize;
use service::context::RequestContext;
use service::telemetry::log::{Dimension, Level, LogLine};
use service::telemetry::metric::Metrics;

use crate::signals_metrics::{CODE, SignalsMetric};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RejectedCodeLine<'a> {
    message: &'static str,
    request_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RejectedNotStoredLine<'a> {
    message: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
    store_error: &'a str,
}

/// Writes how often an error code occurs in the rejected signals of a request.
pub(crate) fn write_code_count(context: &RequestContext, code: &'static str, count: usize) {
    let mut metrics = Metrics::default();
    metrics.add_count(SignalsMetric::SignalsRejected.name(), count);
    context.log.write(&LogLine {
        at: context.received_at,
        level: None,
        members: RejectedCodeLine {
            message: "rejected",
            request_id: &context.request_id,
        },
        dimension: Some(Dimension {
            name: CODE,
            value: code,
        }),
        metrics,
    });
}

/// Writes a line when rejected signals of a request could not be stored, with the reason. The response does
/// not say so: the operator has to know.
pub(crate) fn write_not_stored(context: &RequestContext, reason: &str) {
    let key = context.key.as_deref();
    let mut metrics = Metrics::default();
    metrics.add_count(SignalsMetric::RejectedNotStored.name(), 1);
    context.log.write(&LogLine {
        at: context.received_at,
        level: Some(Level::Error),
        members: RejectedNotStoredLine {
            message: "rejected signals could not be stored",
            request_id: &context.request_id,
            account_id: key.map(|key| key.account_id.as_str()),
            key_id: key.map(|key| key.key_id.as_str()),
            store_error: reason,
        },
        dimension: None,
        metrics,
    });
}

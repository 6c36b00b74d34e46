//! DynamoDB fails in each of its ways: what clients get, and what is stored.

mod auth;
mod clock_skew;
mod late_writes;
mod refused_by_store;
mod stale_connections;
mod statuses;
mod throttling;
mod transient;
mod unavailable;

use testkit::fault_proxy::Fault;

/// Failures of a call that DynamoDB may recover from at once, or never.
const FAILURES: [Fault; 11] = [
    Fault::Throttled,
    Fault::TableThrottled,
    Fault::InternalServerError,
    Fault::Status(429),
    Fault::Status(503),
    Fault::SignatureExpired,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::CutBody,
    Fault::EmptyBody,
    Fault::HtmlBody,
];

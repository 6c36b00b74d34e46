//! One request: when it was received, how long it may take, and what the log says of it.
//!
//! The time of day is read once per request, before its context is made: everything that depends on
//! it uses `received_at`, so that a test can choose it. Deadlines and durations use the monotonic clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lambda_http::{Request, RequestExt};
use model::identifier::RequestIdentifier;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::error::OwnFault;

use crate::budget::RequestBudget;
use crate::telemetry::log::Log;

/// One request and its invocation.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Lambda's id of the invocation, which it calls the request's: the `x-request-id` of the
    /// response and `requestId` in the log.
    pub request_id: String,
    /// When the request was received.
    pub received_at: Timestamp,
    /// The time that its calls to DynamoDB, SQS and S3 have.
    pub budget: RequestBudget,
    /// Where the log lines go.
    pub log: Log,
    /// How long the process took to start, if this is its first request.
    pub init_duration: Option<Duration>,
    /// The path of its route, once that is found.
    pub path: Option<&'static str>,
    /// The entry of its API key, for the log, also if the key is no longer valid.
    pub key: Option<Arc<KeyEntry>>,
    /// How the key table behaved when the key was looked up.
    pub key_table: KeyTableHealth,
    /// The bytes of its body after decoding, once it is read.
    pub body_bytes: Option<usize>,
    /// The requestIdentifier that the client sent, once it is read.
    pub request_identifier: Option<RequestIdentifier>,
}

/// How the key table behaved when the key of a request was looked up.
#[derive(Clone, Debug, Default)]
pub enum KeyTableHealth {
    /// It responded, or was not asked, or another source has revoked the key.
    #[default]
    Responded,
    /// It was slow, and another source decided. The flag says whether a call has failed since, or had no
    /// response for a second.
    Slow(Arc<AtomicBool>),
    /// It could not be read, and another source decided. Says what is wrong with this service, if that
    /// is why.
    Unavailable(Option<OwnFault>),
}

impl RequestContext {
    /// The context of `request`, received at `received_at`, which is now. Its lines go to `log`.
    pub fn from_request(request: &Request, received_at: Timestamp, log: Log) -> Self {
        let lambda = request
            .lambda_context_ref()
            .expect("the runtime gives each request its invocation's context");
        Self {
            request_id: lambda.request_id.clone(),
            received_at,
            budget: RequestBudget::of_invocation(lambda, received_at),
            log,
            init_duration: None,
            path: None,
            key: None,
            key_table: KeyTableHealth::default(),
            body_bytes: None,
            request_identifier: None,
        }
    }

    /// Whether the key was checked without the key table because that could not be read, as far as
    /// is known now.
    pub(crate) fn was_key_table_unavailable(&self) -> bool {
        match &self.key_table {
            KeyTableHealth::Responded => false,
            KeyTableHealth::Slow(has_failed_since) => has_failed_since.load(Ordering::Relaxed),
            KeyTableHealth::Unavailable(_) => true,
        }
    }

    /// What is wrong with this service, if that is why the key table could not be read.
    pub(crate) fn key_table_fault(&self) -> Option<OwnFault> {
        match self.key_table {
            KeyTableHealth::Responded | KeyTableHealth::Slow(_) => None,
            KeyTableHealth::Unavailable(fault) => fault,
        }
    }
}

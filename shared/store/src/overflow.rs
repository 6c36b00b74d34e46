//! The overflow queue: accepted signals that DynamoDB did not acknowledge in time wait there, and the overflow function
//! stores them later (docs/reliability.md, Overflow).
//!
//! This module must not know when signals are deferred.

mod deferred_batch;

use std::time::Duration;

use aws_smithy_runtime::client::retries::TokenBucket;
use futures_util::future::try_join_all;
use model::deadline::Deadline;
use serde::Serialize;
use serde::de::IgnoredAny;
use tokio::sync::OnceCell;

pub use self::deferred_batch::{DeferredBatch, DeferredSignal, UnreadableMessage};
use crate::client::{Client, Limits, Service};
use crate::deadline::before;
use crate::environment::{self, retries};
use crate::error::{Cause, StoreError};

/// SQS.
pub const SQS: Service = Service {
    name: "sqs",
    target: "AmazonSQS",
    content_type: "application/x-amz-json-1.0",
    endpoint_variable: "AWS_ENDPOINT_URL_SQS",
    interceptors: Vec::new,
};

/// How long one attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_200);

/// Attempts per call, including the first.
const MAX_ATTEMPTS: u32 = 3;

/// A queue of SQS.
#[derive(Debug)]
pub struct OverflowQueue {
    url: String,
    /// Built at the first use: most processes never defer a signal.
    client: OnceCell<Client>,
}

/// A request ("`SendMessage`" in the SQS API reference).
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage<'a> {
    queue_url: &'a str,
    message_body: String,
}

impl OverflowQueue {
    /// The queue with this URL, at the endpoint of `AWS_ENDPOINT_URL_SQS` or `AWS_ENDPOINT_URL` if one is set.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), client: OnceCell::new() }
    }

    /// The queue with this URL, reached by `client`.
    pub fn with_client(url: impl Into<String>, client: Client) -> Self {
        Self { url: url.into(), client: OnceCell::new_with(Some(client)) }
    }

    /// Sends all messages.
    ///
    /// # Errors
    /// When SQS did not acknowledge all of them before the deadline: some may be queued, some not.
    pub async fn send(&self, messages: Vec<String>, deadline: Deadline) -> Result<(), StoreError> {
        let sent = try_join_all(messages.into_iter().map(|message| self.send_one(message)));
        before(deadline, sent).await?.map(drop)
    }

    async fn send_one(&self, message_body: String) -> Result<(), StoreError> {
        let client =
            self.client.get_or_try_init(async || environment::client(SQS, limits())).await.map_err(|error| {
                tracing::error!(%error, "the client of the overflow queue could not be built");
                Cause::Other("EnvironmentError".to_owned())
            })?;
        client.call::<IgnoredAny>("SendMessage", &SendMessage { queue_url: &self.url, message_body }).await?;
        Ok(())
    }
}

/// The timeouts and retries of a client of SQS.
pub fn limits() -> Limits {
    Limits { attempt_timeout: ATTEMPT_TIMEOUT, retries: retries(MAX_ATTEMPTS), budget: TokenBucket::default() }
}

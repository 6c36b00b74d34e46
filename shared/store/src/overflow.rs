//! The overflow queue: accepted signals that DynamoDB did not acknowledge in time wait there, and the overflow function
//! stores them later (docs/reliability.md, Overflow).
//!
//! This module must not know when signals are deferred.

mod deferred_batch;

use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::StalledStreamProtectionConfig;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures_util::future::try_join_all;
use model::deadline::Deadline;
use tokio::sync::OnceCell;

pub use self::deferred_batch::{DeferredBatch, DeferredSignal, UnreadableMessage};
use crate::client::{CONNECT_TIMEOUT, Environment, http_client};
use crate::deadline::before;
use crate::error::{Cause, StoreError};
use crate::throttling::{BACKOFF_BASE, BACKOFF_CAP};
use crate::tls::CaBundleError;

/// How long one attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_200);

/// A queue of SQS.
#[derive(Debug)]
pub struct OverflowQueue {
    url: String,
    /// Built at the first use: most processes never defer a signal.
    client: OnceCell<Client>,
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

    /// Sends one message. It can be as large as a call: "Amazon SQS message quotas" in the SQS developer guide.
    async fn send_one(&self, body: String) -> Result<(), StoreError> {
        let client = self.client.get_or_try_init(client).await.map_err(|error| {
            tracing::error!(%error, "the client of the overflow queue could not be built");
            StoreError::Unavailable(Cause::Other("CaBundleError".to_owned()))
        })?;
        let entry = SendMessageBatchRequestEntry::builder().id("0").message_body(body).build();
        let entry = entry.map_err(|error| Cause::Other(error.to_string()))?;
        let sent = client.send_message_batch().queue_url(&self.url).entries(entry).send().await?;
        match sent.failed().first() {
            None => Ok(()),
            Some(failed) => Err(Cause::Other(failed.code().to_owned()).into()),
        }
    }
}

async fn client() -> Result<Client, CaBundleError> {
    let Environment { endpoint, region, fips, dual_stack } = Environment::of_service("AWS_ENDPOINT_URL_SQS").await;
    let retries = RetryConfig::standard().with_initial_backoff(BACKOFF_BASE).with_max_backoff(BACKOFF_CAP);
    let mut config = aws_sdk_sqs::Config::builder()
        .behavior_version_latest()
        .http_client(http_client(CONNECT_TIMEOUT)?)
        .credentials_provider(EnvironmentVariableCredentialsProvider::new())
        .region(region)
        .retry_config(retries)
        .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    config.set_endpoint_url(endpoint).set_use_fips(fips).set_use_dual_stack(dual_stack);
    Ok(Client::from_conf(config.build()))
}

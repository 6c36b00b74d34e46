//! The overflow queue: accepted signals that DynamoDB did not acknowledge in time wait there, and the overflow function
//! stores them later (docs/reliability.md, Overflow).
//!
//! This module must not know when signals are deferred.

mod deferred_batch;

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::config::retry::RetryPartition;
use futures_util::future::try_join_all;
use model::account::AccountId;
use model::deadline::Deadline;

pub use self::deferred_batch::{DeferredBatch, DeferredSignal, UnreadableMessage};
use crate::client::retries;
use crate::deadline::before;
use crate::error::StoreError;

/// How long one attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_200);

/// Attempts per call, including the first.
const MAX_ATTEMPTS: u32 = 3;

/// A queue of SQS.
#[derive(Debug)]
pub struct OverflowQueue {
    client: Client,
    url: String,
}

impl OverflowQueue {
    /// The queue with this URL.
    pub fn new(config: &SdkConfig, url: impl Into<String>) -> Self {
        let config = Builder::from(config)
            .retry_config(retries(MAX_ATTEMPTS))
            // An outage of DynamoDB must not use up its retries.
            .retry_partition(RetryPartition::custom("sqs").build())
            .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build());
        Self { client: Client::from_conf(config.build()), url: url.into() }
    }

    /// Sends all messages. Those of an account form a group: when one account has many messages or its messages take long,
    /// SQS delivers those of the others first ("Amazon SQS fair queues" in the SQS developer guide). A group's name has at most
    /// 128 letters, digits and punctuation marks, so that every account's name is one.
    ///
    /// # Errors
    /// When SQS did not acknowledge all of them before the deadline: some may be queued, some not.
    pub async fn send(
        &self,
        messages: Vec<String>,
        account: Option<&AccountId>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let sent = messages.into_iter().map(|message| {
            let call = self.client.send_message().queue_url(&self.url).message_body(message);
            let call = call.set_message_group_id(account.map(ToString::to_string));
            async { call.send().await.map_err(StoreError::from) }
        });
        before(deadline, try_join_all(sent)).await?.map(drop)
    }
}

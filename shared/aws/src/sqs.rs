//! A queue of SQS. This module must not know what is in a message, or why it is sent.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder;
use aws_sdk_sqs::types::MessageAttributeValue;
use data_encoding::HEXLOWER;
use futures_util::future::try_join_all;
use md5::{Digest as _, Md5};
use model::account::AccountId;

use crate::call_error::{CallError, SdkFailure};
use crate::deadline::{Deadline, run_until};
use crate::sdk_config::retries;

/// How long one attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_200);

/// How long a call waits for a response before the connections to SQS count as lost. SQS responds within tens
/// of milliseconds.
pub(crate) const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_millis(400);

/// How long SQS may leave a message out of the counts of its queue (`ApproximateNumberOfMessages` and the
/// others of `GetQueueAttributes`). AWS says that they may not be consistent until at least a minute after
/// the last message was sent; the half minute is a margin.
pub const COUNT_DELAY: Duration = Duration::from_secs(90);

/// Attempts per call, including the first.
const MAX_ATTEMPTS: u32 = 3;

/// The attribute of a dead letter that says why it is one.
const REASON: &str = "reason";

/// A queue, with a client of its own.
#[derive(Debug)]
pub struct Queue {
    client: Client,
    url: String,
}

impl Queue {
    pub fn new(config: &SdkConfig, url: impl Into<String>) -> Self {
        let config = Builder::from(config)
            .retry_config(retries(MAX_ATTEMPTS))
            .timeout_config(
                TimeoutConfig::builder()
                    .operation_attempt_timeout(ATTEMPT_TIMEOUT)
                    .build(),
            );
        Self {
            client: Client::from_conf(config.build()),
            url: url.into(),
        }
    }

    /// Sends messages of an account at the same time.
    ///
    /// The messages of an account form a group. While one account has many messages, or messages
    /// that take long, SQS delivers those of other accounts first ("Amazon SQS fair queues" in the
    /// SQS developer guide). The name of every account is a valid name of a group.
    ///
    /// # Errors
    /// When SQS did not acknowledge all of them before the deadline: some may be in the queue.
    pub async fn send_all(
        &self,
        messages: Vec<String>,
        account: &AccountId,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let sent = messages.into_iter().map(|message| {
            let call = self
                .client
                .send_message()
                .queue_url(&self.url)
                .message_group_id(account.as_str());
            send(call, message)
        });
        run_until(deadline, try_join_all(sent)).await??;
        Ok(())
    }

    /// Sends a message to a dead-letter queue with the reason, which is a code and no value of the
    /// message.
    ///
    /// # Errors
    /// When SQS did not acknowledge it before the deadline.
    pub async fn send_dead_letter(
        &self,
        message: String,
        reason: &str,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let reason = MessageAttributeValue::builder()
            .data_type("String")
            .string_value(reason)
            .build();
        let reason = reason.expect("an attribute with a data type is complete");
        let call = self
            .client
            .send_message()
            .queue_url(&self.url)
            .message_attributes(REASON, reason);
        run_until(deadline, send(call, message)).await?
    }
}

/// Sends a message. An acknowledgement has a message id, and the MD5 of the body as SQS received it
/// (`SendMessage` in the SQS API reference).
async fn send(call: SendMessageFluentBuilder, message: String) -> Result<(), CallError> {
    let md5 = HEXLOWER.encode(&Md5::digest(&message));
    let output = match call.message_body(message).send().await {
        Ok(output) => output,
        Err(error) => return Err(call_error(SdkFailure::from(&error))),
    };
    if output.message_id().is_some() && output.md5_of_message_body() == Some(&md5) {
        Ok(())
    } else {
        Err(CallError::ResponseError)
    }
}

fn call_error(failure: SdkFailure<'_>) -> CallError {
    match failure {
        SdkFailure::NotSent => CallError::Other("RequestError".to_owned()),
        SdkFailure::Refused(refusal) => refusal.call_error(),
        SdkFailure::NoResponse(error) => error,
    }
}

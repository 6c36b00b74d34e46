//! The overflow queue and its dead-letter queue: how many messages they have, and calls to move them.
//! Must not know why a command asks.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::future::try_join;

use crate::stack::Stack;
use operator::error::service_error;

/// The code with which SQS refuses a call for a queue that does not exist.
const NO_SUCH_QUEUE: &str = "AWS.SimpleQueueService.NonExistentQueue";

/// The queues of a stack, by their URLs.
pub(crate) struct Queues<'a> {
    client: &'a Client,
    pub(crate) overflow: &'a str,
    dead_letters: &'a str,
}

/// How many messages a queue has, approximately.
pub(crate) struct MessageCounts {
    pub(super) waiting: u64,
    /// Received, and neither deleted nor given back yet.
    pub(super) in_flight: u64,
    pub(super) delayed: u64,
}

/// How many messages the queues of a stack have.
pub(crate) struct QueueCounts {
    pub(crate) overflow: MessageCounts,
    pub(crate) dead_letters: MessageCounts,
}

impl MessageCounts {
    pub(crate) fn total(&self) -> u64 {
        self.waiting + self.in_flight + self.delayed
    }
}

impl<'a> Queues<'a> {
    /// The queues of `stack`, if it has them.
    pub(crate) fn find(stack: &'a Stack) -> Result<Option<Self>> {
        let Some(urls) = stack.queue_urls()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            client: &stack.sqs,
            overflow: urls.overflow,
            dead_letters: urls.dead_letters,
        }))
    }

    /// Asks SQS for the counts of both queues.
    pub(crate) async fn count(&self) -> Result<QueueCounts> {
        let overflow = self.count_messages(self.overflow);
        let dead_letters = self.count_dead_letters();
        let (overflow, dead_letters) = try_join(overflow, dead_letters).await?;
        Ok(QueueCounts {
            overflow,
            dead_letters,
        })
    }

    /// Asks SQS for the counts of the dead-letter queue.
    pub(super) async fn count_dead_letters(&self) -> Result<MessageCounts> {
        self.count_messages(self.dead_letters).await
    }

    async fn count_messages(&self, url: &str) -> Result<MessageCounts> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let attributes = self.attributes(url, &names).await?;
        // An erasure depends on these counts, so a missing one is an error and not 0.
        let count = |name| -> Result<u64> {
            let count = attributes.get(&name).and_then(|count| count.parse().ok());
            count.with_context(|| format!("SQS did not send {} of {url}.", name.as_str()))
        };
        let [waiting, in_flight, delayed] = names.map(count);
        Ok(MessageCounts {
            waiting: waiting?,
            in_flight: in_flight?,
            delayed: delayed?,
        })
    }

    /// Has SQS move the messages of the dead-letter queue back to the overflow queue. It does so after
    /// this call.
    pub(super) async fn move_dead_letters_back(&self) -> Result<()> {
        let source = self.arn(self.dead_letters).await?;
        // The overflow function sends some messages to the dead-letter queue itself. SQS does not know
        // where these came from, so the call names the destination.
        let destination = self.arn(self.overflow).await?;
        let call = self
            .client
            .start_message_move_task()
            .source_arn(source)
            .destination_arn(destination);
        call.send().await.map_err(|error| explain(&error))?;
        Ok(())
    }

    async fn arn(&self, url: &str) -> Result<String> {
        let name = QueueAttributeName::QueueArn;
        let mut attributes = self.attributes(url, std::slice::from_ref(&name)).await?;
        let arn = attributes.remove(&name);
        arn.with_context(|| format!("SQS did not send the ARN of {url}."))
    }

    async fn attributes(
        &self,
        url: &str,
        names: &[QueueAttributeName],
    ) -> Result<HashMap<QueueAttributeName, String>> {
        let call = self
            .client
            .get_queue_attributes()
            .queue_url(url)
            .set_attribute_names(Some(names.to_vec()));
        let response = call.send().await.map_err(|error| explain(&error))?;
        Ok(response.attributes.unwrap_or_default())
    }
}

fn explain<E>(error: &SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let told = service_error("SQS", error);
    if error.code() == Some(NO_SUCH_QUEUE) {
        return anyhow!("{told} Check --stack, the queue variables and AWS_REGION.");
    }
    told
}

//! The overflow queue and its dead-letter queue: how many messages they have.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::future::try_join;

use crate::stack::Stack;

/// The queues of a stack, by their URLs.
pub(crate) struct Queues<'a> {
    pub(super) client: &'a Client,
    pub(crate) overflow: &'a str,
    pub(super) dead_letters: &'a str,
}

/// How many messages a queue has, approximately.
pub(crate) struct Counts {
    pub(super) waiting: u64,
    /// Received, and neither deleted nor given back yet.
    pub(super) in_flight: u64,
    pub(super) delayed: u64,
}

impl Counts {
    pub(crate) fn total(&self) -> u64 {
        self.waiting + self.in_flight + self.delayed
    }
}

impl<'a> Queues<'a> {
    /// The queues of `stack`, if it has them.
    pub(crate) fn of(stack: &'a Stack) -> Result<Option<Self>> {
        let urls = stack.queue_urls()?;
        Ok(urls.map(|[overflow, dead_letters]| Self { client: &stack.sqs, overflow, dead_letters }))
    }

    /// The counts of the overflow queue and of the dead-letter queue.
    pub(crate) async fn counts(&self) -> Result<[Counts; 2]> {
        let (overflow, dead_letters) =
            try_join(self.counts_of(self.overflow), self.counts_of(self.dead_letters)).await?;
        Ok([overflow, dead_letters])
    }

    pub(super) async fn counts_of(&self, url: &str) -> Result<Counts> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let attributes = self.attributes(url, &names).await?;
        // An erasure depends on them: a count that is missing is not 0.
        let count = |name| -> Result<u64> {
            let count = attributes.get(&name).and_then(|count| count.parse().ok());
            count.with_context(|| format!("SQS did not send {} of {url}.", name.as_str()))
        };
        let [waiting, in_flight, delayed] = names.map(count);
        Ok(Counts { waiting: waiting?, in_flight: in_flight?, delayed: delayed? })
    }

    pub(super) async fn arn(&self, url: &str) -> Result<String> {
        let name = QueueAttributeName::QueueArn;
        let arn = self.attributes(url, std::slice::from_ref(&name)).await?.remove(&name);
        arn.with_context(|| format!("SQS did not send the ARN of {url}."))
    }

    async fn attributes(&self, url: &str, names: &[QueueAttributeName]) -> Result<HashMap<QueueAttributeName, String>> {
        let call = self.client.get_queue_attributes().queue_url(url).set_attribute_names(Some(names.to_vec()));
        let response = call.send().await.map_err(|error| call_error(&error))?;
        Ok(response.attributes.unwrap_or_default())
    }
}

/// Ends a command that erases while messages are queued, unless `anyway` is set: when the overflow function stores their
/// signals later, what was erased may come back.
pub(crate) async fn refuse_while_queued(stack: &Stack, anyway: bool) -> Result<()> {
    let queues = if anyway { None } else { Queues::of(stack)? };
    let Some(queues) = queues else { return Ok(()) };
    let [overflow, dead_letters] = queues.counts().await?.map(|counts| counts.total());
    ensure!(
        overflow == 0 && dead_letters == 0,
        "The overflow queue has {overflow} message(s) and its dead-letter queue {dead_letters}: their signals would be stored \
         after the erasure. Wait until `cargo intake overflow status` counts none (`cargo intake overflow redrive` moves the \
         dead letters back), or add --anyway, and erase again when the queues are empty."
    );
    Ok(())
}

/// The error of a call to SQS.
pub(super) fn call_error<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> Error {
    match error.as_service_error().map(|service| (service.code(), service.message())) {
        Some((Some(code), message)) => anyhow!(
            "SQS rejected the call: {code}: {} Check --stack, the queue variables, AWS_REGION and the credentials.",
            message.unwrap_or_default()
        ),
        Some((None, _)) => anyhow!("SQS failed. Run the command again."),
        None => anyhow!("Cannot reach SQS. Check the network, and AWS_ENDPOINT_URL_SQS if it is set."),
    }
}

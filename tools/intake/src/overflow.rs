//! `overflow`: the queue of signals and updates of customers that DynamoDB did not acknowledge in
//! time, and its dead-letter queue.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use clap::Subcommand;
use futures_util::future::try_join;
use operator::error::service_error;
use operator::read_retries::{RETRY_TIMEOUT, retry_read};
use serde_json::json;

use crate::confirm::confirm;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;
use crate::write_attempts::WriteAttempts;

#[derive(Debug, Subcommand)]
pub(crate) enum OverflowCommand {
    /// Count the messages of the overflow queue and of its dead-letter queue
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod overflow status\n\n\
        Each message holds signals of one request, or an update of a customer. The counts of SQS are approximate. A \
        message whose drain failed is in flight until it is delivered again."
    )]
    Status,

    /// Move the messages of the dead-letter queue back to the overflow queue
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod overflow redrive\n\n\
        SQS moves the messages after the command has ended; `overflow status` counts those that are left."
    )]
    Redrive {
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

impl OverflowCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let queues = Queues::find(stack)?;
        match self {
            Self::Status => status(&queues, format).await,
            Self::Redrive { yes } => redrive(&queues, yes, format).await,
        }
    }
}

async fn status(queues: &Queues<'_>, format: Format) -> Result<()> {
    let QueueCounts {
        overflow,
        dead_letters,
    } = queues.count().await?;
    let mut rows = PrintedTable::new(format, ["QUEUE", "WAITING", "IN FLIGHT", "DELAYED"]);
    for (queue, counts) in [("overflow", overflow), ("dead-letter", dead_letters)] {
        let json = json!({
            "queue": queue,
            "waiting": counts.waiting,
            "inFlight": counts.in_flight,
            "delayed": counts.delayed,
        });
        let cells = [
            queue,
            &counts.waiting.to_string(),
            &counts.in_flight.to_string(),
            &counts.delayed.to_string(),
        ];
        rows.add(&json, cells)?;
    }
    rows.print()
}

/// Has SQS move the messages of the dead-letter queue back.
async fn redrive(queues: &Queues<'_>, yes: bool, format: Format) -> Result<()> {
    let dead_letters = queues.count_dead_letters().await?;
    let count = dead_letters.total();
    if count == 0 {
        return format.print(
            "The dead-letter queue has no messages.",
            &json!({"messages": 0}),
        );
    }
    let question =
        format!("Move {count} message(s) of the dead-letter queue back to the overflow queue?");
    confirm(&question, yes)?;
    queues.move_dead_letters_back().await?;
    let text = format!(
        "SQS moves {count} message(s). `cargo intake overflow status` counts those that are left."
    );
    format.print(&text, &json!({"messages": count}))
}

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
    waiting: u64,
    /// Received, and neither deleted nor given back yet.
    in_flight: u64,
    delayed: u64,
}

/// How many messages the queues of a stack have.
pub(crate) struct QueueCounts {
    pub(crate) overflow: MessageCounts,
    pub(crate) dead_letters: MessageCounts,
}

impl QueueCounts {
    /// The messages of both queues.
    pub(crate) fn total(&self) -> u64 {
        self.overflow.total() + self.dead_letters.total()
    }
}

impl MessageCounts {
    pub(crate) fn total(&self) -> u64 {
        self.waiting + self.in_flight + self.delayed
    }
}

impl<'a> Queues<'a> {
    /// The queues of `stack`.
    ///
    /// # Errors
    /// The URL of one of them is unknown.
    pub(crate) fn find(stack: &'a Stack) -> Result<Self> {
        let urls = stack.queue_urls()?;
        Ok(Self {
            client: &stack.sqs,
            overflow: urls.overflow,
            dead_letters: urls.dead_letters,
        })
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
    async fn count_dead_letters(&self) -> Result<MessageCounts> {
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
    async fn move_dead_letters_back(&self) -> Result<()> {
        let source = self.arn(self.dead_letters).await?;
        // The overflow function sends some messages to the dead-letter queue itself. SQS does not know
        // where these came from, so the call names the destination.
        let destination = self.arn(self.overflow).await?;
        let call = self
            .client
            .start_message_move_task()
            .source_arn(source)
            .destination_arn(destination);
        let attempts = WriteAttempts::default();
        let call = call.customize().interceptor(attempts.clone());
        let Err(error) = call.send().await else {
            return Ok(());
        };
        ensure!(attempts.may_have_written(), explain(&error));
        // SQS has one such task at a time: it refuses a repeated call when it has begun with the first.
        bail!(
            "{:#} It is unknown whether SQS moves the messages: see `cargo intake overflow status`.",
            explain(&error)
        )
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
        let response = retry_read("SQS", note, RETRY_TIMEOUT, || call.clone().send()).await;
        let response = response.map_err(|error| explain(&error))?;
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

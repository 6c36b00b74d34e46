//! `overflow`: the queue in which accepted signals wait that DynamoDB did not acknowledge in time, and its dead-letter queue.

mod queues;
mod redrive;
mod status;

use anyhow::{Result, bail};
use clap::Subcommand;

pub(crate) use self::queues::{Queues, refuse_while_queued};
use crate::output::{Format, note};
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Count the messages of the overflow queue and of its dead-letter queue
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod overflow status\n\n\
        Each message holds signals of one request. The counts of SQS are approximate. Only CloudWatch has the age of the \
        oldest message, as the metric ApproximateAgeOfOldestMessage.")]
    Status,

    /// Move the messages of the dead-letter queue back to the overflow queue
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod overflow redrive\n\n\
        SQS moves the messages after the command has ended; `overflow status` counts those that are left.")]
    Redrive {
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match (self, Queues::of(stack)?) {
            (Self::Status, Some(queues)) => status::status(&queues, format).await,
            (Self::Status, None) => {
                note(&stack.without_queues());
                Ok(())
            }
            (Self::Redrive { yes }, Some(queues)) => redrive::redrive(&queues, yes, format).await,
            (Self::Redrive { .. }, None) => bail!(stack.without_queues()),
        }
    }
}

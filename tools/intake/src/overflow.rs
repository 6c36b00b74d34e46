//! `overflow`: the queue in which accepted signals wait that DynamoDB did not acknowledge in time, and its dead-letter queue.

mod queues;

use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::json;

use self::queues::call_error;
pub(crate) use self::queues::{Queues, refuse_while_queued};
use crate::confirm::confirm;
use crate::output::{Format, Table, note};
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Count the messages of the overflow queue and of its dead-letter queue
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod overflow status\n\n\
        Each message holds signals of one request, or an update of a customer. The counts of SQS are approximate. A \
        message whose drain failed is in flight until it is delivered again.")]
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
            (Self::Status, Some(queues)) => status(&queues, format).await,
            (Self::Status, None) => {
                note(&stack.without_queues());
                Ok(())
            }
            (Self::Redrive { yes }, Some(queues)) => redrive(&queues, yes, format).await,
            (Self::Redrive { .. }, None) => bail!(stack.without_queues()),
        }
    }
}

async fn status(queues: &Queues<'_>, format: Format) -> Result<()> {
    let mut table = Table::new(format, ["QUEUE", "WAITING", "IN FLIGHT", "DELAYED"]);
    for (queue, counts) in ["overflow", "dead-letter"].into_iter().zip(queues.counts().await?) {
        let (waiting, in_flight, delayed) = (counts.waiting, counts.in_flight, counts.delayed);
        let json = json!({"queue": queue, "waiting": waiting, "inFlight": in_flight, "delayed": delayed});
        table.add(&json, [queue, &waiting.to_string(), &in_flight.to_string(), &delayed.to_string()])?;
    }
    table.print()
}

/// Has SQS move the messages of the dead-letter queue back.
async fn redrive(queues: &Queues<'_>, yes: bool, format: Format) -> Result<()> {
    let count = queues.counts_of(queues.dead_letters).await?.total();
    if count == 0 {
        return format.print("The dead-letter queue has no messages.", &json!({"messages": 0}));
    }
    confirm(&format!("Move {count} message(s) of the dead-letter queue back to the overflow queue?"), yes)?;
    // SQS does not know the source queue of messages that the overflow function itself sent to the dead-letter queue.
    let (source, destination) = (queues.arn(queues.dead_letters).await?, queues.arn(queues.overflow).await?);
    let call = queues.client.start_message_move_task().source_arn(source).destination_arn(destination);
    call.send().await.map_err(|error| call_error(&error))?;
    let text = format!("SQS moves {count} message(s). `cargo intake overflow status` counts those that are left.");
    format.print(&text, &json!({"messages": count}))
}

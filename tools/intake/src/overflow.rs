//! `overflow`: the queue of signals and updates of customers that DynamoDB did not acknowledge in
//! time, and its dead-letter queue.

mod queues;

use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::json;

use self::queues::QueueCounts;
pub(crate) use self::queues::Queues;
use crate::confirm::confirm;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;

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
        match (self, queues) {
            (Self::Status, Some(queues)) => status(&queues, format).await,
            (Self::Status, None) => {
                note(&stack.no_queues_message());
                Ok(())
            }
            (Self::Redrive { yes }, Some(queues)) => redrive(&queues, yes, format).await,
            (Self::Redrive { .. }, None) => bail!(stack.no_queues_message()),
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

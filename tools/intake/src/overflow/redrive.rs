//! `overflow redrive`: has SQS move the messages of the dead-letter queue back.

use anyhow::Result;
use serde_json::json;

use super::queues::{Queues, call_error};
use crate::confirm::confirm;
use crate::output::Format;

pub(super) async fn redrive(queues: &Queues<'_>, yes: bool, format: Format) -> Result<()> {
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

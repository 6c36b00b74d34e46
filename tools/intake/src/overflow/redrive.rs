//! `overflow redrive`: has SQS move the messages of the dead-letter queue back, and follows it.

use std::time::Duration;

use anyhow::{Result, bail};
use aws_sdk_sqs::types::ListMessageMoveTasksResultEntry as Task;
use indicatif::ProgressBar;
use serde_json::json;

use super::queues::{Queues, call_error};
use crate::confirm::confirm;
use crate::interrupt::until_interrupted;
use crate::output::{Format, note};
use crate::progress;

/// How often the command asks SQS for the progress.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn redrive(queues: &Queues<'_>, yes: bool, format: Format) -> Result<()> {
    let source = queues.arn(queues.dead_letters).await?;
    let latest = latest_task(queues, &source).await?;
    let previous = if latest.as_ref().is_some_and(is_active) {
        note("A redrive is already running.");
        None
    } else {
        let count = queues.counts_of(queues.dead_letters).await?.total();
        if count == 0 {
            return format.print("The dead-letter queue has no messages.", &json!({"moved": 0}));
        }
        confirm(&format!("Move {count} message(s) of the dead-letter queue back to the overflow queue?"), yes)?;
        start(queues, &source).await?;
        latest.map(|task| task.started_timestamp)
    };
    let bar = progress::bar(0, "messages moved");
    let followed = until_interrupted(follow(queues, &source, previous, &bar)).await;
    bar.finish_and_clear();
    let Some(task) = followed? else {
        bail!(
            "Interrupted: SQS goes on moving the messages. `cargo intake overflow redrive` shows its progress again, `cargo \
             intake overflow status` what is left."
        );
    };
    let moved = task.approximate_number_of_messages_moved;
    if task.status() != Some("COMPLETED") {
        let reason = [task.status(), task.failure_reason()].into_iter().flatten().collect::<Vec<_>>().join(": ");
        bail!("SQS ended the redrive after {moved} message(s): {reason}. Run the command again to move the others.");
    }
    format.print(&format!("{moved} message(s) moved back to the overflow queue."), &json!({"moved": moved}))
}

async fn start(queues: &Queues<'_>, source: &str) -> Result<()> {
    // SQS does not know the source queue of messages that the overflow function itself sent to the dead-letter queue.
    let destination = queues.arn(queues.overflow).await?;
    let call = queues.client.start_message_move_task().source_arn(source).destination_arn(destination);
    call.send().await.map(drop).map_err(|error| call_error(&error))
}

/// Waits for the end of the task that began after the one that began at `previous`.
async fn follow(queues: &Queues<'_>, source: &str, previous: Option<i64>, bar: &ProgressBar) -> Result<Task> {
    loop {
        let task = latest_task(queues, source).await?.filter(|task| Some(task.started_timestamp) != previous);
        if let Some(task) = task {
            if !is_active(&task) {
                return Ok(task);
            }
            bar.set_length(task.approximate_number_of_messages_to_move.unwrap_or_default().unsigned_abs());
            bar.set_position(task.approximate_number_of_messages_moved.unsigned_abs());
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn latest_task(queues: &Queues<'_>, source: &str) -> Result<Option<Task>> {
    let listed = queues.client.list_message_move_tasks().source_arn(source).max_results(1).send().await;
    Ok(listed.map_err(|error| call_error(&error))?.results.unwrap_or_default().into_iter().next())
}

fn is_active(task: &Task) -> bool {
    matches!(task.status(), Some("RUNNING" | "CANCELLING"))
}

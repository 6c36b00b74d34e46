//! What `customers erase`, `accounts erase` and `signals erase` have in common. Must not know what is
//! erased.
//!
//! An erasure keeps no record of its progress: what is deleted is not found again, so a second run
//! deletes what is left. It prints a line for the operator's record of erasures: a restore of a table
//! brings back what was erased before.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::interrupt::until_interrupted;
use crate::output::note;
use crate::overflow::Queues;
use crate::stack::Stack;

/// The options of every erasure.
#[derive(Args, Debug)]
pub(crate) struct ErasureArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,

    /// Erase although messages are in the overflow queue or in its dead-letter queue
    #[arg(long)]
    pub(crate) anyway: bool,
}

/// Ends a command that erases while messages are queued, unless `anyway` is set: when the overflow
/// function stores what is in them later, what was erased may come back.
pub(crate) async fn refuse_while_queued(stack: &Stack, anyway: bool) -> Result<()> {
    if anyway {
        return Ok(());
    }
    let Some(queues) = Queues::find(stack)? else {
        return Ok(());
    };
    let counts = queues.count().await?;
    let overflow = counts.overflow.total();
    let dead_letters = counts.dead_letters.total();
    ensure!(
        overflow == 0 && dead_letters == 0,
        "The overflow queue has {overflow} message(s) and its dead-letter queue {dead_letters}: what is in them would be stored \
         after the erasure. Wait until `cargo intake overflow status` counts none (`cargo intake overflow redrive` moves the \
         dead letters back), or add --anyway, and erase again when the queues are empty."
    );
    Ok(())
}

/// Does the work that deletes, until the operator interrupts it. It is called after the confirmation:
/// until then, Ctrl-C ends the process.
///
/// # Errors
/// The work failed or was interrupted: a part of it may be done.
pub(crate) async fn until_erased<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    until_interrupted(Box::pin(work))
        .await?
        .context("Interrupted. To erase what is left, run the command again.")
}

/// Waits for functions that may still store something, and tells the operator the `reason`.
pub(crate) async fn wait_for_functions(time: Duration, reason: &str) {
    if time.is_zero() {
        return;
    }
    let seconds = time.as_secs().max(1);
    note(&format!("Waiting {seconds} s: {reason}"));
    tokio::time::sleep(time).await;
}

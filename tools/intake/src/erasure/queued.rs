//! What waits in the queues during an erasure, and when the erasure may delete: the overflow function would
//! store a queued message after the deletion.
//!
//! SQS may count a message a minute after it was sent. So an erasure deletes after the first reading without
//! a message that began [`COUNT_DELAY`] or more after the end of the last request that may have queued one.
//! Must not know what is erased.

use std::time::Duration;

use anyhow::{Error, Result, anyhow, ensure};
use aws::sqs::COUNT_DELAY;
use tokio::time::{Instant, sleep};

use crate::output::note;
use crate::overflow::{QueueCounts, Queues};
use crate::stack::Stack;

/// The time between two readings of the queues.
const READING_INTERVAL: Duration = Duration::from_secs(10);

/// How long an erasure waits for messages to be drained, once every message is counted.
const DRAIN_WAIT_LIMIT: Duration = Duration::from_mins(15);

/// The queues of a stack, for an erasure.
pub(super) struct QueueCheck<'a> {
    queues: Queues<'a>,
    rule: DeletionRule,
}

/// When an erasure may delete.
#[derive(Clone, Copy)]
struct DeletionRule {
    /// How long after it was sent a message may be missing in the counts.
    count_delay: Duration,
    /// Whether the operator erases although messages are queued.
    anyway: bool,
}

/// What an erasure does after a reading of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextStep {
    Delete,
    ReadAgain,
    Refuse,
}

impl<'a> QueueCheck<'a> {
    /// The queues of `stack`. The SQS of a local stack counts each message at once.
    ///
    /// # Errors
    /// It is unknown which queues these are.
    pub(super) fn find(stack: &'a Stack, anyway: bool) -> Result<Self> {
        let count_delay = if stack.is_local {
            Duration::ZERO
        } else {
            COUNT_DELAY
        };
        let rule = DeletionRule {
            count_delay,
            anyway,
        };
        let queues = Queues::find(stack)?;
        Ok(Self { queues, rule })
    }

    /// # Errors
    /// Messages are queued, without `--anyway`; or it is unknown whether there are any.
    pub(super) async fn refuse_if_any(&self) -> Result<()> {
        let counts = self.queues.count().await?;
        ensure!(self.rule.anyway || counts.total() == 0, refusal(&counts));
        Ok(())
    }

    /// Waits until the erasure may delete. It is called when the last request that may concern the erasure
    /// has ended. Returns how many messages are queued: only with `--anyway` there may be any.
    ///
    /// # Errors
    /// Messages were queued for too long, or it is unknown whether there are any.
    pub(super) async fn wait_until_none(&self) -> Result<u64> {
        let requests_ended = Instant::now();
        let mut last_noted = None;
        loop {
            let read_after = requests_ended.elapsed();
            let counts = self.queues.count().await?;
            let messages = counts.total();
            match self.rule.next_step(read_after, messages) {
                NextStep::Delete => return Ok(messages),
                NextStep::Refuse => return Err(refusal(&counts)),
                NextStep::ReadAgain => {}
            }
            if last_noted != Some(messages) {
                note(&self.rule.progress(read_after, &counts));
                last_noted = Some(messages);
            }
            sleep(READING_INTERVAL).await;
        }
    }
}

impl DeletionRule {
    /// What follows from a reading that began this long after the last request had ended.
    fn next_step(self, read_after: Duration, messages: u64) -> NextStep {
        let may_delete = if messages == 0 {
            read_after >= self.count_delay
        } else {
            // The operator has to erase again in any case.
            self.anyway
        };
        if may_delete {
            NextStep::Delete
        } else if read_after < self.count_delay + DRAIN_WAIT_LIMIT {
            NextStep::ReadAgain
        } else {
            NextStep::Refuse
        }
    }

    fn progress(self, read_after: Duration, counts: &QueueCounts) -> String {
        if counts.total() == 0 {
            let seconds = self.count_delay.saturating_sub(read_after).as_secs_f64();
            return format!(
                "Waiting {:.0} s: SQS may count messages late.",
                seconds.ceil()
            );
        }
        let minutes = DRAIN_WAIT_LIMIT.as_secs() / 60;
        format!(
            "Waiting for up to {minutes} minutes until the queues are empty: the overflow queue has {} message(s) and its \
             dead-letter queue {}.",
            counts.overflow.total(),
            counts.dead_letters.total()
        )
    }
}

/// The error of an erasure that these messages would undo.
fn refusal(counts: &QueueCounts) -> Error {
    let overflow = counts.overflow.total();
    let dead_letters = counts.dead_letters.total();
    anyhow!(
        "The overflow queue has {overflow} message(s) and its dead-letter queue {dead_letters}. Their data would be stored \
         after the erasure. Wait until `cargo intake overflow status` counts none (`cargo intake overflow redrive` moves the \
         dead letters back). Or add --anyway, and erase again when the queues are empty."
    )
}

#[cfg(test)]
mod tests {
    use super::NextStep::{Delete, ReadAgain, Refuse};
    use super::*;

    #[test]
    fn erasure_deletes_once_every_message_is_counted_and_none_is_left() {
        let counted = COUNT_DELAY.as_secs();
        let end = counted + DRAIN_WAIT_LIMIT.as_secs();
        for (seconds, messages, expected) in [
            // A message may not be counted yet.
            (0, 0, ReadAgain),
            (counted - 1, 0, ReadAgain),
            (counted, 0, Delete),
            (0, 1, ReadAgain),
            (counted, 1, ReadAgain),
            // A stack that defers a little all the time.
            (end - 1, 1, ReadAgain),
            (end - 1, 0, Delete),
            (end, 1, Refuse),
            (end, 0, Delete),
        ] {
            let rule = DeletionRule {
                count_delay: COUNT_DELAY,
                anyway: false,
            };
            let next = rule.next_step(Duration::from_secs(seconds), messages);
            assert_eq!(next, expected, "{messages} after {seconds} s");
        }
    }

    #[test]
    fn erasure_of_a_local_stack_needs_no_time_for_the_counts() {
        let rule = DeletionRule {
            count_delay: Duration::ZERO,
            anyway: false,
        };
        assert_eq!(rule.next_step(Duration::ZERO, 0), Delete);
        assert_eq!(rule.next_step(Duration::ZERO, 1), ReadAgain);
        assert_eq!(rule.next_step(DRAIN_WAIT_LIMIT, 1), Refuse);
    }

    #[test]
    fn erasure_despite_messages_waits_only_for_those_that_may_be_missing_in_the_counts() {
        let rule = DeletionRule {
            count_delay: COUNT_DELAY,
            anyway: true,
        };
        // With the former, the command says that messages are queued. With the latter, it says that all is erased.
        assert_eq!(rule.next_step(Duration::ZERO, 1), Delete);
        assert_eq!(rule.next_step(Duration::ZERO, 0), ReadAgain);
        assert_eq!(rule.next_step(COUNT_DELAY, 0), Delete);
    }
}

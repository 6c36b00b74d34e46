//! How long DynamoDB may take.

use std::time::Duration;

use aws::deadline::Deadline;

/// The longest that a request may take. API Gateway waits 30 s and clients 60 s; a call to DynamoDB
/// that has failed for ten seconds is unlikely to succeed in the next ones.
pub const MAX_REQUEST_DURATION: Duration = Duration::from_secs(10);

/// The longest that the writes of one request may take: the idempotency record and the signals
/// together, or the update of a customer.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// [`WRITE_TIMEOUT`] where there is an overflow queue: what lasts longer is left to the queue.
const WRITE_TIMEOUT_BEFORE_DEFERRAL: Duration = Duration::from_secs(2);

/// The part of the request's time that is reserved for the overflow queue.
const DEFERRAL_RESERVE: Duration = Duration::from_millis(2_500);

/// How long a request repeats its calls.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    /// When it stops repeating calls to a table that answers.
    pub deadline: Deadline,
    /// Whether what is not written by then goes to the overflow queue. Otherwise the breaker does
    /// not shorten the time: a late answer is better than none.
    pub can_defer: bool,
}

impl From<Deadline> for TimeLimit {
    fn from(deadline: Deadline) -> Self {
        Self {
            deadline,
            can_defer: false,
        }
    }
}

impl TimeLimit {
    /// The limit of a request's writes that must have ended by `deadline`, or been deferred where
    /// there is an overflow queue.
    pub fn of_writes(deadline: Deadline, can_defer: bool) -> Self {
        let deadline = if can_defer {
            deadline
                .minus(DEFERRAL_RESERVE)
                .at_most(WRITE_TIMEOUT_BEFORE_DEFERRAL)
        } else {
            deadline.at_most(WRITE_TIMEOUT)
        };
        Self {
            deadline,
            can_defer,
        }
    }

    /// This limit, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        Self {
            deadline: self.deadline.at_most(duration),
            ..self
        }
    }
}

//! Deadlines, and how long DynamoDB may take.

use std::time::{Duration, Instant};

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

/// The point in time until which some work may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
}

/// The deadline passed before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline passed")]
pub struct DeadlineExceeded;

impl Deadline {
    /// The deadline `duration` from now.
    pub fn after(duration: Duration) -> Self {
        let now = Instant::now();
        Self {
            until: now.checked_add(duration).unwrap_or(now),
        }
    }

    /// This deadline, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        Self {
            until: self.until.min(Self::after(duration).until),
        }
    }

    /// The deadline `duration` before this one.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self {
            until: self.until.checked_sub(duration).unwrap_or(self.until),
        }
    }

    /// The time left; zero when it has passed.
    pub fn remaining(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The point in time, by the process's monotonic clock.
    pub fn until(self) -> Instant {
        self.until
    }
}

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

/// Runs `work` until `deadline`, and then drops it.
///
/// # Errors
/// When it did not end before.
pub fn before<T>(
    deadline: Deadline,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, DeadlineExceeded>> {
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let work = Box::pin(work);
    async move {
        tokio::time::timeout_at(deadline.until().into(), work)
            .await
            .map_err(|_| DeadlineExceeded)
    }
}

/// Yields once, so that hyper can return the connection to its pool before the next call needs one.
/// It costs a round of the async runtime, so it is only used where a call follows.
pub(crate) async fn yield_for_connection_reuse() {
    tokio::task::yield_now().await;
}

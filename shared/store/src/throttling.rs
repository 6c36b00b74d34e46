//! Waiting while DynamoDB throttles a table.
//!
//! Throttling asks the client to wait and is no sign of an outage, so it costs no retry token: a throttled call is repeated
//! with full jitter until the request's deadline. This module must not know what a call writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::deadline::Deadline;

use crate::error::{Cause, StoreError};

/// The bound of the first wait; doubled with each wait that follows.
pub(crate) const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// The longest bound of a wait.
pub(crate) const BACKOFF_CAP: Duration = Duration::from_secs(1);

/// How often a call is tried on a table that throttled an earlier request throughout. Otherwise a lasting throttle would
/// occupy every execution environment until the deadline of each request.
const TRIES_AFTER_GIVING_UP: u32 = 2;

/// Whether a table throttled an earlier request of this process from its first call to its last, and no call has succeeded
/// since. Clones share this state.
#[derive(Clone, Debug, Default)]
pub struct TableThrottle {
    gave_up: Arc<AtomicBool>,
}

impl TableThrottle {
    /// The waits of one request on this table.
    pub fn backoff(&self, deadline: Deadline) -> Backoff {
        let tries = if self.gave_up.load(Ordering::Relaxed) { TRIES_AFTER_GIVING_UP } else { u32::MAX };
        Backoff { table: self.clone(), deadline, bound: BACKOFF_BASE, tries_left: tries, only_throttled: None }
    }
}

/// The waits of one request on one table.
#[derive(Debug)]
pub struct Backoff {
    table: TableThrottle,
    deadline: Deadline,
    bound: Duration,
    tries_left: u32,
    /// Whether every call so far was throttled; `None` before the first.
    only_throttled: Option<bool>,
}

/// Records that the table throttled every call: in `drop`, because a request can also end at its deadline in the middle of a
/// call, or with its invocation.
impl Drop for Backoff {
    fn drop(&mut self) {
        if self.only_throttled == Some(true) {
            self.table.gave_up.store(true, Ordering::Relaxed);
        }
    }
}

impl Backoff {
    /// Whether the table throttled an earlier request throughout.
    pub fn is_limited(&self) -> bool {
        self.tries_left != u32::MAX
    }

    /// Whether to repeat a call with this `outcome`: DynamoDB throttled it, and there was time to wait.
    pub async fn repeats<T>(&mut self, outcome: &Result<T, StoreError>) -> bool {
        match outcome {
            Err(StoreError::Unavailable(Cause::Throttled)) => self.wait().await.is_ok(),
            Err(StoreError::Unavailable(_)) => false,
            _ => {
                self.answered();
                false
            }
        }
    }

    /// The table processed at least a part of a call.
    pub fn answered(&mut self) {
        self.table.gave_up.store(false, Ordering::Relaxed);
        self.only_throttled = Some(false);
        self.bound = BACKOFF_BASE;
        self.tries_left = u32::MAX;
    }

    /// Waits before the next try of a throttled call.
    ///
    /// # Errors
    /// [`Cause::Throttled`] when there is no time or no try left.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        let remaining = self.deadline.remaining();
        let wait = self.next_wait(remaining).ok_or(StoreError::Unavailable(Cause::Throttled))?;
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// How long to wait before the next try of a throttled call, `remaining` before the deadline; `None` when there is no time
    /// or no try left.
    fn next_wait(&mut self, remaining: Duration) -> Option<Duration> {
        self.only_throttled.get_or_insert(true);
        if self.is_limited() {
            self.tries_left = self.tries_left.saturating_sub(1);
        }
        let wait = self.bound.mul_f64(fastrand::f64());
        if self.tries_left == 0 || wait >= remaining {
            return None;
        }
        self.bound = self.bound.saturating_mul(2).min(BACKOFF_CAP);
        Some(wait)
    }
}

//! How long a request waits for a table that throttles or does not answer.
//!
//! Throttling asks the client to wait and is no sign of an outage, so it costs no retry token: a throttled call is repeated
//! with full jitter until the request's deadline. In a lasting outage, requests that all wait until their deadlines would
//! occupy ever more processes. So a process remembers that a table took nothing of a request, and then gives the table less
//! time. This module must not know what a call writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::deadline::Deadline;

use crate::deadline::before;
use crate::error::{Cause, StoreError};

/// The bound of the first wait; doubled with each wait that follows.
pub(crate) const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// The longest bound of a wait.
pub(crate) const BACKOFF_CAP: Duration = Duration::from_secs(1);

/// How long a table that took nothing of an earlier request has for its first answer: longer than DynamoDB takes, with a new
/// connection.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_millis(150);

/// How often a request gives such a table the whole time until its deadline.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Waits with full jitter: each has a bound twice as high as the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    bound: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { bound: BACKOFF_BASE }
    }
}

impl Backoff {
    /// How long to wait now.
    pub(crate) fn next_wait(&mut self) -> Duration {
        let wait = self.bound.mul_f64(fastrand::f64());
        self.bound = self.bound.saturating_mul(2).min(BACKOFF_CAP);
        wait
    }
}

/// How long a request waits for a table.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until when it waits for a table that answers.
    pub deadline: Deadline,
    /// When the requests after it wait for `FIRST_ANSWER_TIMEOUT` only.
    pub ends: PatienceEnds,
}

/// After which requests, of which a table took nothing, a process has no patience with the table until it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatienceEnds {
    /// After none.
    Never,
    /// After those that the table throttled. For requests that have nowhere else to go: a late answer is better than none.
    WhenThrottled,
    /// After all. For requests that can be deferred.
    WhenUnanswered,
}

impl From<Deadline> for Patience {
    fn from(deadline: Deadline) -> Self {
        Self { deadline, ends: PatienceEnds::Never }
    }
}

/// Whether a table took nothing of an earlier request of this process, and has answered none since. Clones share this.
#[derive(Clone, Debug, Default)]
pub struct TableHealth {
    /// When a request waits until its deadline again; `None` while the table answers.
    pub(super) next_probe: Arc<Mutex<Option<Instant>>>,
}

impl TableHealth {
    /// The access of one request to this table.
    pub fn access(&self, patience: impl Into<Patience>) -> TableAccess {
        let Patience { deadline, ends } = patience.into();
        let is_short = ends != PatienceEnds::Never && self.is_short();
        TableAccess { health: self.clone(), deadline, ends, is_short, state: Mutex::default() }
    }

    /// Whether the request that begins is one of those that wait only for a short time.
    fn is_short(&self) -> bool {
        let now = Instant::now();
        match &mut *lock(&self.next_probe) {
            None => false,
            Some(next_probe) if *next_probe <= now => {
                *next_probe = later(now);
                false
            }
            Some(_) => true,
        }
    }
}

fn later(now: Instant) -> Instant {
    now.checked_add(PROBE_INTERVAL).unwrap_or(now)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calls of one request to one table.
#[derive(Debug)]
pub struct TableAccess {
    health: TableHealth,
    deadline: Deadline,
    ends: PatienceEnds,
    is_short: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Until when the table has to have answered once, from the first call on.
    limit: Option<Deadline>,
    backoff: Backoff,
    is_called: bool,
    is_throttled: bool,
    is_answered: bool,
}

/// Remembers that the table took nothing: in `drop`, because a request can also end at its deadline in the middle of a call, or
/// with its invocation.
impl Drop for TableAccess {
    fn drop(&mut self) {
        let state = lock(&self.state);
        let has_ended = match self.ends {
            PatienceEnds::Never => false,
            PatienceEnds::WhenThrottled => state.is_throttled,
            PatienceEnds::WhenUnanswered => state.is_called,
        };
        if has_ended && !state.is_answered {
            lock(&self.health.next_probe).get_or_insert_with(|| later(Instant::now()));
        }
    }
}

impl TableAccess {
    /// Until when the request waits for a table that answers.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Whether the table took nothing of an earlier request, and has little time.
    pub fn is_short(&self) -> bool {
        self.is_short && !lock(&self.state).is_answered
    }

    /// Makes a call, and repeats it while the table throttles it and there is time.
    ///
    /// # Errors
    /// That of the last call, or [`Cause::DeadlineExceeded`].
    pub async fn repeat<T, F>(&self, call: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            let outcome = self.call(call()).await;
            if !self.repeats(&outcome).await {
                return outcome;
            }
        }
    }

    /// Whether to repeat a call with this `outcome`: the table throttled it, and there was time to wait.
    pub async fn repeats<T>(&self, outcome: &Result<T, StoreError>) -> bool {
        matches!(outcome, Err(StoreError::Unavailable(Cause::Throttled))) && self.wait().await.is_ok()
    }

    /// Waits for a call, until the table's time is over.
    ///
    /// # Errors
    /// That of the call, or [`Cause::DeadlineExceeded`].
    pub async fn call<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        lock(&self.state).is_called = true;
        // On the heap, as in `before`.
        let mut call = Box::pin(call);
        let mut outcome = before(self.limit(), &mut call).await;
        if outcome.is_err() {
            // It is later by now, if another call was answered.
            outcome = before(self.limit(), call).await;
        }
        let outcome = outcome.unwrap_or_else(|late| Err(late.into()));
        let mut state = lock(&self.state);
        match outcome {
            Err(StoreError::Unavailable(Cause::Throttled)) => state.is_throttled = true,
            Err(StoreError::Unavailable(_)) => {}
            _ => {
                state.is_answered = true;
                state.backoff = Backoff::default();
                *lock(&self.health.next_probe) = None;
            }
        }
        drop(state);
        outcome
    }

    /// Waits before the next try of a throttled call.
    ///
    /// # Errors
    /// [`Cause::Throttled`] when there is no time left.
    pub async fn wait(&self) -> Result<(), StoreError> {
        let remaining = self.limit().remaining();
        let wait = lock(&self.state).backoff.next_wait();
        if wait >= remaining {
            return Err(StoreError::Unavailable(Cause::Throttled));
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Until when a call may take.
    fn limit(&self) -> Deadline {
        let mut state = lock(&self.state);
        if self.is_short && !state.is_answered {
            *state.limit.get_or_insert_with(|| self.deadline.at_most(FIRST_ANSWER_TIMEOUT))
        } else {
            self.deadline
        }
    }
}

//! The calls of one request to one table: how long it waits for them, and repeats them.
//!
//! A call that throttling or another transient failure ended is repeated with full jitter until the
//! deadline of the request, or for as long as the circuit breaker of the table says. This module
//! must not know what a call writes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::circuit_breaker::CircuitBreaker;
use crate::error::StoreError;
use crate::time_limit::TimeLimit;
use aws::deadline::{Deadline, before};

/// The bound of the first wait; doubled with each wait that follows.
pub(crate) const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// The longest bound of a wait.
pub(crate) const BACKOFF_CAP: Duration = Duration::from_secs(1);

/// Waits with full jitter: each has a bound twice as high as the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    bound: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            bound: BACKOFF_BASE,
        }
    }
}

impl Backoff {
    /// How long to wait before the next call.
    pub(crate) fn next_wait(&mut self) -> Duration {
        let wait = self.bound.mul_f64(fastrand::f64());
        self.bound = self.bound.saturating_mul(2).min(BACKOFF_CAP);
        wait
    }
}

/// The calls of one request to one table.
#[derive(Debug)]
pub struct TableAccess {
    breaker: CircuitBreaker,
    limit: TimeLimit,
    is_open: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When the table has to have answered once, from the first call on.
    first_answer_by: Option<Deadline>,
    backoff: Backoff,
    is_called: bool,
    is_answered: bool,
}

/// Opens the breaker if the table took nothing: in `drop`, because a request can also end at its
/// deadline in the middle of a call, or with its invocation.
impl Drop for TableAccess {
    fn drop(&mut self) {
        let state = self.state();
        if self.limit.can_defer && state.is_called && !state.is_answered {
            self.breaker.open();
        }
    }
}

impl TableAccess {
    /// The calls of a request with this limit to the table with this breaker.
    pub fn new(breaker: &CircuitBreaker, limit: impl Into<TimeLimit>) -> Self {
        let limit = limit.into();
        let is_open = limit.can_defer && breaker.is_open();
        Self {
            breaker: breaker.clone(),
            limit,
            is_open,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the request stops repeating calls to a table that answers.
    pub fn deadline(&self) -> Deadline {
        self.limit.deadline
    }

    /// Whether the breaker is open for this request, and the table has not answered it.
    pub fn is_open(&self) -> bool {
        self.is_open && !self.state().is_answered
    }

    /// Makes a call, and repeats it while it fails transiently and there is time.
    ///
    /// # Errors
    /// That of the last call, or
    /// [`Cause::DeadlineExceeded`](aws::cause::Cause::DeadlineExceeded).
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

    /// Whether to repeat a call with this `outcome`: it failed transiently, and there was time to
    /// wait.
    pub async fn repeats<T>(&self, outcome: &Result<T, StoreError>) -> bool {
        outcome.as_ref().is_err_and(StoreError::is_transient) && self.wait().await
    }

    /// Waits for a call, until the table's time is over.
    ///
    /// # Errors
    /// That of the call, or [`Cause::DeadlineExceeded`](aws::cause::Cause::DeadlineExceeded).
    pub async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.state().is_called = true;
        let called_at = Instant::now();
        // On the heap, as in `before`.
        let mut call = Box::pin(call);
        let mut outcome = before(self.end_of_call(), &mut call).await;
        if outcome.is_err() {
            // It is later by now, if another call was answered.
            outcome = before(self.end_of_call(), call).await;
        }
        let outcome = outcome.unwrap_or_else(|late| Err(late.into()));
        let mut state = self.state();
        if !state.is_answered && !matches!(outcome, Err(StoreError::Unavailable(_))) {
            state.is_answered = true;
            self.breaker.close(called_at.elapsed());
        }
        drop(state);
        outcome
    }

    /// Waits before a call that failed transiently is repeated. Returns whether there was time to
    /// wait.
    pub async fn wait(&self) -> bool {
        let remaining = self.end_of_call().remaining();
        let wait = self.state().backoff.next_wait();
        let has_time = wait < remaining;
        if has_time {
            tokio::time::sleep(wait).await;
        }
        has_time
    }

    /// How long a call may take.
    fn end_of_call(&self) -> Deadline {
        let mut state = self.state();
        if self.is_open && !state.is_answered {
            let timeout = || self.deadline().at_most(self.breaker.first_answer_timeout());
            *state.first_answer_by.get_or_insert_with(timeout)
        } else {
            self.deadline()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_breaker_lets_one_request_in_five_seconds_wait_until_its_deadline() {
        let breaker = CircuitBreaker::default();
        let limit = || TimeLimit {
            deadline: Deadline::after(Duration::from_mins(1)),
            can_defer: true,
        };
        assert!(!TableAccess::new(&breaker, limit()).is_open(), "closed");
        breaker.open_since(Duration::from_secs(4));
        assert!(TableAccess::new(&breaker, limit()).is_open());
        assert!(
            !TableAccess::new(&breaker, Deadline::after(Duration::from_mins(1))).is_open(),
            "nothing can be deferred"
        );
        breaker.open_since(Duration::from_secs(5));
        assert!(!TableAccess::new(&breaker, limit()).is_open(), "the probe");
        assert!(
            TableAccess::new(&breaker, limit()).is_open(),
            "the request after it"
        );
    }
}

//! How long a request repeats its calls to a table, and the circuit breaker that shortens this while the table takes nothing.
//!
//! A call that throttling or another transient failure ended is repeated with full jitter until the deadline of the request.
//! In a lasting outage, requests that all wait until their deadlines would occupy ever more processes. So a process remembers
//! that a table took nothing of a request that could be deferred. Then the breaker is open: each request has only a short time
//! for its first answer. Every five seconds it is half-open for one request, the probe, which has all of its time. The first
//! answer closes it. Partition keys that were throttled last have such a short time as well, whatever the rest of the table
//! answers. This module must not know what a call writes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::deadline::{Deadline, WRITE_TIMEOUT, before};
use crate::error::StoreError;

/// [`WRITE_TIMEOUT`] where there is an overflow queue: what lasts longer is left to the queue.
const WRITE_TIMEOUT_BEFORE_DEFERRAL: Duration = Duration::from_secs(2);

/// The part of the request's time that is reserved for the overflow queue.
const DEFERRAL_RESERVE: Duration = Duration::from_millis(2_500);

/// The bound of the first wait; doubled with each wait that follows.
pub(crate) const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// The longest bound of a wait.
pub(crate) const BACKOFF_CAP: Duration = Duration::from_secs(1);

/// How long a table or a partition key has for its first answer at least, while the breaker is open for it: longer than
/// DynamoDB takes, with a new connection.
const MIN_FIRST_ANSWER: Duration = Duration::from_millis(150);

/// How long it has at most.
const MAX_FIRST_ANSWER: Duration = Duration::from_millis(500);

/// How many of its usual latencies a slow table has.
const LATENCIES: u32 = 3;

/// How many first answers of a table say what its usual latency is.
const REMEMBERED_ANSWERS: usize = 8;

/// How often a probe begins while the breaker is open, and how long a throttled partition key is remembered.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// How many throttled partition keys are remembered.
const REMEMBERED_KEYS: usize = 16;

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
    /// How long to wait before the next call.
    pub(crate) fn next_wait(&mut self) -> Duration {
        let wait = self.bound.mul_f64(fastrand::f64());
        self.bound = self.bound.saturating_mul(2).min(BACKOFF_CAP);
        wait
    }
}

/// How long a request repeats its calls.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    /// When it stops repeating calls to a table that answers.
    pub deadline: Deadline,
    /// Whether what is not written by then goes to the overflow queue. Otherwise the breaker does not shorten the time: a late
    /// answer is better than none.
    pub can_defer: bool,
}

impl From<Deadline> for TimeLimit {
    fn from(deadline: Deadline) -> Self {
        Self { deadline, can_defer: false }
    }
}

impl TimeLimit {
    /// The limit of a request's writes that must have ended by `deadline`, or been deferred where there is an overflow queue.
    pub fn of_writes(deadline: Deadline, can_defer: bool) -> Self {
        let deadline = if can_defer {
            deadline.minus(DEFERRAL_RESERVE).at_most(WRITE_TIMEOUT_BEFORE_DEFERRAL)
        } else {
            deadline.at_most(WRITE_TIMEOUT)
        };
        Self { deadline, can_defer }
    }

    /// This limit, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        Self { deadline: self.deadline.at_most(duration), ..self }
    }

    /// The limit for a partition key that was throttled last.
    pub(crate) fn short(self) -> Self {
        self.at_most(MIN_FIRST_ANSWER)
    }
}

/// The circuit breaker of a table. Its clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CircuitBreaker(Arc<Mutex<Breaker>>);

#[derive(Debug, Default)]
struct Breaker {
    /// When the breaker opened, or the last probe began; `None` while it is closed.
    probed_at: Option<Instant>,
    /// The latencies of the last requests' first answers.
    first_answers: VecDeque<Duration>,
    /// The partition keys that were throttled last, and when.
    throttled_keys: VecDeque<(String, Instant)>,
}

impl CircuitBreaker {
    /// The calls of one request to this table.
    pub fn access(&self, limit: impl Into<TimeLimit>) -> TableAccess {
        let limit = limit.into();
        let is_open = limit.can_defer && lock(&self.0).is_open();
        TableAccess { breaker: self.clone(), limit, is_open, state: Mutex::default() }
    }

    /// The limit of a request that writes only the item with this partition key.
    pub(crate) fn limit_of(&self, partition_key: &str, limit: TimeLimit) -> TimeLimit {
        let (throttled, _) = self.divide(vec![partition_key], limit, |key| (*key).to_owned());
        if throttled.is_empty() { limit } else { limit.short() }
    }

    /// Divides the items of a request into those whose partition keys were throttled last, which have a
    /// [short](TimeLimit::short) time, and the others.
    pub(crate) fn divide<I>(
        &self,
        items: Vec<I>,
        limit: TimeLimit,
        partition_key: impl Fn(&I) -> String,
    ) -> (Vec<I>, Vec<I>) {
        let mut breaker = lock(&self.0);
        breaker.throttled_keys.retain(|(_, throttled_at)| throttled_at.elapsed() < PROBE_INTERVAL);
        if breaker.throttled_keys.is_empty() || !limit.can_defer {
            return (Vec::new(), items);
        }
        items.into_iter().partition(|item| {
            let key = partition_key(item);
            breaker.throttled_keys.iter().any(|(throttled, _)| *throttled == key)
        })
    }

    /// Remembers a partition key that was throttled until the time of a request was over.
    pub(crate) fn remember_throttled(&self, partition_key: String) {
        let mut breaker = lock(&self.0);
        breaker.throttled_keys.retain(|(key, _)| *key != partition_key);
        breaker.throttled_keys.push_back((partition_key, Instant::now()));
        if breaker.throttled_keys.len() > REMEMBERED_KEYS {
            breaker.throttled_keys.pop_front();
        }
    }
}

impl Breaker {
    /// Whether the request that begins has only a short time. One that has not is the probe if the breaker is open.
    fn is_open(&mut self) -> bool {
        let Some(probed_at) = &mut self.probed_at else { return false };
        let is_open = probed_at.elapsed() < PROBE_INTERVAL;
        if !is_open {
            *probed_at = Instant::now();
        }
        is_open
    }

    fn first_answer_timeout(&self) -> Duration {
        let usual = self.first_answers.iter().max().copied().unwrap_or_default();
        usual.saturating_mul(LATENCIES).clamp(MIN_FIRST_ANSWER, MAX_FIRST_ANSWER)
    }

    fn close(&mut self, latency: Duration) {
        self.probed_at = None;
        if self.first_answers.len() == REMEMBERED_ANSWERS {
            self.first_answers.pop_front();
        }
        self.first_answers.push_back(latency);
    }
}

// No method panics half-way, so the state behind a poisoned lock is intact.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Opens the breaker if the table took nothing: in `drop`, because a request can also end at its deadline in the middle of a
/// call, or with its invocation.
impl Drop for TableAccess {
    fn drop(&mut self) {
        let state = lock(&self.state);
        if self.limit.can_defer && state.is_called && !state.is_answered {
            lock(&self.breaker.0).probed_at.get_or_insert_with(Instant::now);
        }
    }
}

impl TableAccess {
    /// When the request stops repeating calls to a table that answers.
    pub fn deadline(&self) -> Deadline {
        self.limit.deadline
    }

    /// Whether the breaker is open for this request, and the table has not answered it.
    pub fn is_open(&self) -> bool {
        self.is_open && !lock(&self.state).is_answered
    }

    /// Makes a call, and repeats it while it fails transiently and there is time.
    ///
    /// # Errors
    /// That of the last call, or [`Cause::DeadlineExceeded`](crate::error::Cause::DeadlineExceeded).
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

    /// Whether to repeat a call with this `outcome`: it failed transiently, and there was time to wait.
    pub async fn repeats<T>(&self, outcome: &Result<T, StoreError>) -> bool {
        outcome.as_ref().is_err_and(StoreError::is_transient) && self.wait().await
    }

    /// Waits for a call, until the table's time is over.
    ///
    /// # Errors
    /// That of the call, or [`Cause::DeadlineExceeded`](crate::error::Cause::DeadlineExceeded).
    pub async fn call<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        lock(&self.state).is_called = true;
        let called_at = Instant::now();
        // On the heap, as in `before`.
        let mut call = Box::pin(call);
        let mut outcome = before(self.end_of_call(), &mut call).await;
        if outcome.is_err() {
            // It is later by now, if another call was answered.
            outcome = before(self.end_of_call(), call).await;
        }
        let outcome = outcome.unwrap_or_else(|late| Err(late.into()));
        let mut state = lock(&self.state);
        if !state.is_answered && !matches!(outcome, Err(StoreError::Unavailable(_))) {
            state.is_answered = true;
            lock(&self.breaker.0).close(called_at.elapsed());
        }
        drop(state);
        outcome
    }

    /// Waits before a call that failed transiently is repeated. Returns whether there was time to wait.
    pub async fn wait(&self) -> bool {
        let remaining = self.end_of_call().remaining();
        let wait = lock(&self.state).backoff.next_wait();
        let has_time = wait < remaining;
        if has_time {
            tokio::time::sleep(wait).await;
        }
        has_time
    }

    /// How long a call may take.
    fn end_of_call(&self) -> Deadline {
        let mut state = lock(&self.state);
        if self.is_open && !state.is_answered {
            let timeout = || self.deadline().at_most(lock(&self.breaker.0).first_answer_timeout());
            *state.first_answer_by.get_or_insert_with(timeout)
        } else {
            self.deadline()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CircuitBreaker {
        /// Opens the breaker, so long ago.
        pub(crate) fn open(&self, ago: Duration) {
            lock(&self.0).probed_at = Instant::now().checked_sub(ago);
        }
    }

    fn limit() -> TimeLimit {
        TimeLimit { deadline: Deadline::after(Duration::from_mins(1)), can_defer: true }
    }

    #[test]
    fn open_breaker_lets_one_request_in_five_seconds_wait_until_its_deadline() {
        let breaker = CircuitBreaker::default();
        assert!(!breaker.access(limit()).is_open(), "closed");
        breaker.open(Duration::from_secs(4));
        assert!(breaker.access(limit()).is_open());
        assert!(!breaker.access(Deadline::after(Duration::from_mins(1))).is_open(), "nothing can be deferred");
        breaker.open(Duration::from_secs(5));
        assert!(!breaker.access(limit()).is_open(), "the probe");
        assert!(breaker.access(limit()).is_open(), "the request after it");
    }

    #[test]
    fn first_answer_has_three_times_the_longest_of_the_last_eight_within_bounds() {
        let mut breaker = Breaker::default();
        for (latency, timeout) in [(5, 150), (100, 300), (200, 500), (10, 500)] {
            breaker.close(Duration::from_millis(latency));
            assert_eq!(breaker.first_answer_timeout(), Duration::from_millis(timeout), "{latency} ms");
        }
        (0..7).for_each(|_| breaker.close(Duration::from_millis(60)));
        assert_eq!(breaker.first_answer_timeout(), Duration::from_millis(180), "the 200 ms are forgotten");
    }

    #[test]
    fn the_sixteen_partition_keys_that_were_throttled_last_have_a_short_time() {
        let breaker = CircuitBreaker::default();
        (0..17).for_each(|n| breaker.remember_throttled(n.to_string()));
        let divide = |limit| breaker.divide((0..18).collect(), limit, std::string::ToString::to_string);
        assert_eq!(divide(limit()), ((1..17).collect(), vec![0, 17]));
        assert_eq!(divide(Deadline::after(Duration::from_mins(1)).into()).0, [0; 0], "nothing can be deferred");
        assert!(breaker.limit_of("16", limit()).deadline.remaining() <= MIN_FIRST_ANSWER);
        assert!(breaker.limit_of("0", limit()).deadline.remaining() > MIN_FIRST_ANSWER);
    }
}

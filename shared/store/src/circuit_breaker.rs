//! The circuit breaker of a table: it shortens the time of requests while the table takes nothing.
//!
//! In a lasting outage, requests that all wait until their deadlines would occupy ever more
//! processes. So a process remembers that a table took nothing of a request that could be deferred.
//! Then the breaker is open: each request has only a short time for its first answer. Every five
//! seconds it is half-open for one request, the probe, which has all of its time. The first answer
//! closes it. Partition keys that were throttled last have such a short time as well, whatever the
//! rest of the table answers. This module must not know what a call writes, nor how it is repeated.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::time_limit::TimeLimit;

/// How long a table or a partition key has for its first answer at least, while the breaker is open
/// for it: longer than DynamoDB takes, with a new connection.
const MIN_FIRST_ANSWER: Duration = Duration::from_millis(150);

/// How long it has at most.
const MAX_FIRST_ANSWER: Duration = Duration::from_millis(500);

/// How many of its usual latencies a slow table has.
const LATENCIES: u32 = 3;

/// How many first answers of a table say what its usual latency is.
const REMEMBERED_ANSWERS: usize = 8;

/// How often a probe begins while the breaker is open, and how long a throttled partition key is
/// remembered.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// How many throttled partition keys are remembered.
const REMEMBERED_KEYS: usize = 16;

/// The limit of what is left to the overflow queue if its table or its partition key takes it as
/// badly as before.
pub(crate) fn short(limit: TimeLimit) -> TimeLimit {
    limit.at_most(MIN_FIRST_ANSWER)
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
    /// Whether the request that begins has only a short time for its first answer. One that has not
    /// is the probe if the breaker is open.
    pub(crate) fn is_open(&self) -> bool {
        let Some(probed_at) = &mut self.lock().probed_at else {
            return false;
        };
        let is_open = probed_at.elapsed() < PROBE_INTERVAL;
        if !is_open {
            *probed_at = Instant::now();
        }
        is_open
    }

    /// How long the table has for its first answer while the breaker is open.
    pub(crate) fn first_answer_timeout(&self) -> Duration {
        let usual = self
            .lock()
            .first_answers
            .iter()
            .max()
            .copied()
            .unwrap_or_default();
        usual
            .saturating_mul(LATENCIES)
            .clamp(MIN_FIRST_ANSWER, MAX_FIRST_ANSWER)
    }

    /// Closes the breaker: the table has given a request its first answer, after this time.
    pub(crate) fn close(&self, latency: Duration) {
        let mut breaker = self.lock();
        breaker.probed_at = None;
        if breaker.first_answers.len() == REMEMBERED_ANSWERS {
            breaker.first_answers.pop_front();
        }
        breaker.first_answers.push_back(latency);
    }

    /// Opens the breaker: the table took nothing of a request.
    pub(crate) fn open(&self) {
        self.lock().probed_at.get_or_insert_with(Instant::now);
    }

    /// The limit of a request that writes only the item with this partition key.
    pub(crate) fn limit_of(&self, partition_key: &str, limit: TimeLimit) -> TimeLimit {
        let (throttled, _) = self.divide(vec![partition_key], limit, |key| (*key).to_owned());
        if throttled.is_empty() {
            limit
        } else {
            short(limit)
        }
    }

    /// Divides the items of a request into those whose partition keys were throttled last, which
    /// have a [`short`] time, and the others.
    pub(crate) fn divide<I>(
        &self,
        items: Vec<I>,
        limit: TimeLimit,
        partition_key: impl Fn(&I) -> String,
    ) -> (Vec<I>, Vec<I>) {
        let mut breaker = self.lock();
        breaker
            .throttled_keys
            .retain(|(_, throttled_at)| throttled_at.elapsed() < PROBE_INTERVAL);
        if breaker.throttled_keys.is_empty() || !limit.can_defer {
            return (Vec::new(), items);
        }
        items.into_iter().partition(|item| {
            let key = partition_key(item);
            breaker
                .throttled_keys
                .iter()
                .any(|(throttled, _)| *throttled == key)
        })
    }

    /// Remembers a partition key that was throttled until the time of a request was over.
    pub(crate) fn remember_throttled(&self, partition_key: String) {
        let mut breaker = self.lock();
        breaker
            .throttled_keys
            .retain(|(key, _)| *key != partition_key);
        breaker
            .throttled_keys
            .push_back((partition_key, Instant::now()));
        if breaker.throttled_keys.len() > REMEMBERED_KEYS {
            breaker.throttled_keys.pop_front();
        }
    }

    // No method panics half-way, so the state behind a poisoned lock is intact.
    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws::deadline::Deadline;

    impl CircuitBreaker {
        /// Opens the breaker, so long ago.
        pub(crate) fn open_since(&self, ago: Duration) {
            self.lock().probed_at = Instant::now().checked_sub(ago);
        }
    }

    fn limit() -> TimeLimit {
        TimeLimit {
            deadline: Deadline::after(Duration::from_mins(1)),
            can_defer: true,
        }
    }

    #[test]
    fn first_answer_has_three_times_the_longest_of_the_last_eight_within_bounds() {
        let breaker = CircuitBreaker::default();
        for (latency, timeout) in [(5, 150), (100, 300), (200, 500), (10, 500)] {
            breaker.close(Duration::from_millis(latency));
            assert_eq!(
                breaker.first_answer_timeout(),
                Duration::from_millis(timeout),
                "{latency} ms"
            );
        }
        (0..7).for_each(|_| breaker.close(Duration::from_millis(60)));
        assert_eq!(
            breaker.first_answer_timeout(),
            Duration::from_millis(180),
            "the 200 ms are forgotten"
        );
    }

    #[test]
    fn the_sixteen_partition_keys_that_were_throttled_last_have_a_short_time() {
        let breaker = CircuitBreaker::default();
        (0..17).for_each(|n| breaker.remember_throttled(n.to_string()));
        let divide =
            |limit| breaker.divide((0..18).collect(), limit, std::string::ToString::to_string);
        assert_eq!(divide(limit()), ((1..17).collect(), vec![0, 17]));
        assert_eq!(
            divide(Deadline::after(Duration::from_mins(1)).into()).0,
            [0; 0],
            "nothing can be deferred"
        );
        assert!(breaker.limit_of("16", limit()).deadline.remaining() <= MIN_FIRST_ANSWER);
        assert!(breaker.limit_of("0", limit()).deadline.remaining() > MIN_FIRST_ANSWER);
    }
}

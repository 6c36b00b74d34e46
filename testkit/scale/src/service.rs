//! The service on simulated tables: requests with their execution environments, the overflow queue, and its drains. The order
//! of the steps is that of functions/signals, functions/overflow and shared/store, whose constants and backoff are used.
//! Must not know what is made of the outcome.

mod put;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fault_proxy::Capacity;
use overflow::MAX_DRAIN_DURATION;
use signals::WRITE_TIMEOUT_BEFORE_OVERFLOW;
use store::throttling::TableThrottle;

use crate::clock::Clock;
use crate::outcome::{Outcome, Signals};
use crate::scenario::{Scenario, Source};

/// How long a call to DynamoDB or SQS takes, as in the benchmarks.
pub(crate) const CALL: Duration = Duration::from_millis(5);

/// Execution environments that Lambda creates for a function in a second, and at once: "Lambda scaling behavior" in the Lambda
/// developer guide.
const NEW_ENVIRONMENTS: (f64, f64) = (100.0, 1_000.0);

/// How often an idle drain looks into the queue.
const POLL: Duration = Duration::from_millis(100);

const IDEMPOTENCY: &str = "Idempotency";
const SIGNALS: &str = "Signals";

/// The service in one scenario.
pub(crate) struct Service {
    scenario: Scenario,
    clock: Clock,
    began: Instant,
    capacity: Capacity,
    idle: RefCell<Vec<Environment>>,
    environments: Cell<usize>,
    queue: RefCell<Queue>,
    /// Requests and messages that are not done, and sources that still send.
    open: Cell<usize>,
    requests: Cell<u64>,
    outcome: RefCell<Outcome>,
}

/// A process of a function: what it knows of the throttling of each table.
#[derive(Default)]
struct Environment {
    idempotency: TableThrottle,
    signals: TableThrottle,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Batch>,
    signals: usize,
}

/// A partition key: of a subject its source and number, of an idempotency record the number of the request.
type Key = (usize, u64);

/// Signals of one request.
struct Batch {
    source: usize,
    received: Duration,
    /// The partition key of its idempotency record.
    record: Key,
    /// The partition key of each signal.
    signals: Vec<Key>,
    /// How many of them the outcome does not count as stored.
    uncounted: Cell<usize>,
}

/// Simulates a scenario.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Outcome {
    fastrand::seed(seed);
    let clock = Clock::default();
    let sources = vec![Signals::default(); scenario.sources.len()];
    let service = Rc::new(Service {
        scenario: scenario.clone(),
        clock: clock.clone(),
        began: Instant::now(),
        capacity: Capacity::new(scenario.limits),
        idle: RefCell::default(),
        environments: Cell::new(0),
        queue: RefCell::default(),
        open: Cell::new(scenario.sources.len()),
        requests: Cell::new(0),
        outcome: RefCell::new(Outcome { sources, ..Outcome::default() }),
    });
    for (number, source) in scenario.sources.iter().enumerate() {
        clock.spawn(Rc::clone(&service).send(number, source.clone()));
    }
    for _ in 0..scenario.drains {
        clock.spawn(Rc::clone(&service).drain());
    }
    clock.run();
    let mut outcome = service.outcome.take();
    outcome.partitions = service.capacity.partitions(SIGNALS);
    outcome
}

impl Service {
    /// Sends the requests of a source, at random intervals.
    async fn send(self: Rc<Self>, number: usize, source: Source) {
        let end = self.clock.now().saturating_add(self.scenario.duration);
        while self.clock.now() < end {
            let request = self.requests.replace(self.requests.get().saturating_add(1));
            let signals: Vec<_> =
                (0..source.batch).map(|_| (number, fastrand::u64(..source.subjects.max(1)))).collect();
            let batch = Batch {
                source: number,
                received: self.clock.now(),
                record: (number, request),
                uncounted: Cell::new(signals.len()),
                signals,
            };
            self.open.set(self.open.get().saturating_add(1));
            self.clock.spawn(Rc::clone(&self).request(batch));
            self.clock.sleep(source.interval().mul_f64(2.0 * fastrand::f64())).await;
        }
        self.close();
    }

    /// One request, as `Storage::store` of functions/signals.
    async fn request(self: Rc<Self>, batch: Batch) {
        self.count(batch.source, |counts| counts.sent = counts.sent.saturating_add(batch.signals.len()));
        let Some(environment) = self.environment() else {
            self.count(batch.source, |counts| counts.refused = counts.refused.saturating_add(batch.signals.len()));
            return self.close();
        };
        let deadline = self.clock.now().saturating_add(WRITE_TIMEOUT_BEFORE_OVERFLOW);
        let signals = self.store(&environment, &batch, deadline).await;
        if signals.is_empty() {
            self.close();
        } else {
            self.clock.sleep(CALL).await;
            self.count(batch.source, |counts| counts.deferred = counts.deferred.saturating_add(signals.len()));
            self.enqueue(Batch { signals, ..batch });
        }
        self.idle.borrow_mut().push(environment);
    }

    /// Drains the queue, as functions/overflow in one execution environment, until nothing is left to drain.
    async fn drain(self: Rc<Self>) {
        let environment = Environment::default();
        while self.open.get() > 0 {
            let messages = self.dequeue();
            if messages.is_empty() {
                self.clock.sleep(POLL).await;
            }
            let delivered = self.clock.now();
            for message in messages {
                let deadline = delivered.saturating_add(MAX_DRAIN_DURATION);
                if self.store(&environment, &message, deadline).await.is_empty() {
                    self.close();
                } else {
                    self.clock.spawn(Rc::clone(&self).deliver_again(message, delivered));
                }
            }
        }
        let now = self.clock.now().saturating_sub(self.scenario.duration);
        self.outcome.borrow_mut().drained_after = now;
    }

    async fn deliver_again(self: Rc<Self>, message: Batch, delivered: Duration) {
        let again = delivered.saturating_add(self.scenario.visibility_timeout);
        self.clock.sleep(again.saturating_sub(self.clock.now())).await;
        self.enqueue(message);
    }

    /// Writes the idempotency record and the signals. Returns the signals that are not stored.
    async fn store(&self, environment: &Environment, batch: &Batch, deadline: Duration) -> Vec<Key> {
        let record = vec![batch.record];
        let unwritten = self.put(IDEMPOTENCY, &environment.idempotency, record, deadline, &|_| {}).await;
        if !unwritten.is_empty() {
            return batch.signals.clone();
        }
        let count_stored = |stored: usize| {
            let stored = stored.min(batch.uncounted.get());
            batch.uncounted.set(batch.uncounted.get().saturating_sub(stored));
            let after = self.clock.now().saturating_sub(batch.received);
            self.count(batch.source, |counts| counts.store(stored, after));
        };
        self.put(SIGNALS, &environment.signals, batch.signals.clone(), deadline, &count_stored).await
    }

    /// An execution environment for a request, if Lambda has one.
    fn environment(&self) -> Option<Environment> {
        if let Some(idle) = self.idle.borrow_mut().pop() {
            return Some(idle);
        }
        let seconds = self.clock.now().as_secs_f64();
        let (rate, at_once) = NEW_ENVIRONMENTS;
        let count = self.environments.get();
        let is_created = count < self.scenario.concurrency
            && f64::from(u32::try_from(count).unwrap_or(u32::MAX)) < at_once + rate * seconds;
        is_created.then(|| {
            self.environments.set(count.saturating_add(1));
            self.outcome.borrow_mut().environments = self.environments.get();
            Environment::default()
        })
    }

    fn enqueue(&self, message: Batch) {
        let mut queue = self.queue.borrow_mut();
        queue.signals = queue.signals.saturating_add(message.signals.len());
        queue.messages.push_back(message);
        let mut outcome = self.outcome.borrow_mut();
        outcome.longest_queue = outcome.longest_queue.max(queue.signals);
    }

    fn dequeue(&self) -> Vec<Batch> {
        let mut queue = self.queue.borrow_mut();
        let count = self.scenario.messages.min(queue.messages.len());
        let messages: Vec<_> = queue.messages.drain(..count).collect();
        queue.signals = queue.signals.saturating_sub(messages.iter().map(|message| message.signals.len()).sum());
        messages
    }

    fn count(&self, source: usize, count: impl FnOnce(&mut Signals)) {
        self.outcome.borrow_mut().sources.get_mut(source).map(count);
    }

    fn close(&self) {
        self.open.set(self.open.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use fault_proxy::Limits;

    use super::*;

    /// Signals for a minute, one in a request, on tables of which each partition takes a signal a second.
    fn scenario(rate: u32, partitions: usize, concurrency: usize) -> Scenario {
        let second = Duration::from_secs(1);
        Scenario {
            limits: Limits { units_per_partition: 1.0, partitions, burst: second, doubles_after: Duration::MAX },
            sources: vec![Source { name: "", rate, batch: 1, subjects: 1_000 }],
            duration: Duration::from_mins(1),
            concurrency,
            drains: 2,
            messages: 10,
            visibility_timeout: Duration::from_mins(6),
        }
    }

    #[test]
    fn signals_within_the_capacity_are_stored_at_once() {
        let mut scenario = scenario(10, 4, 10);
        scenario.limits.units_per_partition = 100.0;
        let outcome = run(&scenario, 1);
        assert!((500..700).contains(&outcome.sources[0].sent));
        assert_eq!(outcome.sources[0].stored(), outcome.sources[0].sent);
        assert_eq!((outcome.longest_queue, outcome.sources[0].deferred), (0, 0));
        assert_eq!(outcome.sources[0].time_to_store(99), CALL * 2);
    }

    #[test]
    fn signals_beyond_the_capacity_are_stored_by_the_drains() {
        let outcome = run(&scenario(20, 4, 1_000), 1);
        let signals = &outcome.sources[0];
        assert!(signals.deferred > signals.sent / 2, "{} of {}", signals.deferred, signals.sent);
        assert_eq!((signals.stored(), signals.refused), (signals.sent, 0));
        assert!(outcome.drained_after > Duration::from_mins(3), "{:?}", outcome.drained_after);
        assert_eq!(outcome.partitions, 4);
    }

    #[test]
    fn requests_without_an_environment_are_refused_and_not_stored() {
        let outcome = run(&scenario(20, 4, 5), 1);
        let signals = &outcome.sources[0];
        assert_eq!(outcome.environments, 5);
        assert!(signals.refused > 0);
        assert_eq!(signals.stored(), signals.sent - signals.refused);
    }

    #[test]
    fn seed_decides_the_outcome() {
        let scenario = scenario(20, 4, 5);
        assert_eq!(run(&scenario, 1), run(&scenario, 1));
        assert_ne!(run(&scenario, 1), run(&scenario, 2));
    }
}

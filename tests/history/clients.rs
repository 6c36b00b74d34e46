//! What all clients do: they have a key, send a request and count what they receive.
//!
//! One half retries a request that got a 503 or no response: the same body, so the same
//! requestIdentifier, for about a minute; a client that sent no identifier retries only with the
//! identifier of a 503. The other half never retries, like the client libraries in use. This module
//! must not know what is sent, nor what is stored.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use consistency::{Micros, RunRecord};
use processes::runtime_api::EventQueue;
use serde_json::Value;
use testkit::RequestBuilder;

use crate::clock::{MAX_AHEAD, ahead};

/// How long a client retries.
pub(super) const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

/// Spreads the numbers of clients over all bits of a seed: 2^64 divided by the golden ratio.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Longer than the timeout of an invocation and the start of a process.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// The clients of one kind: what they share.
pub(super) struct ClientGroup {
    pub(super) events: EventQueue,
    pub(super) record: RefCell<RunRecord>,
    pub(super) counts: ClientCounts,
}

/// What clients count while they run.
#[derive(Default)]
pub(super) struct ClientCounts {
    /// Signals or updates that were acknowledged.
    pub(super) acknowledged: Cell<u64>,
    /// Those among them that were deferred.
    pub(super) deferred: Cell<u64>,
    /// Requests, each attempt counted.
    pub(super) attempts: Cell<u64>,
    /// Updates that imports wrote.
    pub(super) imported: Cell<u64>,
    /// Requests that got a 503.
    pub(super) unavailable: RefCell<Vec<UnavailableResponse>>,
}

/// When a request that got a 503 was sent, and when the 503 was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnavailableResponse {
    pub(super) sent: Instant,
    pub(super) received: Instant,
}

/// A client with its key.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) account: u32,
    pub(super) key: String,
    /// Whether it retries after a 503 or a missing response.
    pub(super) retries: bool,
    pub(super) seed: u64,
}

/// What a client received after one attempt.
pub(super) struct Received {
    /// `None` when the process ended: then API Gateway responds with a 500.
    pub(super) response: Option<Response>,
    /// The latest time that the clock of the process may have shown.
    pub(super) latest_clock: Micros,
}

pub(super) struct Response {
    pub(super) status: u64,
    pub(super) body: Value,
}

impl ClientGroup {
    pub(super) fn new(events: EventQueue) -> Self {
        Self {
            events,
            record: RefCell::default(),
            counts: ClientCounts::default(),
        }
    }

    pub(super) async fn send(&self, client: &Client, call: RequestBuilder) -> Received {
        add(&self.counts.attempts, 1);
        let event = call.key(&client.key).event();
        let sent = Instant::now();
        let responding = self.events.invoke(event.into());
        let invocation = tokio::time::timeout(RESPONSE_TIMEOUT, responding)
            .await
            .expect("every invocation ends");
        let process_number = invocation
            .as_ref()
            .and_then(|invocation| invocation.process_number);
        let latest_clock = now() + micros(process_number.map_or(MAX_AHEAD, ahead));
        let Some(invocation) = invocation else {
            return Received {
                response: None,
                latest_clock,
            };
        };
        let response = invocation.json();
        let body = response["body"]
            .as_str()
            .and_then(|body| serde_json::from_str(body).ok())
            .unwrap_or_default();
        let status = response["statusCode"].as_u64().unwrap_or_default();
        if status == 503 {
            let failure = UnavailableResponse {
                sent,
                received: Instant::now(),
            };
            self.counts.unavailable.borrow_mut().push(failure);
        }
        Received {
            response: Some(Response { status, body }),
            latest_clock,
        }
    }
}

impl Client {
    pub(super) fn random(&self) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed ^ self.number.wrapping_mul(SEED_STEP))
    }
}

/// Waits less than `Retry-After` asks for, so that clients retry while the service still fails.
pub(super) async fn pause(random: &mut fastrand::Rng) {
    tokio::time::sleep(Duration::from_millis(random.u64(10..150))).await;
}

pub(super) fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}

pub(super) fn now() -> Micros {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    micros(since)
}

fn micros(duration: Duration) -> Micros {
    u64::try_from(duration.as_micros()).unwrap_or_default()
}

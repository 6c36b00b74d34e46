//! What all clients do: send a request, and send it again after a 503 or a missing response, for a
//! minute. This module must not know what is sent, nor what is stored.

use std::cell::{Cell, RefCell};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use consistency::{Micros, RunRecord};
use harness::RequestBuilder;
use processes::runtime_api::EventQueue;
use serde_json::Value;

use crate::deployment::{DeployedFunction, MAX_AHEAD, ahead};

/// How long a client sends the same request again.
pub(super) const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

/// Longer than the timeout of an invocation and the start of a process.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// The clients of one function: what they share.
pub(super) struct ClientGroup {
    events: EventQueue,
    pub(super) record: RefCell<RunRecord>,
    /// Signals or updates that were acknowledged.
    pub(super) acknowledged: Cell<u64>,
    /// Those among them that were deferred.
    pub(super) deferred: Cell<u64>,
}

/// A client with its key.
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) account: u32,
    pub(super) key: String,
}

/// What a client received after one attempt.
pub(super) struct Received {
    /// `None` when the process ended: then API Gateway responds with a 500.
    pub(super) response: Option<Response>,
    /// The latest time that the clock of the process may have shown.
    pub(super) latest_clock: Micros,
}

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl ClientGroup {
    pub(super) fn new(function: &DeployedFunction) -> Self {
        Self {
            events: function.events.clone(),
            record: RefCell::default(),
            acknowledged: Cell::new(0),
            deferred: Cell::new(0),
        }
    }

    pub(super) async fn send(&self, client: &Client, request: RequestBuilder) -> Received {
        let event = request.key(&client.key).event();
        let responding = self.events.invoke(event.into());
        let invocation = tokio::time::timeout(RESPONSE_TIMEOUT, responding)
            .await
            .expect("every invocation ends");
        let ahead = invocation
            .as_ref()
            .map_or(MAX_AHEAD, |invocation| ahead(invocation.process_number));
        let latest_clock = now() + micros(ahead);
        let response = invocation.map(|invocation| {
            let response = invocation.json();
            let body = response["body"].as_str().unwrap_or_default();
            Response {
                status: serde_json::from_value(response["statusCode"].clone()).unwrap_or_default(),
                body: serde_json::from_str(body).unwrap_or_default(),
            }
        });
        Received {
            response,
            latest_clock,
        }
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

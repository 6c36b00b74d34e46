//! Clients as they are. One half retries what got no 200: the same body, so the same
//! requestIdentifier, for about a minute; a client that sent no identifier retries only with the
//! identifier of a 503. The other half never retries a 4xx or 5xx, as the client libraries in use.
//! Must not know what is stored.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::clock::{MAX_AHEAD, ahead};
use crate::consistency::{ClientOutcome, Micros, RecordedRequest, RunRecord};
use serde_json::Value;

use crate::load::GeneratedBatch;
use sandbox::runtime_api::EventQueue;
use testkit::RequestBuilder;

/// How long a client retries.
pub(super) const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

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
    /// 503s.
    pub(super) unavailable: RefCell<Vec<UnavailableResponse>>,
}

/// A 503.
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
    /// Whether it retries a 4xx or 5xx.
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

/// What came of a request with signals after its last attempt.
struct BatchResult {
    outcome: ClientOutcome,
    identifier: Option<String>,
    latest_clock: Micros,
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
        let process = invocation
            .as_ref()
            .and_then(|invocation| invocation.process);
        let latest_clock = now() + micros(process.map_or(MAX_AHEAD, ahead));
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
        fastrand::Rng::with_seed(self.seed ^ self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// Sends signals until `quota` of them are acknowledged and `end` has come.
pub(super) async fn send_signals(group: Rc<ClientGroup>, client: Client, quota: u64, end: Instant) {
    let mut random = client.random();
    let mut acknowledged = 0_u64;
    for number in client.number * 10_000_000.. {
        if acknowledged >= quota {
            if Instant::now() >= end {
                return;
            }
            // Enough signals were sent for the check: a few are, until the end.
            pause(&mut random).await;
        }
        let batch = GeneratedBatch::random(&mut random, client.account, number);
        let mut retries = random.fork();
        acknowledged += send_batch(&group, &client, batch, &mut retries).await;
    }
}

/// Sends a request and notes what came of it. Returns how many signals were acknowledged.
async fn send_batch(
    group: &ClientGroup,
    client: &Client,
    batch: GeneratedBatch,
    random: &mut fastrand::Rng,
) -> u64 {
    let sent = now();
    let BatchResult {
        outcome,
        identifier,
        latest_clock,
    } = deliver(group, client, &batch, random).await;
    let acknowledged = match outcome {
        ClientOutcome::Acknowledged(_) => batch.sent.len() as u64 - batch.refused(),
        ClientOutcome::Refused | ClientOutcome::Unknown => 0,
    };
    add(&group.counts.acknowledged, acknowledged);
    let request = RecordedRequest {
        sent,
        outcome,
        identifier,
        latest_clock,
        signals: batch.sent,
    };
    group
        .record
        .borrow_mut()
        .requests
        .insert(batch.number, request);
    acknowledged
}

async fn deliver(
    group: &ClientGroup,
    client: &Client,
    batch: &GeneratedBatch,
    random: &mut fastrand::Rng,
) -> BatchResult {
    let began = Instant::now();
    let mut delivered = BatchResult {
        outcome: ClientOutcome::Unknown,
        identifier: batch.identifier.clone(),
        latest_clock: 0,
    };
    while began.elapsed() < RETRY_TIMEOUT {
        let body = batch.body(delivered.identifier.as_deref());
        let received = group.send(client, RequestBuilder::signals(body)).await;
        delivered.latest_clock = delivered.latest_clock.max(received.latest_clock);
        if let Some(Response { status, body }) = received.response {
            let number = batch.number;
            match status {
                200 => {
                    assert_eq!(
                        body["rejected"],
                        batch.refused(),
                        "request {number}: {body}"
                    );
                    let deferred = body["deferred"].as_u64().unwrap_or_default();
                    add(&group.counts.deferred, deferred);
                    delivered.outcome = ClientOutcome::Acknowledged(now());
                    return delivered;
                }
                400 => {
                    delivered.outcome = ClientOutcome::Refused;
                    return delivered;
                }
                // A request that named no identifier is retried with the one of its 503.
                503 if client.retries && delivered.identifier.is_none() => {
                    let named = body["requestIdentifier"].as_str();
                    delivered.identifier = named.map(ToOwned::to_owned);
                }
                503 => {}
                _ => panic!("request {number}: {status} {body}"),
            }
        }
        if delivered.identifier.is_none() || !client.retries {
            return delivered;
        }
        pause(random).await;
    }
    delivered
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

//! Clients that retry as real ones do: the same body, so the same requestIdentifier, for about a minute. A client that sent
//! no identifier retries only with the identifier of a 503; otherwise it gives up. Must not know what is stored.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::load::{Batch, Profile};
use super::record::{History, Micros, Outcome, Request, Update};
use crate::request_builder::RequestBuilder;
use crate::runtime_api::EventQueue;

/// How long a client retries.
const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

/// Longer than the timeout of an invocation and the start of a process.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// What clients of one kind share.
pub(super) struct Shared {
    pub(super) events: EventQueue,
    pub(super) key: String,
    pub(super) history: RefCell<History>,
    pub(super) acknowledged: Cell<u64>,
    pub(super) attempts: Cell<u64>,
}

/// What a client received.
enum Received {
    Response {
        status: u64,
        body: Value,
    },
    /// The process ended: API Gateway responds with a 500.
    Nothing,
}

impl Shared {
    pub(super) fn new(events: EventQueue, key: String) -> Self {
        let (acknowledged, attempts) = (Cell::new(0), Cell::new(0));
        Self { events, key, history: RefCell::default(), acknowledged, attempts }
    }

    async fn send(&self, call: RequestBuilder) -> Received {
        self.attempts.set(self.attempts.get().saturating_add(1));
        let event = call.key(&self.key).event();
        let invocation = tokio::time::timeout(RESPONSE_TIMEOUT, self.events.invoke(event.into())).await;
        let Some(invocation) = invocation.expect("every invocation ends") else { return Received::Nothing };
        let response = invocation.json();
        let body = response["body"].as_str().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        Received::Response { status: response["statusCode"].as_u64().unwrap_or_default(), body }
    }
}

/// Sends signals until `quota` of them are acknowledged.
pub(super) async fn signals(shared: Rc<Shared>, client: u64, seed: u64, quota: u64) {
    let mut random = fastrand::Rng::with_seed(seed ^ client.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut acknowledged = 0_u64;
    for number in client.saturating_mul(10_000_000).. {
        if acknowledged >= quota {
            return;
        }
        let batch = Batch::random(&mut random, number);
        let sent = now();
        let outcome = deliver(&shared, &batch, &mut random.fork()).await;
        if matches!(outcome, Outcome::Acknowledged(_)) {
            let accepted = batch.sent.iter().filter(|sent| !sent.refused).count() as u64;
            acknowledged = acknowledged.saturating_add(accepted);
            shared.acknowledged.set(shared.acknowledged.get().saturating_add(accepted));
        }
        shared.history.borrow_mut().requests.insert(batch.number, Request { sent, outcome, signals: batch.sent });
    }
}

async fn deliver(shared: &Shared, batch: &Batch, random: &mut fastrand::Rng) -> Outcome {
    let mut identifier = batch.identifier.clone();
    let began = Instant::now();
    while began.elapsed() < RETRY_TIMEOUT {
        match shared.send(RequestBuilder::signals(batch.body(identifier.as_deref()))).await {
            Received::Response { status: 200, body } => {
                let refused = batch.sent.iter().filter(|sent| sent.refused).count() as u64;
                assert_eq!(body["rejected"], refused, "request {}: {body}", batch.number);
                return Outcome::Acknowledged(now());
            }
            Received::Response { status: 400, .. } => return Outcome::Refused,
            Received::Response { status: 503, body } => {
                identifier = identifier.or_else(|| body["requestIdentifier"].as_str().map(ToOwned::to_owned));
            }
            Received::Response { status, body } => panic!("request {}: {status} {body}", batch.number),
            Received::Nothing => {}
        }
        if identifier.is_none() {
            return Outcome::Unknown;
        }
        pause(random).await;
    }
    Outcome::Unknown
}

/// Sends updates of customers until `stop` says so.
pub(super) async fn updates(shared: Rc<Shared>, client: u64, seed: u64, stop: Rc<Cell<bool>>) {
    let mut random = fastrand::Rng::with_seed(!seed ^ client.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for number in 0.. {
        if stop.get() {
            return;
        }
        let profile = Profile::random(&mut random, client, number);
        let sent = now();
        let outcome = update(&shared, &profile, &mut random.fork()).await;
        if matches!(outcome, Outcome::Acknowledged(_)) {
            shared.acknowledged.set(shared.acknowledged.get().saturating_add(1));
        }
        let Profile { customer, fields } = profile;
        shared.history.borrow_mut().updates.push(Update { customer, sent, outcome, fields });
        // Signals are what most of the load is.
        pause(&mut random).await;
    }
}

async fn update(shared: &Shared, profile: &Profile, random: &mut fastrand::Rng) -> Outcome {
    let began = Instant::now();
    // Some give up at once, and never know.
    let timeout = if random.u8(..10) == 0 { Duration::ZERO } else { RETRY_TIMEOUT };
    loop {
        match shared.send(RequestBuilder::customer(profile.body())).await {
            Received::Response { status: 200, .. } => return Outcome::Acknowledged(now()),
            Received::Response { status: 503, .. } | Received::Nothing => {}
            Received::Response { status, body } => {
                panic!("an update of customer {}: {status} {body}", profile.customer)
            }
        }
        if began.elapsed() >= timeout {
            return Outcome::Unknown;
        }
        pause(random).await;
    }
}

/// Sooner than `Retry-After` asks for: to try when it goes badly is the point.
async fn pause(random: &mut fastrand::Rng) {
    tokio::time::sleep(Duration::from_millis(random.u64(10..150))).await;
}

fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

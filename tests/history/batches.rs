//! Clients that send batches of signals. This module must not know what is stored.

use std::rc::Rc;
use std::time::Instant;

use consistency::generated::GeneratedBatch;
use consistency::{ClientOutcome, Micros, RecordedRequest};
use testkit::RequestBuilder;

use crate::clients::{Client, ClientGroup, RETRY_TIMEOUT, Response, add, now, pause};
use crate::drain::PROGRESS_TIMEOUT;

/// More batches than a client sends in a run: each has a number that no other client uses.
const NUMBERS_PER_CLIENT: u64 = 10_000_000;

/// What came of a batch so far.
struct BatchResult {
    outcome: ClientOutcome,
    /// The client's requestIdentifier, or the one of a 503.
    identifier: Option<String>,
    latest_clock: Micros,
}

/// Sends signals until `quota` of them are acknowledged and `end` has come.
///
/// # Panics
/// When `end` has come and no signal is acknowledged for long.
pub(super) async fn send(group: Rc<ClientGroup>, client: Client, quota: u64, end: Instant) {
    let mut random = client.random();
    let mut acknowledged = 0_u64;
    // Until `end` an outage may last, in which nothing needs to be acknowledged.
    let mut latest_progress = end.max(Instant::now());
    for number in client.number * NUMBERS_PER_CLIENT.. {
        if acknowledged >= quota {
            if Instant::now() >= end {
                return;
            }
            // The quota is reached, so few signals are sent from here until the end.
            pause(&mut random).await;
        }
        let batch = GeneratedBatch::random(&mut random, client.account, number);
        let mut random_of_batch = random.fork();
        let acknowledged_of_batch = send_batch(&group, &client, batch, &mut random_of_batch).await;
        acknowledged += acknowledged_of_batch;
        if acknowledged_of_batch > 0 {
            latest_progress = end.max(Instant::now());
        }
        assert!(
            latest_progress.elapsed() < PROGRESS_TIMEOUT,
            "no signal of client {} is acknowledged any more",
            client.number
        );
    }
}

/// Sends a batch, and records what came of it. Returns how many signals were acknowledged.
async fn send_batch(
    group: &ClientGroup,
    client: &Client,
    batch: GeneratedBatch,
    random: &mut fastrand::Rng,
) -> u64 {
    let sent = now();
    let result = send_until_answered(group, client, &batch, random).await;
    let acknowledged = match result.outcome {
        ClientOutcome::Acknowledged(_) => batch.sent.len() as u64 - batch.rejected(),
        ClientOutcome::Rejected | ClientOutcome::Unknown => 0,
    };
    add(&group.counts.acknowledged, acknowledged);
    let request = RecordedRequest {
        sent,
        outcome: result.outcome,
        identifier: result.identifier,
        latest_clock: result.latest_clock,
        signals: batch.sent,
    };
    let requests = &mut group.record.borrow_mut().requests;
    requests.insert(batch.number, request);
    acknowledged
}

/// Sends a batch until it has an outcome or the client gives up.
async fn send_until_answered(
    group: &ClientGroup,
    client: &Client,
    batch: &GeneratedBatch,
    random: &mut fastrand::Rng,
) -> BatchResult {
    let began = Instant::now();
    let mut result = BatchResult {
        outcome: ClientOutcome::Unknown,
        identifier: batch.identifier.clone(),
        latest_clock: 0,
    };
    while began.elapsed() < RETRY_TIMEOUT {
        let body = batch.body(result.identifier.as_deref());
        let received = group.send(client, RequestBuilder::signals(body)).await;
        result.latest_clock = result.latest_clock.max(received.latest_clock);
        if let Some(response) = received.response {
            result.note(&response, group, client, batch);
        }
        let has_outcome = result.outcome != ClientOutcome::Unknown;
        if has_outcome || result.identifier.is_none() || !client.retries {
            return result;
        }
        pause(random).await;
    }
    result
}

impl BatchResult {
    /// Notes what a response says.
    fn note(
        &mut self,
        response: &Response,
        group: &ClientGroup,
        client: &Client,
        batch: &GeneratedBatch,
    ) {
        let Response { status, body } = response;
        let number = batch.number;
        match status {
            200 => {
                assert_eq!(
                    body["rejected"],
                    batch.rejected(),
                    "request {number}: {body}"
                );
                let deferred = body["deferred"].as_u64().unwrap_or_default();
                add(&group.counts.deferred, deferred);
                self.outcome = ClientOutcome::Acknowledged(now());
            }
            400 => {
                // The 400 to a batch says that no signal of it is accepted.
                let sent = batch.sent.len() as u64;
                assert_eq!(batch.rejected(), sent, "request {number}: {body}");
                self.outcome = ClientOutcome::Rejected;
            }
            503 => {
                // A request that named no identifier is retried with the one of its 503.
                if client.retries && self.identifier.is_none() {
                    let named = body["requestIdentifier"].as_str();
                    self.identifier = named.map(ToOwned::to_owned);
                }
            }
            _ => panic!("request {number}: {status} {body}"),
        }
    }
}

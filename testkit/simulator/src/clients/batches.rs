//! Clients that send batches of signals.

use std::rc::Rc;

use consistency::generated::GeneratedBatch;
use consistency::{ClientOutcome, RecordedRequest};

use super::{Client, Clients, Patience, RETRY_TIMEOUT, add};
use crate::lambda::Response;
use crate::promises::Promise;

/// More batches than a client sends in a run: each has a number that no other client uses.
const NUMBERS_PER_CLIENT: u64 = 1_000_000;

/// How long a client waits before it sends a request again, in milliseconds: shorter than
/// `Retry-After` asks for, so that it comes while the service still fails.
const RETRY_PAUSE: u64 = 400;

/// What came of a batch so far.
struct BatchResult {
    outcome: ClientOutcome,
    /// The client's requestIdentifier, or the one that a response names.
    identifier: Option<String>,
    latest_clock: u64,
}

/// Sends batches until the time of the run is over.
pub async fn run(clients: Rc<Clients>, client: Client) {
    for number in client.number * NUMBERS_PER_CLIENT.. {
        if clients.aws.elapsed() >= clients.scenario.lasts {
            return;
        }
        let scenario = &clients.scenario;
        let batch = {
            let mut random = client.random.borrow_mut();
            let size = random.usize(1..=scenario.max_signals);
            GeneratedBatch::of_size(&mut random, client.account, number, size, scenario.subjects)
        };
        send_batch(&clients, &client, batch).await;
        client.pause(scenario.pause).await;
    }
}

/// Sends a batch, and records what came of it.
async fn send_batch(clients: &Rc<Clients>, client: &Client, batch: GeneratedBatch) {
    let sent = clients.aws.micros();
    let began = clients.aws.elapsed();
    let mut result = BatchResult {
        outcome: ClientOutcome::Unknown,
        identifier: batch.identifier.clone(),
        latest_clock: 0,
    };
    let mut still_served = None;
    loop {
        let body = batch.body(result.identifier.as_deref());
        let identifier = result.identifier.as_deref().unwrap_or("without identifier");
        let what = format!("request {}; {identifier}", batch.number);
        let path = "/api/event-flows/signal";
        let received = clients.send(client, path, body, &what).await;
        result.latest_clock = result.latest_clock.max(received.latest_clock);
        still_served = received.still_served.or(still_served);
        if let Some(response) = &received.response {
            result.note(response, clients, &batch);
        }
        let is_over = clients.aws.elapsed() >= began + RETRY_TIMEOUT;
        let retries = client.patience == Patience::Retries && result.identifier.is_some();
        if result.outcome != ClientOutcome::Unknown || !retries || is_over {
            break;
        }
        client.pause(RETRY_PAUSE).await;
    }
    clients.record_when_served(
        result.latest_clock,
        still_served,
        move |record, latest_clock| {
            let request = RecordedRequest {
                sent,
                outcome: result.outcome,
                identifier: result.identifier,
                latest_clock,
                signals: batch.sent,
            };
            record.requests.insert(batch.number, request);
        },
    );
}

impl BatchResult {
    /// Notes what a response says.
    fn note(&mut self, response: &Response, clients: &Clients, batch: &GeneratedBatch) {
        let Response { status, body } = response;
        let must_be = |holds: bool, what: &str| {
            if !holds {
                let text = format!("request {}: {what}: {body}", batch.number);
                let about = format!("request {};", batch.number);
                let promises = &mut clients.aws.state().promises;
                promises.note(Promise::Response, text, about);
            }
        };
        let named = body["requestIdentifier"].as_str();
        if let (Some(sent), Some(named)) = (&self.identifier, named) {
            must_be(sent == named, "another requestIdentifier");
        }
        if self.identifier.is_none() && matches!(status, 200 | 503) {
            self.identifier = named.map(ToOwned::to_owned);
        }
        match status {
            200 => {
                must_be(named.is_some(), "a 200 without a requestIdentifier");
                must_be(
                    body["rejected"] == batch.rejected(),
                    "another count of rejected signals",
                );
                let deferred = body["deferred"].as_u64().unwrap_or_default();
                add(&clients.counts.deferred, deferred);
                self.outcome = ClientOutcome::Acknowledged(clients.aws.micros());
            }
            400 => {
                let sent = batch.sent.len() as u64;
                must_be(batch.rejected() == sent, "a 400 although a signal is valid");
                self.outcome = ClientOutcome::Rejected;
            }
            _ => {}
        }
    }
}

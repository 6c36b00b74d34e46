//! Clients that send batches of signals.

use std::rc::Rc;

use consistency::generated::GeneratedBatch;
use consistency::{ClientOutcome, RecordedRequest};

use super::{Attempt, Client, Clients, RETRY_TIMEOUT};
use crate::promises::Promise;

/// More batches than a client sends in a run: each has a number that no other client uses.
const NUMBERS_PER_CLIENT: u64 = 1_000_000;

/// How long a client waits before it sends a request again, in milliseconds: shorter than
/// `Retry-After` asks for, so that it comes while the service still fails.
const RETRY_PAUSE: u64 = 400;

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
    let began = clients.aws.elapsed();
    let mut request = RecordedRequest::new(&batch, clients.aws.micros());
    let about = format!("request {};", batch.number);
    let mut still_served = Vec::new();
    loop {
        let identifier = request.identifier.as_deref();
        let identifier = identifier.unwrap_or("without identifier");
        let attempt = Attempt {
            path: "/api/event-flows/signal",
            body: batch.body(request.identifier.as_deref()),
            what: &format!("{about} {identifier}"),
            about: &about,
        };
        let received = clients.send(client, attempt).await;
        request.latest_clock = request.latest_clock.max(received.latest_clock);
        still_served.extend(received.still_served);
        if let Some(response) = &received.response {
            let deferred = response.body["deferred"].as_u64().unwrap_or_default();
            clients.aws.state().counts.deferred += deferred;
            let wrong = request.note(response.status, &response.body, clients.aws.micros());
            if let Some(wrong) = wrong {
                let text = format!("{about} {wrong}: {}", response.body);
                let promises = &mut clients.aws.state().promises;
                promises.note(Promise::Response, text, about.clone());
            }
        }
        let is_over = clients.aws.elapsed() >= began + RETRY_TIMEOUT;
        let retries = client.retry_behavior.retries() && request.identifier.is_some();
        if request.outcome != ClientOutcome::Unknown || !retries || is_over {
            break;
        }
        client.pause(RETRY_PAUSE).await;
    }
    clients.record_when_served(
        request.latest_clock,
        still_served,
        move |record, latest_clock| {
            request.latest_clock = latest_clock;
            record.requests.insert(batch.number, request);
        },
    );
}

//! Clients that send batches of signals. This module must not know what is stored.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Instant;

use consistency::generated::GeneratedBatch;
use consistency::{ClientOutcome, RecordedRequest};
use testkit::RequestBuilder;

use crate::clients::{Client, ClientGroup, RETRY_TIMEOUT, Response, add, now, pause};

/// More batches than a client sends in a run: each has a number that no other client uses.
const NUMBERS_PER_CLIENT: u64 = 10_000_000;

/// Signals of a batch. A large one would be deferred for no other reason than a busy machine.
const SIZE: RangeInclusive<usize> = 1..=40;

/// Customers and emitters of an account that signals are for.
const SUBJECTS: u32 = 100;

/// Sends batches until `is_enough`.
pub(super) async fn send(group: Rc<ClientGroup>, client: Client, is_enough: Rc<Cell<bool>>) {
    let mut random = fastrand::Rng::new();
    let mut number = client.number * NUMBERS_PER_CLIENT;
    while !is_enough.get() {
        let size = random.usize(SIZE);
        let batch = GeneratedBatch::of_size(&mut random, client.account, number, size, SUBJECTS);
        send_batch(&group, &client, batch, &mut random).await;
        number += 1;
    }
}

/// Sends a batch until it has an outcome or the client gives up, and records what came of it.
async fn send_batch(
    group: &ClientGroup,
    client: &Client,
    batch: GeneratedBatch,
    random: &mut fastrand::Rng,
) {
    let began = Instant::now();
    let mut request = RecordedRequest {
        sent: now(),
        outcome: ClientOutcome::Unknown,
        identifier: batch.identifier.clone(),
        latest_clock: 0,
        signals: batch.sent.clone(),
    };
    while began.elapsed() < RETRY_TIMEOUT {
        let body = batch.body(request.identifier.as_deref());
        let received = group.send(client, RequestBuilder::signals(body)).await;
        request.latest_clock = request.latest_clock.max(received.latest_clock);
        if let Some(response) = received.response {
            note(&mut request, &response, group, &batch);
        }
        // Without an identifier, a retry could store the signals twice.
        if request.outcome != ClientOutcome::Unknown || request.identifier.is_none() {
            break;
        }
        pause(random).await;
    }
    let requests = &mut group.record.borrow_mut().requests;
    requests.insert(batch.number, request);
}

/// Notes what a response says of a request.
fn note(
    request: &mut RecordedRequest,
    response: &Response,
    group: &ClientGroup,
    batch: &GeneratedBatch,
) {
    let Response { status, body } = response;
    let number = batch.number;
    let sent = batch.sent.len() as u64;
    let rejected = batch.rejected();
    match status {
        200 => {
            assert_eq!(body["rejected"], rejected, "request {number}: {body}");
            let deferred = body["deferred"].as_u64().unwrap_or_default();
            add(&group.deferred, deferred);
            add(&group.acknowledged, sent - rejected);
            request.outcome = ClientOutcome::Acknowledged(now());
        }
        400 => {
            // The 400 to a batch says that no signal of it is accepted.
            assert_eq!(rejected, sent, "request {number}: {body}");
            request.outcome = ClientOutcome::Rejected;
        }
        503 => {
            // A request that named no identifier is retried with the one of its 503.
            if request.identifier.is_none() {
                let named = body["requestIdentifier"].as_str();
                request.identifier = named.map(ToOwned::to_owned);
            }
        }
        _ => panic!("request {number}: {status} {body}"),
    }
}

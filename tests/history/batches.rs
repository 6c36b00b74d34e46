//! Clients that send batches of signals. This module must not know what is stored.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Instant;

use consistency::generated::GeneratedBatch;
use consistency::{ClientOutcome, RecordedRequest};
use harness::RequestBuilder;

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
    let mut request = RecordedRequest::new(&batch, now());
    while began.elapsed() < RETRY_TIMEOUT {
        let body = batch.body(request.identifier.as_deref());
        let received = group.send(client, RequestBuilder::signals(body)).await;
        request.latest_clock = request.latest_clock.max(received.latest_clock);
        if let Some(Response { status, body }) = received.response {
            let number = batch.number;
            assert!(
                matches!(status, 200 | 400 | 503),
                "request {number}: {status} {body}"
            );
            let wrong = request.note(status, &body, now());
            assert_eq!(wrong, None, "request {number}: {body}");
            if status == 200 {
                let deferred = body["deferred"].as_u64().unwrap_or_default();
                add(&group.deferred, deferred);
                let accepted = batch.sent.len() as u64 - request.rejected();
                add(&group.acknowledged, accepted);
            }
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

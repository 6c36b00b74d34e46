//! Clients that update customers. This module must not know what is stored.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use consistency::generated::GeneratedUpdate;
use consistency::{ClientOutcome, RecordedUpdate};
use harness::RequestBuilder;

use crate::clients::{Client, ClientGroup, RETRY_TIMEOUT, Response, add, now, pause};

/// Customers of an account that all clients update at one time.
const CUSTOMERS: u32 = 8;

/// Sends updates of customers until `is_enough`.
pub(super) async fn send(group: Rc<ClientGroup>, client: Client, is_enough: Rc<Cell<bool>>) {
    let mut random = fastrand::Rng::new();
    let mut number = 0;
    while !is_enough.get() {
        let profile = GeneratedUpdate::of_customers(&mut random, client.number, number, CUSTOMERS);
        let update = send_update(&group, &client, profile, &mut random).await;
        group.record.borrow_mut().updates.push(update);
        // Signals are what most of the load is.
        pause(&mut random).await;
        number += 1;
    }
}

/// Sends an update until it has an outcome or the client gives up. Returns what came of it.
async fn send_update(
    group: &ClientGroup,
    client: &Client,
    profile: GeneratedUpdate,
    random: &mut fastrand::Rng,
) -> RecordedUpdate {
    let began = Instant::now();
    let body = profile.body();
    let mut update = RecordedUpdate::new(profile, client.account, now());
    loop {
        let request = RequestBuilder::customer(body.clone());
        let received = group.send(client, request).await;
        update.latest_clock = update.latest_clock.max(received.latest_clock);
        if let Some(Response { status, body }) = received.response {
            let customer = update.customer;
            assert!(
                matches!(status, 200 | 503),
                "an update of customer {customer}: {status} {body}"
            );
            let wrong = update.note(status, &body, now());
            assert_eq!(wrong, None, "an update of customer {customer}: {body}");
        }
        if update.outcome != ClientOutcome::Unknown {
            add(&group.acknowledged, 1);
            add(&group.deferred, u64::from(update.is_deferred));
            return update;
        }
        if began.elapsed() >= RETRY_TIMEOUT {
            return update;
        }
        update.is_repeated = true;
        pause(random).await;
    }
}

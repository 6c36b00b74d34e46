//! Clients that update customers. This module must not know what is stored.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use consistency::generated::{GeneratedUpdate, subject_number};
use consistency::{ClientOutcome, Micros, RecordedUpdate};
use testkit::RequestBuilder;

use crate::clients::{Client, ClientGroup, RETRY_TIMEOUT, Response, add, now, pause};

/// What came of an update after its last attempt.
struct UpdateResult {
    outcome: ClientOutcome,
    is_deferred: bool,
    is_repeated: bool,
    latest_clock: Micros,
}

/// Sends updates of customers until `stop` says so.
pub(super) async fn send(group: Rc<ClientGroup>, client: Client, stop: Rc<Cell<bool>>) {
    let mut random = client.random();
    for number in 0.. {
        if stop.get() {
            return;
        }
        let mut random_of_update = random.fork();
        send_update(&group, &client, number, &mut random_of_update).await;
        // Signals are what most of the load is.
        pause(&mut random).await;
    }
}

/// Sends an update, and notes what came of it.
async fn send_update(
    group: &ClientGroup,
    client: &Client,
    number: u64,
    random: &mut fastrand::Rng,
) {
    let profile = GeneratedUpdate::random(random, client.number, number);
    let sent = now();
    let UpdateResult {
        outcome,
        is_deferred,
        is_repeated,
        latest_clock,
    } = send_until_answered(group, client, &profile, random).await;
    let is_acknowledged = matches!(outcome, ClientOutcome::Acknowledged(_));
    add(&group.counts.acknowledged, u64::from(is_acknowledged));
    add(&group.counts.deferred, u64::from(is_deferred));
    let GeneratedUpdate {
        customer_in_account,
        fields,
    } = profile;
    let customer = subject_number(client.account, customer_in_account);
    group.record.borrow_mut().updates.push(RecordedUpdate {
        customer,
        sent,
        outcome,
        latest_clock,
        is_deferred,
        is_repeated,
        fields,
    });
}

async fn send_until_answered(
    group: &ClientGroup,
    client: &Client,
    profile: &GeneratedUpdate,
    random: &mut fastrand::Rng,
) -> UpdateResult {
    let began = Instant::now();
    let mut result = UpdateResult {
        outcome: ClientOutcome::Unknown,
        is_deferred: false,
        is_repeated: false,
        latest_clock: 0,
    };
    loop {
        let request = RequestBuilder::customer(profile.body());
        let received = group.send(client, request).await;
        result.latest_clock = result.latest_clock.max(received.latest_clock);
        if let Some(Response { status, body }) = received.response {
            match status {
                200 => {
                    result.outcome = ClientOutcome::Acknowledged(now());
                    result.is_deferred = body["result"] == "deferred";
                    return result;
                }
                503 => {}
                _ => {
                    let customer = profile.customer_in_account;
                    panic!("an update of customer {customer}: {status} {body}");
                }
            }
        }
        if !client.retries || began.elapsed() >= RETRY_TIMEOUT {
            return result;
        }
        result.is_repeated = true;
        pause(random).await;
    }
}

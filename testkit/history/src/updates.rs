//! Clients that update customers. Must not know what is stored.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use testkit::RequestBuilder;

use crate::clients::{Client, RETRY_TIMEOUT, Response, Shared, add, now, pause};
use crate::consistency::{Micros, Outcome, Update};
use crate::load::{Profile, subject};

/// What came of an update after its last attempt.
struct Applied {
    outcome: Outcome,
    is_deferred: bool,
    is_repeated: bool,
    latest_clock: Micros,
}

/// Sends updates of customers until `stop` says so.
pub(super) async fn send(shared: Rc<Shared>, client: Client, stop: Rc<Cell<bool>>) {
    let mut random = client.random();
    for number in 0.. {
        if stop.get() {
            return;
        }
        let mut random_of_update = random.fork();
        send_update(&shared, &client, number, &mut random_of_update).await;
        // Signals are what most of the load is.
        pause(&mut random).await;
    }
}

/// Sends an update, and notes what came of it.
async fn send_update(shared: &Shared, client: &Client, number: u64, random: &mut fastrand::Rng) {
    let profile = Profile::random(random, client.number, number);
    let sent = now();
    let Applied {
        outcome,
        is_deferred,
        is_repeated,
        latest_clock,
    } = deliver(shared, client, &profile, random).await;
    let is_acknowledged = matches!(outcome, Outcome::Acknowledged(_));
    add(&shared.counts.acknowledged, u64::from(is_acknowledged));
    add(&shared.counts.deferred, u64::from(is_deferred));
    let Profile { customer, fields } = profile;
    let customer = subject(client.account, customer);
    shared.history.borrow_mut().updates.push(Update {
        customer,
        sent,
        outcome,
        latest_clock,
        is_deferred,
        is_repeated,
        fields,
    });
}

async fn deliver(
    shared: &Shared,
    client: &Client,
    profile: &Profile,
    random: &mut fastrand::Rng,
) -> Applied {
    let began = Instant::now();
    let mut applied = Applied {
        outcome: Outcome::Unknown,
        is_deferred: false,
        is_repeated: false,
        latest_clock: 0,
    };
    loop {
        let request = RequestBuilder::customer(profile.body());
        let received = shared.send(client, request).await;
        applied.latest_clock = applied.latest_clock.max(received.latest_clock);
        if let Some(Response { status, body }) = received.response {
            match status {
                200 => {
                    applied.outcome = Outcome::Acknowledged(now());
                    applied.is_deferred = body["result"] == "deferred";
                    return applied;
                }
                503 => {}
                _ => {
                    let customer = profile.customer;
                    panic!("an update of customer {customer}: {status} {body}");
                }
            }
        }
        if !client.retries || began.elapsed() >= RETRY_TIMEOUT {
            return applied;
        }
        applied.is_repeated = true;
        pause(random).await;
    }
}

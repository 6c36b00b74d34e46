//! Clients that update customers. Must not know what is stored.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use testkit::RequestBuilder;

use crate::clients::{Client, RETRY_TIMEOUT, Shared, add, now, pause};
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
        send_update(&shared, &client, number, &mut random.fork()).await;
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
    } = update(shared, client, &profile, random).await;
    add(
        &shared.counts.acknowledged,
        u64::from(matches!(outcome, Outcome::Acknowledged(_))),
    );
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

async fn update(
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
        let received = shared
            .send(client, RequestBuilder::customer(profile.body()))
            .await;
        applied.latest_clock = applied.latest_clock.max(received.latest_clock);
        match received.response {
            Some((200, body)) => {
                applied.outcome = Outcome::Acknowledged(now());
                applied.is_deferred = body["result"] == "deferred";
                return applied;
            }
            Some((503, _)) | None => {}
            Some((status, body)) => {
                panic!(
                    "an update of customer {}: {status} {body}",
                    profile.customer
                )
            }
        }
        if !client.retries || began.elapsed() >= RETRY_TIMEOUT {
            return applied;
        }
        applied.is_repeated = true;
        pause(random).await;
    }
}

//! Clients that update customers.

use std::rc::Rc;

use consistency::generated::GeneratedUpdate;
use consistency::{ClientOutcome, RecordedUpdate};

use super::{Attempt, Client, Clients, RETRY_TIMEOUT};
use crate::promises::Promise;

/// How long a client waits before it sends an update again, in milliseconds.
const RETRY_PAUSE: u64 = 400;

/// Sends updates until the time of the run is over.
pub async fn run(clients: Rc<Clients>, client: Client) {
    for number in 0.. {
        if clients.aws.elapsed() >= clients.scenario.lasts {
            return;
        }
        let profile = {
            let mut random = client.random.borrow_mut();
            let customers = clients.scenario.customers;
            GeneratedUpdate::of_customers(&mut random, client.number, number, customers)
        };
        send_update(&clients, &client, profile).await;
        client.pause(clients.scenario.pause).await;
    }
}

/// Sends an update, and records what came of it.
async fn send_update(clients: &Rc<Clients>, client: &Client, profile: GeneratedUpdate) {
    let began = clients.aws.elapsed();
    let body = profile.body();
    let key = profile.key(client.account);
    let what = format!("an update of {key}: {:?}", profile.fields);
    let mut update = RecordedUpdate::new(profile, client.account, clients.aws.micros());
    let mut still_served = Vec::new();
    loop {
        let attempt = Attempt {
            path: "/api/customers",
            body: body.clone(),
            what: &what,
            about: &key,
        };
        let received = clients.send(client, attempt).await;
        update.latest_clock = update.latest_clock.max(received.latest_clock);
        still_served.extend(received.still_served);
        if let Some(response) = received.response {
            let wrong = update.note(response.status, &response.body, clients.aws.micros());
            if let Some(wrong) = wrong {
                let text = format!("{wrong}: {}", response.body);
                let promises = &mut clients.aws.state().promises;
                promises.note(Promise::Response, text, key.clone());
            }
        }
        let is_over = clients.aws.elapsed() >= began + RETRY_TIMEOUT;
        if update.outcome != ClientOutcome::Unknown || !client.retry_behavior.retries() || is_over {
            break;
        }
        update.is_repeated = true;
        client.pause(RETRY_PAUSE).await;
    }
    clients.aws.state().counts.deferred += u64::from(update.is_deferred);
    clients.record_when_served(
        update.latest_clock,
        still_served,
        move |record, latest_clock| {
            update.latest_clock = latest_clock;
            record.updates.push(update);
        },
    );
}

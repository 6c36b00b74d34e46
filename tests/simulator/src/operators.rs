//! What operators do during a run: imports, erasures and revocations. This module must not know what is
//! correct.

use std::rc::Rc;
use std::time::Duration;

use aws::deadline::Deadline;
use aws::sqs::COUNT_DELAY;
use consistency::generated::{
    FIELDS, GeneratedUpdate, IMPORTED_FIELD, account_id, customer_key, subject_in_account,
};
use consistency::{ClientOutcome, LATE_CALLS, RecordedUpdate};
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use serde_json::json;
use store::customers::{CustomersTable, NewerField, StoredPart, Upsert};
use store::fence::UpdateMark;
use store::retry::MAX_REQUEST_DURATION;
use tokio::task::spawn_local;
use tokio::time::sleep;

use crate::aws::connector::EnvironmentConnector;
use crate::aws::dynamodb::CUSTOMERS;
use crate::clients::Clients;
use crate::environment::customers_table;

/// How far ahead a time of an import may be, in seconds. `cargo intake import` refuses more.
const MAX_SECONDS_AHEAD: u64 = 5 * 60;

/// How long a write of an import is repeated.
const IMPORT_WRITE_BUDGET: Duration = Duration::from_secs(10);

/// How often an erasure reads the counts of the queue, and the time between two readings.
const MAX_READINGS: u32 = 90;
const READING_INTERVAL: Duration = Duration::from_secs(10);

/// The updates among whose customers an operator chooses.
const RECENT_UPDATES: usize = 10;

/// Imports customers of an account, as `cargo intake import` does, until the time of the run is over.
/// The `updatedAt` of its lines is up to five minutes ahead, and so are the items that it leaves.
pub async fn import(clients: Rc<Clients>, account: u32, pause: u64, mut random: fastrand::Rng) {
    let name = format!("import {account}");
    let connector = EnvironmentConnector::new(clients.aws.clone(), &name);
    let table = customers_table(&connector);
    for number in 0.. {
        sleep(Duration::from_millis(random.u64(..pause))).await;
        if clients.aws.elapsed() >= clients.scenario.lasts {
            return;
        }
        let mut profile = GeneratedUpdate::imported(&mut random, number);
        if let Some([recent_account, customer]) = recent_customer(&clients, &mut random)
            && recent_account == account
        {
            profile.customer_in_account = customer;
        }
        let seconds = clients.aws.now().seconds() + random.u64(..MAX_SECONDS_AHEAD);
        // In a millisecond of its own: a late attempt may undo another update with the same time.
        let updated_at = Timestamp::from_millis(seconds * 1_000 + number % 1_000);
        let update = import_line(&clients, &table, account, profile, updated_at).await;
        clients.record.borrow_mut().updates.push(update);
    }
}

/// Writes a customer, and returns what came of it.
async fn import_line(
    clients: &Clients,
    table: &CustomersTable,
    account: u32,
    profile: GeneratedUpdate,
    updated_at: Timestamp,
) -> RecordedUpdate {
    let sent = clients.aws.micros();
    let body = profile.body();
    let text = JsonText::parse(&body).expect("a body is JSON");
    let update = CustomerUpdate::parse(text).expect("a body is an update");
    let account_id = account_id(account)
        .parse()
        .expect("an account has a valid name");
    let upsert = Upsert {
        account_id: &account_id,
        update: &update,
        mark: UpdateMark::new_imported(updated_at),
        newer_field: NewerField::Keep,
        now: clients.aws.now(),
    };
    let written = table
        .upsert(upsert, Deadline::after(IMPORT_WRITE_BUDGET))
        .await;
    let ended = clients.aws.micros();
    let outcome = match written.map(|upserted| upserted.part) {
        Ok(StoredPart::Whole) => ClientOutcome::Acknowledged(ended),
        // A newer update may also be stored over an attempt that took effect without a response.
        Ok(StoredPart::Some | StoredPart::AsWritten | StoredPart::Newer) | Err(_) => {
            ClientOutcome::Unknown
        }
    };
    RecordedUpdate {
        outcome,
        latest_clock: ended,
        ..RecordedUpdate::new(profile, account, sent)
    }
}

/// Erases customers now and then, while SQS counts no message. It may not count yet what was queued in
/// the last minute.
pub async fn erase(clients: Rc<Clients>, mut random: fastrand::Rng) {
    let mut erasures = Vec::new();
    loop {
        sleep(Duration::from_millis(random.u64(1_000..15_000))).await;
        if clients.aws.elapsed() >= clients.scenario.lasts {
            break;
        }
        let Some([account, customer]) = recent_customer(&clients, &mut random) else {
            continue;
        };
        if counted_messages(&clients) > 0 {
            continue;
        }
        let erasure = erase_customer(clients.clone(), account, customer);
        erasures.push(spawn_local(erasure));
    }
    for erasure in erasures {
        erasure.await.expect("an erasure does not panic");
    }
}

/// Erases a customer at once, and a second time when no request is under way any more that came before,
/// and none of their messages is left. `cargo intake customers erase` deletes only then.
async fn erase_customer(clients: Rc<Clients>, account: u32, customer: u32) {
    let sent = clients.aws.micros();
    delete(&clients, account, customer);
    sleep(MAX_REQUEST_DURATION + LATE_CALLS + COUNT_DELAY).await;
    let mut readings = 0..MAX_READINGS;
    while counted_messages(&clients) > 0 {
        if readings.next().is_none() {
            // The command fails: the customer may come back.
            record_erasure(&clients, account, customer, sent, ClientOutcome::Unknown);
            return;
        }
        sleep(READING_INTERVAL).await;
    }
    delete(&clients, account, customer);
    let outcome = ClientOutcome::Acknowledged(clients.aws.micros());
    record_erasure(&clients, account, customer, sent, outcome);
}

/// How many messages SQS says that the overflow queue has.
fn counted_messages(clients: &Clients) -> usize {
    let now = clients.aws.elapsed();
    clients.aws.state().queues.counted(now)
}

/// The account and the number of a customer of one of the last updates.
fn recent_customer(clients: &Clients, random: &mut fastrand::Rng) -> Option<[u32; 2]> {
    let record = clients.record.borrow();
    let recent = record.updates.iter().rev().take(RECENT_UPDATES);
    let recent: Vec<_> = recent
        .map(|update| subject_in_account(update.customer))
        .collect();
    (!recent.is_empty()).then(|| recent[random.usize(..recent.len())])
}

/// Deletes the item of a customer, past the faults.
fn delete(clients: &Clients, account: u32, customer: u32) {
    let key = customer_key(account, customer);
    let body = json!({"TableName": CUSTOMERS, "Key": {"pk": {"S": key}}});
    clients.aws.note("operator", || format!("erases {key}"));
    let now = clients.aws.elapsed();
    let state = &mut *clients.aws.state();
    state.tables.call("DeleteItem", &body, &mut |_| {});
    state.erased_at.insert(key, now);
}

/// To the checker, an erasure is an update that removes every field.
fn record_erasure(
    clients: &Clients,
    account: u32,
    customer: u32,
    sent: u64,
    outcome: ClientOutcome,
) {
    let fields = FIELDS.into_iter().chain([IMPORTED_FIELD]);
    let update = GeneratedUpdate {
        customer_in_account: customer,
        fields: fields.map(|field| (field, None)).collect(),
    };
    clients.record.borrow_mut().updates.push(RecordedUpdate {
        outcome,
        latest_clock: clients.aws.micros(),
        is_erasure: true,
        ..RecordedUpdate::new(update, account, sent)
    });
}

/// Revokes one key of each account.
pub async fn revoke(clients: Rc<Clients>, at: Duration) {
    sleep(at).await;
    clients.keys.revoke_some(&clients.aws);
}

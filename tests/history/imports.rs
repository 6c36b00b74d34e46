//! Imports of customers: one for each account writes to the table, past the functions, as `cargo
//! intake import` does. Its `updatedAt` is up to five minutes ahead, and so are the items that it
//! leaves. This module must not know what is correct.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use aws::deadline::Deadline;
use consistency::generated::{GeneratedUpdate, account_id, subject_number};
use consistency::{ClientOutcome, RecordedUpdate};
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use store::customers::{CustomersTable, NewerField, StoredPart, Upsert};
use store::fence::UpdateMark;

use crate::clients::{ClientGroup, add, now, pause};

/// How far ahead a time of an import may be, in seconds. `cargo intake import` refuses more.
const MAX_SECONDS_AHEAD: u64 = 5 * 60;

/// How long a write is repeated.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The import of an account.
pub(super) struct Import {
    pub(super) table: CustomersTable,
    pub(super) account: u32,
    pub(super) seed: u64,
}

impl Import {
    /// Writes customers until `stop` says so.
    pub(super) async fn run(self, group: Rc<ClientGroup>, stop: Rc<Cell<bool>>) {
        let mut random = fastrand::Rng::with_seed(self.seed ^ u64::from(self.account));
        for number in 0.. {
            if stop.get() {
                return;
            }
            let profile = GeneratedUpdate::imported(&mut random, number);
            let ahead = random.u64(..MAX_SECONDS_AHEAD);
            let updated_at = updated_at(number, ahead);
            let update = self.write(profile, updated_at).await;
            let is_stored = matches!(update.outcome, ClientOutcome::Acknowledged(_));
            add(&group.counts.imported, u64::from(is_stored));
            group.record.borrow_mut().updates.push(update);
            pause(&mut random).await;
        }
    }

    /// Writes the fields of a customer that are not newer in the table. Returns what came of it.
    async fn write(&self, profile: GeneratedUpdate, updated_at: Timestamp) -> RecordedUpdate {
        let body = profile.body();
        let text = JsonText::parse(&body).expect("a body is JSON");
        let update = CustomerUpdate::parse(text).expect("a body is an update");
        let account = account_id(self.account)
            .parse()
            .expect("an account has a valid name");
        let sent = now();
        let deadline = Deadline::after(WRITE_TIMEOUT);
        let upsert = Upsert {
            account_id: &account,
            update: &update,
            mark: UpdateMark::new_imported(updated_at),
            newer_field: NewerField::Keep,
            now: Timestamp::now(),
        };
        let written = self.table.upsert(upsert, deadline).await;
        let ended = now();
        let outcome = match written.map(|upserted| upserted.part) {
            Ok(StoredPart::Whole) => ClientOutcome::Acknowledged(ended),
            // A newer update may also be stored over an attempt that took effect without an answer.
            Ok(StoredPart::Some | StoredPart::AsWritten | StoredPart::Newer) | Err(_) => {
                ClientOutcome::Unknown
            }
        };
        RecordedUpdate {
            customer: subject_number(self.account, profile.customer_in_account),
            sent,
            outcome,
            latest_clock: ended,
            is_deferred: false,
            is_repeated: false,
            fields: profile.fields,
        }
    }
}

/// The time of the `number`-th update: in a millisecond of its own, because a late attempt may undo
/// another update with the same time.
fn updated_at(number: u64, seconds_ahead: u64) -> Timestamp {
    let seconds = Timestamp::now().seconds() + seconds_ahead;
    Timestamp::from_millis(seconds * 1_000 + number % 1_000)
}

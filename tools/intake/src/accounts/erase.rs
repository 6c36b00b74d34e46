//! `accounts erase`: revokes the keys of an account, and deletes all that is stored under it.
//!
//! The keys first, so that nothing is added while the tables are read. It keeps no record of its
//! progress: a second run finds what is left. It prints a line for the operator's record of
//! erasures, which a restore of a table makes necessary.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde_json::json;

use crate::confirm::confirm_by_name;
use crate::interrupt::until_interrupted;
use crate::items::{batch_delete, key, scan};
use crate::keys::{KeyTable, StoredKey, snapshot};
use crate::output::{Format, note};
use crate::overflow::refuse_while_queued;
use crate::stack::{CUSTOMERS, IDEMPOTENCY, Item, REJECTED_SIGNALS, SIGNALS, Stack};

/// How long functions may store signals of a key after its revocation: they cache the key for a
/// minute, and then complete the requests that they accepted in the last second of it.
const REVOCATION_DELAY: Duration = Duration::from_secs(75);

/// The bound of [`REVOCATION_DELAY`] where there is a key snapshot: the minute of the cache, and
/// one until the snapshot is read again.
const LATE_SIGNALS: &str = "A function that got no answer from the key table may have accepted the keys for two minutes after \
     their revocation, and for longer while S3 did not answer either. If that may have happened, run the command again: that \
     is safe, and erases what was stored since.";

/// The tables that hold data of accounts, and their key attributes. The profiles last: while they
/// are there, an operator sees that the erasure is incomplete.
const TABLES: [(&str, &[&str]); 4] = [
    (IDEMPOTENCY, &["pk"]),
    (REJECTED_SIGNALS, &["pk", "sk"]),
    (SIGNALS, &["pk", "sk"]),
    (CUSTOMERS, &["pk"]),
];

/// How many items of each of [`TABLES`] are deleted.
type Counts = [usize; TABLES.len()];

pub(super) async fn erase(
    stack: &Stack,
    account: &AccountId,
    yes: bool,
    anyway: bool,
    format: Format,
) -> Result<()> {
    refuse_while_queued(stack, anyway).await?;
    let table = KeyTable::new(stack)?;
    let mut keys = table.all().await?;
    keys.retain(|key| key.record.account_id == *account);
    let now = Timestamp::now();
    let active = keys.iter().filter(|key| key.record.is_active(now)).count();
    let question = format!(
        "Erase everything that is stored of the account {account}, and revoke {active} key(s)? This cannot be undone."
    );
    confirm_by_name(&question, account.as_str(), yes)?;
    // The command listens for Ctrl-C only after the answer: until then, Ctrl-C ends the process.
    let (counts, published) =
        until_interrupted(Box::pin(revoke_and_delete(&table, account, &keys, anyway)))
            .await?
            .context("Interrupted. To erase what is left, run the command again.")?;
    if keys.is_empty() && counts == Counts::default() {
        bail!("The account {account} has no key, and there is no data of it.");
    }
    let erased_at = Timestamp::now();
    let [idempotency_records, rejected_signals, signals, profiles] = counts;
    let json = json!({
        "erasedAt": erased_at, "accountId": account, "profiles": profiles, "signals": signals,
        "rejectedSignals": rejected_signals, "idempotencyRecords": idempotency_records, "revokedKeys": active,
    });
    let text = format!(
        "Erased the account {account} at {erased_at}: {profiles} profile(s), {signals} signal(s), {rejected_signals} rejected \
         signal(s), {idempotency_records} idempotency record(s), {active} key(s) revoked."
    );
    let printed = format.print(&text, &json);
    if snapshot::bucket(stack).await?.is_some() {
        note(LATE_SIGNALS);
    }
    // Last, so that the operator has the line for the record in any case.
    published.and(printed)
}

/// Returns how many items it deleted, and whether the key snapshot has the revocations: without it,
/// the erasure goes on.
async fn revoke_and_delete(
    table: &KeyTable<'_>,
    account: &AccountId,
    keys: &[StoredKey],
    anyway: bool,
) -> Result<(Counts, Result<()>)> {
    let stack = table.stack;
    let last_revocation = revoke_all(table, keys).await;
    // Also when an earlier run revoked the keys, and could not write the key snapshot.
    let published = if keys.is_empty() {
        Ok(())
    } else {
        snapshot::publish_change(table).await
    };
    wait_for_functions(last_revocation?).await;
    // Signals that clients sent until now may be queued.
    refuse_while_queued(stack, anyway)
        .await
        .context("The keys are revoked, and nothing is deleted")?;
    let mut counts = Counts::default();
    for (count, (variable, key_names)) in counts.iter_mut().zip(TABLES) {
        *count = delete_items(stack, account, variable, key_names).await?;
    }
    Ok((counts, published))
}

/// Revokes the keys that are active. Returns when the last of all of them was revoked.
async fn revoke_all(table: &KeyTable<'_>, keys: &[StoredKey]) -> Result<Option<Timestamp>> {
    let (now, mut last) = (Timestamp::now(), None);
    for key in keys {
        if key.record.is_active(now) {
            table.revoke(key, now).await?;
            last = Some(now);
        }
        last = last.max(key.record.revoked_at);
    }
    Ok(last)
}

/// Waits while functions may still accept a key of the account.
async fn wait_for_functions(last_revocation: Option<Timestamp>) {
    let until = last_revocation.map(|revoked_at| revoked_at.plus(REVOCATION_DELAY));
    let left = until.map_or(Duration::ZERO, |until| {
        until.duration_since(Timestamp::now())
    });
    if !left.is_zero() {
        note(&format!(
            "Waiting {} s: functions accept a key for up to a minute after its revocation.",
            left.as_secs()
        ));
        tokio::time::sleep(left).await;
    }
}

async fn delete_items(
    stack: &Stack,
    account: &AccountId,
    variable: &str,
    key_names: &[&str],
) -> Result<usize> {
    let table = stack.table(variable)?;
    let mut count = 0;
    let of_account = |scan: ScanFluentBuilder| {
        scan.consistent_read(true)
            .filter_expression("begins_with(pk, :account)")
            .expression_attribute_values(":account", AttributeValue::S(account.partition_key("")))
            .projection_expression(key_names.join(", "))
    };
    scan(stack, table, of_account, async |page| {
        let keys: Vec<Item> = page
            .items()
            .iter()
            .map(|item| key(item, key_names))
            .collect();
        batch_delete(&stack.client, table, &keys).await?;
        count += keys.len();
        Ok(())
    })
    .await
    .map(|()| count)
}

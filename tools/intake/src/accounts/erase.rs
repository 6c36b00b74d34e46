//! `accounts erase`: revokes the keys of an account, and deletes all that is stored under it.
//!
//! It revokes the keys first, so that functions add nothing while it reads the tables. A key that
//! someone creates meanwhile is revoked too, and ends the command with an error: run again, it waits
//! until no function accepts that key either.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use model::account::AccountId;
use model::key_entry::VALID_KEY_CACHE_TTL;
use model::timestamp::Timestamp;
use serde_json::json;
use store::attributes::Item;
use store::retry::MAX_REQUEST_DURATION;

use crate::confirm::confirm_by_name;
use crate::erasure::{ErasureArgs, refuse_while_queued, until_erased, wait_for_functions};
use crate::keys::{KeyTable, StoredKey, no_such_key, snapshot};
use crate::output::{Format, counted, note};
use crate::stack::Stack;
use crate::stack::variable_names::{
    CUSTOMERS_TABLE, IDEMPOTENCY_TABLE, REJECTED_SIGNALS_TABLE, SIGNALS_TABLE,
};
use operator::items::{batch_delete, item_key, partition_prefix, scan_table};

#[derive(Args, Debug)]
pub(crate) struct EraseAccount {
    /// The account
    #[arg(value_name = "ACCOUNT")]
    account: AccountId,

    #[command(flatten)]
    erasure: ErasureArgs,
}

/// A margin: another machine may have revoked the key, and its clock differs from this one's.
const CLOCK_MARGIN: Duration = Duration::from_secs(5);

/// How long functions may store signals of a key after its revocation: they cache the key, and then
/// complete the requests that they accepted in the last second of that time.
const REVOCATION_DELAY: Duration = VALID_KEY_CACHE_TTL
    .saturating_add(MAX_REQUEST_DURATION)
    .saturating_add(CLOCK_MARGIN);

/// Why [`REVOCATION_DELAY`] may be too short where there is a key snapshot. Its two minutes are the
/// minute of the cache, and one until the snapshot is read again.
const LATE_SIGNALS: &str = "A function that got no answer from the key table may have accepted the keys for two minutes after \
     their revocation, and for longer while S3 did not answer either. If that may have happened, run the command again: that \
     is safe, and erases what was stored since.";

/// A table that holds data of accounts.
struct AccountTable {
    /// The variable that names it.
    variable: &'static str,
    key_names: &'static [&'static str],
}

const IDEMPOTENCY_RECORDS: AccountTable = AccountTable {
    variable: IDEMPOTENCY_TABLE,
    key_names: &["pk"],
};

const REJECTED: AccountTable = AccountTable {
    variable: REJECTED_SIGNALS_TABLE,
    key_names: &["pk", "sk"],
};

const STORED_SIGNALS: AccountTable = AccountTable {
    variable: SIGNALS_TABLE,
    key_names: &["pk", "sk"],
};

const PROFILES: AccountTable = AccountTable {
    variable: CUSTOMERS_TABLE,
    key_names: &["pk"],
};

/// How many items of each table are deleted.
struct AccountErasureCounts {
    idempotency_records: usize,
    rejected_signals: usize,
    signals: usize,
    profiles: usize,
}

impl AccountErasureCounts {
    fn are_zero(&self) -> bool {
        self.idempotency_records + self.rejected_signals + self.signals + self.profiles == 0
    }
}

/// What an erasure did.
struct AccountErasureOutcome {
    counts: AccountErasureCounts,
    /// Whether the key snapshot has the revocations. Without it, the erasure goes on.
    published: Result<()>,
    /// Whether the account got no key during the erasure. It is looked at after everything is deleted.
    no_later_key: Result<()>,
}

impl EraseAccount {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self {
            account,
            erasure: ErasureArgs { yes, anyway },
        } = self;
        refuse_while_queued(stack, *anyway).await?;
        let key_table = KeyTable::new(stack)?;
        let api_keys = keys_of_account(&key_table, account).await?;
        let now = Timestamp::now();
        let active = api_keys
            .iter()
            .filter(|key| key.entry.is_active(now))
            .count();
        let question = format!(
            "Erase everything that is stored of the account {account}, and revoke {active} key(s)? This cannot be undone."
        );
        confirm_by_name(&question, account.as_str(), *yes)?;
        let work = revoke_and_delete(&key_table, account, &api_keys, *anyway);
        let outcome = until_erased(work).await?;
        let has_no_key = api_keys.is_empty() && outcome.no_later_key.is_ok();
        if has_no_key && outcome.counts.are_zero() {
            bail!("The account {account} has no key, and there is no data of it.");
        }
        let printed = print(account, &outcome.counts, active, format);
        if snapshot::has_bucket(stack) {
            note(LATE_SIGNALS);
        }
        // These errors are returned last, so that the operator has the line for the record in any case.
        // A later key comes first: the second run that it asks for also writes the snapshot.
        outcome.no_later_key.and(outcome.published).and(printed)
    }
}

async fn keys_of_account(key_table: &KeyTable<'_>, account: &AccountId) -> Result<Vec<StoredKey>> {
    let mut api_keys = key_table.all().await?;
    api_keys.retain(|key| key.entry.account_id == *account);
    Ok(api_keys)
}

fn print(
    account: &AccountId,
    counts: &AccountErasureCounts,
    revoked_keys: usize,
    format: Format,
) -> Result<()> {
    let erased_at = Timestamp::now();
    let AccountErasureCounts {
        idempotency_records,
        rejected_signals,
        signals,
        profiles,
    } = counts;
    let json = json!({
        "erasedAt": erased_at,
        "accountId": account,
        "profiles": profiles,
        "signals": signals,
        "rejectedSignals": rejected_signals,
        "idempotencyRecords": idempotency_records,
        "revokedKeys": revoked_keys,
    });
    let text = format!(
        "Erased the account {account} at {erased_at}: {profiles} profile(s), {signals} signal(s), {rejected_signals} rejected \
         signal(s), {idempotency_records} idempotency record(s), {revoked_keys} key(s) revoked."
    );
    format.print(&text, &json)
}

async fn revoke_and_delete(
    key_table: &KeyTable<'_>,
    account: &AccountId,
    api_keys: &[StoredKey],
    anyway: bool,
) -> Result<AccountErasureOutcome> {
    let stack = key_table.stack;
    let last_revocation = revoke_all(key_table, api_keys).await;
    // The snapshot is also written when an earlier run revoked the keys, and could not write it.
    let published = if api_keys.is_empty() {
        Ok(())
    } else {
        snapshot::publish_change(key_table).await
    };
    wait_while_keys_are_cached(last_revocation?).await;
    // Signals that clients sent until now may be queued.
    refuse_while_queued(stack, anyway)
        .await
        .context("The keys are revoked, and nothing is deleted")?;
    refuse_later_keys(key_table, account, api_keys)
        .await
        .context("Nothing is deleted")?;
    let counts = delete_all(stack, account).await?;
    let no_later_key = refuse_later_keys(key_table, account, api_keys).await;
    Ok(AccountErasureOutcome {
        counts,
        published,
        no_later_key,
    })
}

/// Revokes the keys that the account got after `known_keys` were listed.
///
/// # Errors
/// There are such keys: functions may have accepted requests with them, and may do so until they have
/// read the revocations. Or the key table or the key snapshot cannot be read or written.
async fn refuse_later_keys(
    key_table: &KeyTable<'_>,
    account: &AccountId,
    known_keys: &[StoredKey],
) -> Result<()> {
    let is_known = |key: &StoredKey| {
        known_keys
            .iter()
            .any(|known| known.entry.key_id == key.entry.key_id)
    };
    let mut later_keys = keys_of_account(key_table, account).await?;
    later_keys.retain(|key| !is_known(key));
    if later_keys.is_empty() {
        return Ok(());
    }
    revoke_all(key_table, &later_keys).await?;
    let published = snapshot::publish_change(key_table).await;
    let count = counted(later_keys.len() as u64, "key");
    let error = anyhow!(
        "The account {account} got {count} during the erasure. The command revoked what was active of them, and what clients \
         sent with them may be stored. Let no operator create keys of this account, and run the command again."
    );
    match published {
        Ok(()) => Err(error),
        // The operator hears both errors.
        Err(unpublished) => Err(unpublished.context(error)),
    }
}

async fn delete_all(stack: &Stack, account: &AccountId) -> Result<AccountErasureCounts> {
    let idempotency_records = delete_items(stack, account, &IDEMPOTENCY_RECORDS).await?;
    let rejected_signals = delete_items(stack, account, &REJECTED).await?;
    let signals = delete_items(stack, account, &STORED_SIGNALS).await?;
    // The profiles last: while they are there, an operator sees that the erasure is incomplete.
    let profiles = delete_items(stack, account, &PROFILES).await?;
    Ok(AccountErasureCounts {
        idempotency_records,
        rejected_signals,
        signals,
        profiles,
    })
}

/// Revokes the keys that are active. Returns when the last of all keys was revoked.
async fn revoke_all(key_table: &KeyTable<'_>, api_keys: &[StoredKey]) -> Result<Option<Timestamp>> {
    let now = Timestamp::now();
    let mut last_revocation = None;
    for key in api_keys {
        let mut revoked_at = key.entry.revoked_at;
        if key.entry.is_active(now) {
            let exists = key_table.revoke(key, now).await?;
            ensure!(exists, no_such_key(&key.entry.key_id));
            revoked_at = Some(now);
        }
        last_revocation = last_revocation.max(revoked_at);
    }
    Ok(last_revocation)
}

/// Waits while functions may still accept a key of the account.
async fn wait_while_keys_are_cached(last_revocation: Option<Timestamp>) {
    let Some(revoked_at) = last_revocation else {
        return;
    };
    let until = revoked_at.plus(REVOCATION_DELAY);
    let left = until.duration_since(Timestamp::now());
    let reason = format!(
        "functions accept a key for up to {} s after its revocation.",
        VALID_KEY_CACHE_TTL.as_secs()
    );
    wait_for_functions(left, &reason).await;
}

/// Deletes what a table has of the account. Returns how many items that were.
async fn delete_items(
    stack: &Stack,
    account: &AccountId,
    account_table: &AccountTable,
) -> Result<usize> {
    let table_name = stack.table_name(account_table.variable)?;
    let key_names = account_table.key_names;
    let only_keys_of_account = |scan: ScanFluentBuilder| {
        scan.consistent_read(true)
            .filter_expression("begins_with(pk, :account)")
            .expression_attribute_values(":account", AttributeValue::S(partition_prefix(account)))
            .projection_expression(key_names.join(", "))
    };
    let mut count = 0;
    scan_table(
        &stack.dynamodb,
        table_name,
        note,
        only_keys_of_account,
        async |page| {
            let item_keys: Vec<Item> = page
                .items()
                .iter()
                .map(|item| item_key(item, key_names))
                .collect();
            batch_delete(&stack.dynamodb, table_name, &item_keys).await?;
            count += item_keys.len();
            Ok(())
        },
    )
    .await?;
    Ok(count)
}

//! `accounts erase`: revokes the keys of an account, and deletes all that is stored under it.
//!
//! It revokes the keys before it waits, so that functions add nothing while it reads the tables. A key
//! that someone creates meanwhile is revoked too, and ends the command with an error: run again, it
//! waits until no function accepts that key either.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde_json::{Map, json};
use store::api_keys::VALID_KEY_CACHE_TTL;
use store::retry::MAX_REQUEST_DURATION;

use crate::confirm::confirm_by_name;
use crate::erasure::{Erasure, ErasureArgs, ErasureResult, ErasureScope, Wait, until_erased};
use crate::keys::{KeyTable, StoredKey, no_such_key, snapshot};
use crate::output::{Format, counted, note};
use crate::stack::Stack;

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

/// Why [`REVOCATION_DELAY`] may be too short. Its two minutes are the
/// minute of the cache, and one until the snapshot is read again.
const LATE_SIGNALS: &str = "If the key table did not respond to a function, the function may have accepted the keys for two \
     minutes after their revocation, or longer if S3 did not respond either. In that case, run the command again: it erases \
     what was stored since.";

/// What an erasure did.
struct AccountErasureOutcome {
    erased: ErasureResult,
    revoked_keys: usize,
    /// Whether the key snapshot has the revocations. Without it, the erasure goes on.
    published: Result<()>,
    /// Whether the account got no key during the erasure. It is looked at after everything is deleted.
    no_later_key: Result<()>,
}

impl EraseAccount {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self {
            account,
            erasure: options,
        } = self;
        let erasure = Erasure::new(stack, account, ErasureScope::Account, options, &[]);
        let key_table = KeyTable::new(stack)?;
        // The keys are revoked in the snapshot, too.
        stack.key_snapshot_bucket()?;
        let found = erasure.look().await?;
        let api_keys = keys_of_account(&key_table, account).await?;
        ensure!(
            !api_keys.is_empty() || !found.counts.is_zero(),
            "The account {account} has no key, and there is no data of it."
        );
        if options.dry_run {
            return erasure.print_found(&found, format);
        }
        let active = active_keys(&api_keys);
        let question = erasure.question(&found, &format!(", and revoke {active} key(s)"));
        confirm_by_name(&question, account.as_str(), options.yes)?;
        let outcome = until_erased(revoke_and_delete(&erasure, &key_table, account)).await?;
        let revoked_keys = outcome.revoked_keys;
        let more_text = format!(", {revoked_keys} key(s) revoked");
        let more_json = Map::from_iter([("revokedKeys".to_owned(), json!(revoked_keys))]);
        let printed = erasure.print_erased(&outcome.erased, &[], format, &more_text, more_json);
        note(LATE_SIGNALS);
        // These errors are returned last, so that the operator has the line for the record in any case.
        // That of a later key comes before that of the printing: both ask for a second run.
        match outcome.no_later_key.and(printed) {
            Ok(()) => outcome.published,
            Err(error) => Err(snapshot::with_unpublished(error, outcome.published)),
        }
    }
}

async fn keys_of_account(key_table: &KeyTable<'_>, account: &AccountId) -> Result<Vec<StoredKey>> {
    let mut api_keys = key_table.all().await?;
    api_keys.retain(|key| key.entry.account_id == *account);
    Ok(api_keys)
}

fn active_keys(api_keys: &[StoredKey]) -> usize {
    let now = Timestamp::now();
    let active = api_keys.iter().filter(|key| key.entry.is_active(now));
    active.count()
}

async fn revoke_and_delete(
    erasure: &Erasure<'_>,
    key_table: &KeyTable<'_>,
    account: &AccountId,
) -> Result<AccountErasureOutcome> {
    // The account may have got a key before the confirmation.
    let api_keys = keys_of_account(key_table, account).await?;
    let revoked_keys = active_keys(&api_keys);
    let last_revocation = revoke_all(key_table, &api_keys).await;
    // The snapshot is also written when an earlier run revoked the keys, and could not write it.
    let published = if api_keys.is_empty() {
        Ok(())
    } else {
        snapshot::publish_change(key_table).await
    };
    let last_revocation = match last_revocation {
        Ok(last_revocation) => last_revocation,
        Err(error) => return Err(snapshot::with_unpublished(error, published)),
    };
    let wait = while_keys_are_cached(last_revocation);
    let erased = erasure.wait_and_delete(wait, &[]).await;
    let erased = match erased.context("The keys are revoked") {
        Ok(erased) => erased,
        Err(error) => return Err(snapshot::with_unpublished(error, published)),
    };
    let no_later_key = refuse_later_keys(key_table, account, &api_keys).await;
    Ok(AccountErasureOutcome {
        erased,
        revoked_keys,
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
    let revoked = revoke_all(key_table, &later_keys).await;
    let published = snapshot::publish_change(key_table).await;
    if let Err(error) = revoked {
        return Err(snapshot::with_unpublished(error, published));
    }
    let count = counted(later_keys.len() as u64, "key");
    let error = anyhow!(
        "The account {account} got {count} during the erasure. The command revoked those that were active, but data that \
         clients sent with them may be stored. Make sure that no operator creates keys of this account, and run the command \
         again."
    );
    Err(snapshot::with_unpublished(error, published))
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

/// Waits while functions may still accept a key of the account, and in any case for requests under way:
/// a key that was not revoked may have expired a moment ago.
fn while_keys_are_cached(last_revocation: Option<Timestamp>) -> Wait {
    let for_requests = Wait::for_requests_before(Timestamp::now(), "");
    let until = last_revocation.map(|revoked_at| revoked_at.plus(REVOCATION_DELAY));
    match until {
        Some(until) if until > for_requests.until => Wait {
            until,
            reason: format!(
                "functions accept a key for up to {} s after its revocation.",
                VALID_KEY_CACHE_TTL.as_secs()
            ),
        },
        _ => for_requests,
    }
}

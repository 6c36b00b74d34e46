//! `keys`: the API keys of accounts. A key is printed once, when it is created; only its hash is
//! stored.

mod key_table;
mod new_key;
mod rotate;
pub(crate) mod snapshot;

use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow};
use clap::{Args, Subcommand};
use futures_util::future::join;
use model::account::AccountId;
use model::api_key::Endpoint;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::key_snapshot::KeySnapshot;

use self::key_table::no_such_key;
pub(crate) use self::key_table::{KeyTable, StoredKey};
pub(crate) use self::new_key::VerificationKey;
use self::new_key::{NewKey, create, import};
use self::rotate::Rotate;
use self::snapshot::bucket;
use crate::confirm::confirm;
use crate::output::{Format, PrintedTable, note, print_json};
use crate::stack::Stack;

/// How long `keys revoke` waits for an answer of the key table before it revokes in the snapshot.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it, this once, alone on standard output
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys create --account shop --name web --expires-in 90d > key.txt"
    )]
    Create(NewKey),

    /// List keys, without their values
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys list --account shop --active"
    )]
    List(ListKeys),

    /// Create a key that replaces another; the old key stays valid for the overlap
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys rotate key_3f2a9c81d04e --overlap 24h > key.txt"
    )]
    Rotate(Rotate),

    /// Revoke a key: every function rejects it within a minute while the key table answers, and
    /// otherwise later (docs/cli.md, Keys)
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys revoke key_3f2a9c81d04e\n\n\
        While the key table does not answer within 10 seconds, it revokes the key in the key snapshot alone. The exit code is \
        0 only when both have the revocation: otherwise, run the same command again."
    )]
    Revoke {
        /// The key's id, from `keys list`
        id: String,

        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },

    /// Import a key that another system created, from standard input, so that it is in no shell
    /// history
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys import --account shop --name web < key.txt"
    )]
    Import(NewKey),

    /// Write the key snapshot, which functions go by while the key table does not answer
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys publish")]
    Publish,
}

impl KeysCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let with_short_timeout = stack.with_call_timeout(REVOCATION_TIMEOUT);
        let stack = match self {
            Self::Revoke { .. } => &with_short_timeout,
            _ => stack,
        };
        let keys = KeyTable::new(stack)?;
        let performed = self.perform(&keys, format).await;
        if !keys.must_publish.get() {
            return performed;
        }
        // The snapshot is also written after an error: a part of the command may be done.
        let published = snapshot::publish_change(&keys).await;
        match (performed, published) {
            // The operator hears both errors.
            (Err(error), Err(unpublished)) => Err(unpublished.context(error)),
            (performed, published) => performed.and(published),
        }
    }

    async fn perform(self, keys: &KeyTable<'_>, format: Format) -> Result<()> {
        match self {
            Self::Create(new) => create(keys, &new.into_entry(), format).await,
            Self::List(list) => list.run(keys, format).await,
            Self::Rotate(rotate) => rotate.run(keys, format).await,
            Self::Revoke { id, yes } => revoke(keys, &id, yes, format).await,
            Self::Import(new) => import(keys, &new.into_entry(), format).await,
            Self::Publish => snapshot::publish(keys, format).await,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ListKeys {
    /// Only the keys of this account
    #[arg(long, value_name = "NAME")]
    account: Option<AccountId>,

    /// Only keys that are neither expired nor revoked in the key table
    #[arg(long)]
    active: bool,
}

impl ListKeys {
    async fn run(&self, keys: &KeyTable<'_>, format: Format) -> Result<()> {
        let now = Timestamp::now();
        let reads = join(keys.all(), snapshot::read(keys.stack));
        let (listed, snapshot) = reads.await;
        let mut keys = listed?;
        let snapshot = snapshot.unwrap_or_else(|error| {
            note(&format!(
                "The key snapshot cannot be read: a key that only the snapshot has revoked is not shown as that. {error:#}"
            ));
            None
        });
        keys.retain(|key| self.is_wanted(&key.entry, now));
        if keys.is_empty() {
            note("No keys.");
            return Ok(());
        }
        // `--json` has the time of revocation, too.
        let headings = [
            "ID", "ACCOUNT", "NAME", "STATE", "ONLY", "CREATED", "EXPIRES",
        ];
        let mut table = PrintedTable::new(format, headings).cut_to_terminal();
        for key in &keys {
            let listed = ListedKey {
                entry: &key.entry,
                revoked_in_snapshot_only: revoked_in_snapshot_only(key, snapshot.as_ref()),
            };
            if listed.revoked_in_snapshot_only.is_some() {
                note_missing_revocation(&key.entry.key_id);
            }
            listed.add_row(&mut table, now)?;
        }
        table.print()
    }

    fn is_wanted(&self, entry: &KeyEntry, now: Timestamp) -> bool {
        let is_of_account = self
            .account
            .as_ref()
            .is_none_or(|account| entry.account_id == *account);
        is_of_account && (!self.active || entry.is_active(now))
    }
}

/// A key as it is listed.
struct ListedKey<'a> {
    entry: &'a KeyEntry,
    /// When the key was revoked, if only the snapshot has the revocation.
    revoked_in_snapshot_only: Option<Timestamp>,
}

impl ListedKey<'_> {
    fn add_row(&self, table: &mut PrintedTable, now: Timestamp) -> Result<()> {
        let entry = self.entry;
        let created = entry.created_at.to_string();
        let expires = entry
            .expires_at
            .map_or_else(|| "never".to_owned(), |end| end.to_string());
        let cells = [
            entry.key_id.as_str(),
            entry.account_id.as_str(),
            entry.name.as_str(),
            self.state(now),
            entry.only.map_or("-", Endpoint::as_str),
            &created,
            &expires,
        ];
        table.add(&self.json(now), cells)
    }

    fn state(&self, now: Timestamp) -> &'static str {
        if self.revoked_in_snapshot_only.is_some() {
            return "revoked in snapshot";
        }
        self.entry.status(now).as_str()
    }

    fn json(&self, now: Timestamp) -> Value {
        let entry = self.entry;
        let revoked_at = entry.revoked_at.or(self.revoked_in_snapshot_only);
        json!({
            "keyId": entry.key_id,
            "accountId": entry.account_id.as_str(),
            "name": entry.name,
            "state": self.state(now),
            "createdAt": entry.created_at.to_string(),
            "expiresAt": entry.expires_at.map(|end| end.to_string()),
            "only": entry.only,
            "revokedAt": revoked_at.map(|revoked_at| revoked_at.to_string()),
        })
    }
}

/// When a key was revoked that is revoked in the snapshot and not in the table.
fn revoked_in_snapshot_only(key: &StoredKey, snapshot: Option<&KeySnapshot>) -> Option<Timestamp> {
    if key.entry.revoked_at.is_some() {
        return None;
    }
    snapshot?.find(key.hash()?)?.revoked_at
}

fn note_missing_revocation(id: &str) {
    note(&format!(
        "Only the key snapshot has the revocation of {id}: functions accept the key while the key table answers. Run \
         `cargo intake keys revoke {id}` until it exits 0."
    ));
}

async fn revoke(keys: &KeyTable<'_>, id: &str, yes: bool, format: Format) -> Result<()> {
    let all = match keys.all().await {
        Ok(all) => all,
        Err(error) => return revoke_without_table(keys, id, yes, error).await,
    };
    let key = all
        .into_iter()
        .find(|key| key.entry.key_id == id)
        .with_context(|| no_such_key(id))?;
    if let Some(revoked_at) = key.entry.revoked_at {
        // The command that revoked it may have failed to write the key snapshot.
        keys.must_publish.set(true);
        note(&format!(
            "The key {id} is already revoked, since {revoked_at}."
        ));
    } else {
        let account = &key.entry.account_id;
        let name = &key.entry.name;
        let question = format!(
            "Revoke the key {id} ({name:?}) of the account {account}? This cannot be undone."
        );
        confirm(&question, yes)?;
        let revoked = keys.revoke(&key, Timestamp::now()).await;
        if let Err(error) = revoked {
            return revoke_without_table(keys, id, true, error).await;
        }
        note_revoked(keys.stack, id).await?;
    }
    match format {
        Format::Json => print_json(&json!({"keyId": id, "revoked": true})),
        Format::Text => Ok(()),
    }
}

/// Tells the operator how long functions may still accept a key that is revoked in the table.
async fn note_revoked(stack: &Stack, id: &str) -> Result<()> {
    let has_snapshot = bucket(stack).await?.is_some();
    let exception = if has_snapshot {
        "One that gets no answer from the key table goes by the key snapshot: within two minutes, while S3 answers."
    } else {
        "One that cannot read the key table may accept it for 15 minutes."
    };
    note(&format!(
        "Revoked {id}. Within a minute, every function rejects it. {exception}"
    ));
    Ok(())
}

/// Revokes the key in the snapshot, because the table failed with this error. It always returns an
/// error: the table lacks the revocation.
async fn revoke_without_table(
    keys: &KeyTable<'_>,
    id: &str,
    yes: bool,
    error: Error,
) -> Result<()> {
    let Some(bucket) = bucket(keys.stack).await? else {
        return Err(error);
    };
    let question =
        format!("{error:#} Revoke the key {id} in the key snapshot? This cannot be undone.");
    confirm(&question, yes)?;
    // The command must not write the snapshot from the table, which does not answer.
    keys.must_publish.set(false);
    snapshot::revoke(&bucket, id).await.with_context(|| {
        format!("{error:#} The key {id} is not revoked in the key snapshot either")
    })?;
    Err(anyhow!(
        "{error:#} The key {id} is revoked in the key snapshot only: functions that get no answer from the key table reject it \
         within two minutes, while S3 answers. Run this command again until the key table has the revocation."
    ))
}

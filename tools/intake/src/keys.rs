//! `keys`: the API keys of accounts. A key is printed once, when it is created; only its hash is
//! stored.

mod create;
mod key_id_parser;
mod key_table;
mod revoke;
mod rotate;
pub(crate) mod snapshot;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use futures_util::future::join;
use model::account::AccountId;
use model::api_key::Endpoint;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::key_snapshot::KeySnapshot;

pub(crate) use self::create::VerificationKey;
use self::create::{NewKey, create, import};
use self::key_table::TableChange;
pub(crate) use self::key_table::{KeyTable, StoredKey, no_such_key};
use self::revoke::{RevokeKey, TABLE_TIMEOUT};
use self::rotate::RotateKey;
use self::snapshot::{find_bucket, write_snapshot};
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;

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
    Rotate(RotateKey),

    /// Revoke a key: every function rejects it within a minute if the key table responds, and later
    /// otherwise (docs/cli.md, Keys)
    Revoke(RevokeKey),

    /// Import a key that another system created, from standard input, so that it is in no shell
    /// history
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys import --account shop --name web < key.txt"
    )]
    Import(NewKey),

    /// Write the key snapshot, which functions use while the key table does not respond
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys publish")]
    Publish,
}

impl KeysCommand {
    /// Whether the command adds a key.
    pub(crate) fn adds(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Import(_) | Self::Rotate(_))
    }

    /// Runs the command and, if it changed a key that the key snapshot has, writes the snapshot anew,
    /// once.
    ///
    /// `create`, `import`, `rotate` and `revoke` change keys through [`KeyTable`], which knows whether the table has a
    /// change. `list` changes nothing, and `publish` writes the snapshot itself.
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let with_short_timeout = stack.with_call_timeout(TABLE_TIMEOUT);
        let stack = match self {
            Self::Revoke(_) => &with_short_timeout,
            _ => stack,
        };
        let key_table = KeyTable::new(stack)?;
        match self {
            // It only reads, and says so if it cannot read the snapshot.
            Self::List(_) => {}
            _ => drop(find_bucket(stack)?),
        }
        let is_publication = matches!(self, Self::Publish);
        let is_revocation = matches!(self, Self::Revoke(_));
        let performed = self.perform(&key_table, format).await;
        let needs_publication = match key_table.change() {
            TableChange::None => false,
            // The revocation is in the snapshot: the table, which a new snapshot is read from, does not respond.
            TableChange::Unknown => !is_publication && !is_revocation,
            TableChange::Written => !is_publication,
        };
        if !needs_publication {
            return performed;
        }
        if let Err(error) = &performed {
            // The publication may wait for minutes. The operator hears before what is known of a key.
            note(&format!("{error:#} Writing the key snapshot ..."));
        }
        // The snapshot is also written after an error: a part of the command may be done.
        let published = snapshot::publish_change(&key_table).await;
        match performed {
            Ok(()) => published,
            Err(error) => Err(snapshot::with_unpublished(error, published)),
        }
    }

    async fn perform(self, key_table: &KeyTable<'_>, format: Format) -> Result<()> {
        match self {
            Self::Create(new) => create(key_table, &new.into_entry(), format).await,
            Self::List(list) => list.run(key_table, format).await,
            Self::Rotate(rotate) => rotate.run(key_table, format).await,
            Self::Revoke(revoke) => revoke.run(key_table, format).await,
            Self::Import(new) => import(key_table, &new.into_entry(), format).await,
            Self::Publish => publish(key_table, format).await,
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
    async fn run(&self, key_table: &KeyTable<'_>, format: Format) -> Result<()> {
        let now = Timestamp::now();
        let reads = join(key_table.all(), snapshot::read(key_table.stack));
        let (stored_keys, snapshot) = reads.await;
        let mut stored_keys = stored_keys?;
        let snapshot = snapshot.unwrap_or_else(|error| {
            note(&format!(
                "The key snapshot cannot be read, so this list does not show which keys are revoked in the snapshot alone. \
                 {error:#}"
            ));
            None
        });
        stored_keys.retain(|key| self.is_wanted(&key.entry, now));
        if stored_keys.is_empty() {
            note("No keys.");
            return Ok(());
        }
        // `--json` has the time of revocation, too.
        let headings = [
            "ID", "ACCOUNT", "NAME", "STATE", "ONLY", "CREATED", "EXPIRES",
        ];
        let mut rows = PrintedTable::new(format, headings).cut_to_terminal();
        for key in &stored_keys {
            let listed = ListedKey {
                entry: &key.entry,
                revoked_in_snapshot_only: revoked_in_snapshot_only(key, snapshot.as_ref()),
            };
            if listed.revoked_in_snapshot_only.is_some() {
                note_missing_revocation(&key.entry.key_id);
            }
            listed.add_row(&mut rows, now)?;
        }
        rows.print()
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
    fn add_row(&self, rows: &mut PrintedTable, now: Timestamp) -> Result<()> {
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
        rows.add(&self.json(now), cells)
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
        "Only the key snapshot has the revocation of {id}. Functions accept the key while the key table responds. Run \
         `cargo intake keys revoke {id}` until it exits 0."
    ));
}

/// Fails when the account has no key, and so may be misspelled: for a command that has found nothing of it,
/// which `finding` says.
///
/// # Errors
/// There is no such key, or the key table cannot be read.
pub(crate) async fn ensure_account_has_key(
    stack: &Stack,
    account: &AccountId,
    finding: &str,
) -> Result<()> {
    let api_keys = KeyTable::new(stack)?.all().await?;
    let has_key = api_keys.iter().any(|key| key.entry.account_id == *account);
    ensure!(has_key, "The account {account} has no key, and {finding}.");
    Ok(())
}

async fn publish(key_table: &KeyTable<'_>, format: Format) -> Result<()> {
    let bucket = find_bucket(key_table.stack)?;
    let count = write_snapshot(&bucket, key_table).await?;
    format.print(
        &format!("Published {count} key(s)."),
        &json!({"published": count}),
    )
}

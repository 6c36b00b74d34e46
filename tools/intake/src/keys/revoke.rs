//! `keys revoke`: revokes a key in the table or, while the table does not respond, in the key snapshot
//! alone.

use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use clap::Args;
use model::timestamp::Timestamp;
use serde_json::json;

use super::key_id_parser::KeyIdParser;
use super::key_table::{KeyTable, StoredKey, TableChange, no_such_key};
use super::snapshot::{self, find_bucket};
use crate::bucket::UnknownWrite;
use crate::confirm::confirm;
use crate::output::{Format, note, print_json};

/// How long `keys revoke` waits for a response of the key table before it revokes in the snapshot.
pub(super) const TABLE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
#[command(after_help = help())]
pub(crate) struct RevokeKey {
    /// The key's id, from `keys list`
    #[arg(value_parser = KeyIdParser)]
    id: String,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

fn help() -> String {
    let seconds = TABLE_TIMEOUT.as_secs();
    format!(
        "Example:\n  cargo intake --stack intake-prod keys revoke key_3f2a9c81d04e\n\n\
        If the key table does not respond within {seconds} seconds, the command revokes the key in the key snapshot alone. \
        The exit code is 0 only if both have the revocation. Otherwise, run the same command again."
    )
}

impl RevokeKey {
    pub(super) async fn run(&self, key_table: &KeyTable<'_>, format: Format) -> Result<()> {
        let id = &self.id;
        let all = match key_table.all().await {
            Ok(all) => all,
            Err(error) => return self.confirm_and_revoke_in_snapshot(key_table, error).await,
        };
        let key = all
            .into_iter()
            .find(|key| key.entry.key_id == *id)
            .with_context(|| no_such_key(id))?;
        if let Some(revoked_at) = key.entry.revoked_at {
            // The command that revoked it may have failed to write the key snapshot.
            key_table.was_written_before();
            note(&format!(
                "The key {id} is already revoked, since {revoked_at}."
            ));
        } else {
            self.confirm(&key)?;
            let exists = match key_table.revoke(&key, Timestamp::now()).await {
                Ok(exists) => exists,
                Err(error) => return self.revoke_in_snapshot(key_table, error).await,
            };
            ensure!(exists, no_such_key(id));
            note(&format!(
                "Revoked {id}. Every function rejects it within a minute. A function that gets no response from the key table \
                 uses the key snapshot, and rejects the key within two minutes if S3 responds."
            ));
        }
        match format {
            Format::Json => print_json(&json!({"keyId": id, "revoked": true})),
            Format::Text => Ok(()),
        }
    }

    fn confirm(&self, key: &StoredKey) -> Result<()> {
        let id = &self.id;
        let account = &key.entry.account_id;
        let name = &key.entry.name;
        let question = format!(
            "Revoke the key {id} ({name:?}) of the account {account}? This cannot be undone."
        );
        confirm(&question, self.yes)
    }

    /// Asks the operator, who has not confirmed anything yet, and revokes the key in the snapshot
    /// alone, because the table could not be read: `error` says why.
    ///
    /// # Errors
    /// As [`Self::revoke_in_snapshot`], and when the operator does not confirm.
    async fn confirm_and_revoke_in_snapshot(
        &self,
        key_table: &KeyTable<'_>,
        error: Error,
    ) -> Result<()> {
        let id = &self.id;
        let question =
            format!("{error:#} Revoke the key {id} in the key snapshot? This cannot be undone.");
        confirm(&question, self.yes)?;
        self.revoke_in_snapshot(key_table, error).await
    }

    /// Revokes the key in the snapshot alone, because the table failed with `error`.
    ///
    /// # Errors
    /// It always returns an error, since the table lacks the revocation.
    async fn revoke_in_snapshot(&self, key_table: &KeyTable<'_>, error: Error) -> Result<()> {
        let id = &self.id;
        let bucket = find_bucket(key_table.stack)?;
        if let Err(unrevoked) = snapshot::revoke(&bucket, id).await {
            let outcome = if unrevoked.is::<UnknownWrite>() {
                "may not be revoked in the key snapshot"
            } else {
                "is not revoked in the key snapshot either"
            };
            return Err(unrevoked.context(format!("{error:#} The key {id} {outcome}")));
        }
        let place = match key_table.change() {
            TableChange::Unknown => "in the key snapshot, and maybe in the key table",
            TableChange::None | TableChange::Written => "in the key snapshot only",
        };
        Err(anyhow!(
            "{error:#} The key {id} is revoked {place}. Functions that get no response from the key table reject it within \
             two minutes if S3 responds. Run this command again until the key table has the revocation."
        ))
    }
}

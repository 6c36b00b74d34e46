//! `keys rotate`: a new key that replaces an old one, which stays valid for an overlap.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;

use super::create::create;
use super::create::{NewKey, end_after, lifetime};
use super::key_id_parser::KeyIdParser;
use super::key_table::{KeyTable, StoredKey, TableChange, no_such_key};
use crate::confirm::confirm;
use crate::output::{Format, note};
use crate::time_args::duration;

#[derive(Args, Debug)]
pub(crate) struct RotateKey {
    /// The id of the old key, from `keys list`
    #[arg(value_parser = KeyIdParser)]
    id: String,

    /// How long the old key stays valid
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    overlap: Duration,

    /// How long the new key is valid [default: the lifetime of the old key; required if a rotation may
    /// have shortened it]
    #[arg(long, value_name = "DURATION", value_parser = lifetime)]
    expires_in: Option<Duration>,

    /// Do not ask for confirmation when there is no overlap
    #[arg(long)]
    yes: bool,
}

impl RotateKey {
    pub(super) async fn run(self, key_table: &KeyTable<'_>, format: Format) -> Result<()> {
        let Self {
            id,
            overlap,
            expires_in,
            yes,
        } = self;
        let keys = key_table.all().await?;
        let old = keys.iter().find(|key| key.entry.key_id == id);
        let old = old.with_context(|| no_such_key(&id))?;
        let entry = &old.entry;
        if !entry.is_active(Timestamp::now()) {
            bail!("The key {id} is not active. Create a new one with `cargo intake keys create`.");
        }
        if expires_in.is_none() {
            ensure_end_is_its_own(entry, &keys)?;
        }
        if overlap.is_zero() {
            let question = format!(
                "Expire the key {id} ({:?}) now? Functions apply this within a minute.",
                entry.name
            );
            confirm(&question, yes)?;
        }
        let old_lifetime = entry
            .expires_at
            .map(|end| end.duration_since(entry.created_at));
        let new = NewKey {
            account: entry.account_id.clone(),
            name: entry.name.clone(),
            expires_in: expires_in.or(old_lifetime),
            only: entry.only,
        };
        let new = new.into_entry();
        create(key_table, &new, format).await?;
        // The overlap begins when the new key exists, not when the question was asked.
        let end = end_after(Timestamp::now(), overlap);
        let new_id = &new.key_id;
        let message = end_old(key_table, old, end).await.with_context(|| {
            let outcome = match key_table.change() {
                TableChange::Unknown => "may not be set",
                TableChange::None | TableChange::Written => "could not be set",
            };
            format!(
                "The new key {new_id} is stored (`cargo intake keys revoke {new_id}` revokes it), but the expiry of the old key \
                 {id} {outcome}: revoke the old key later"
            )
        })?;
        note(&message);
        Ok(())
    }
}

/// Fails when a rotation may have given the old key its end: the new key would live as short as the rest of an
/// overlap.
fn ensure_end_is_its_own(old: &KeyEntry, keys: &[StoredKey]) -> Result<()> {
    if old.expires_at.is_none() {
        return Ok(());
    }
    let is_successor = |entry: &KeyEntry| {
        entry.account_id == old.account_id
            && entry.name == old.name
            && entry.created_at > old.created_at
    };
    let successor = keys.iter().find(|key| is_successor(&key.entry));
    if let Some(successor) = successor {
        bail!(
            "The key {} may have been rotated before: {} is newer, and has the same account and name. The expiry may be the \
             end of an overlap. Pass --expires-in, or rotate the newer key if it is active.",
            old.key_id,
            successor.entry.key_id
        );
    }
    Ok(())
}

/// Lets the old key expire at `end` if it would live longer. Returns what happened, to tell the
/// operator.
async fn end_old(key_table: &KeyTable<'_>, old: &StoredKey, end: Timestamp) -> Result<String> {
    let id = &old.entry.key_id;
    let end = old.entry.expires_at.map_or(end, |sooner| sooner.min(end));
    let is_set = key_table.expire(old, end).await?;
    if is_set {
        return Ok(format!(
            "The old key {id} expires at {end}. Functions apply this within a minute."
        ));
    }
    Ok(format!(
        "Another command has revoked or deleted the old key {id}, or given it an earlier expiry. This command did not change \
         it. If the other command was a rotation, there are two new keys: see `cargo intake keys list`."
    ))
}

#[cfg(test)]
mod tests {
    use harness::TestApp;

    use super::*;
    use crate::stack::Stack;

    async fn find_key(key_table: &KeyTable<'_>) -> StoredKey {
        let keys = key_table.all().await.unwrap();
        let found = keys
            .into_iter()
            .find(|key| key.entry.key_id == "key_of_shop");
        found.unwrap()
    }

    #[tokio::test]
    async fn end_of_a_key_that_another_command_set_stays() {
        let app = TestApp::start();
        let stack = Stack::from_app(&app);
        app.key("shop").await;
        let key_table = KeyTable::new(&stack).unwrap();
        let hours = |hours| end_after(Timestamp::now(), Duration::from_hours(hours));
        let old = find_key(&key_table).await;
        let sooner = hours(1);
        assert!(key_table.expire(&old, sooner).await.unwrap());
        let message = end_old(&key_table, &old, hours(24)).await.unwrap();
        assert!(
            message.starts_with("Another command has revoked or deleted the old key key_of_shop"),
            "{message}"
        );
        let entry = find_key(&key_table).await.entry;
        assert_eq!(entry.expires_at, Some(sooner));

        let now = Timestamp::now();
        key_table.revoke(&old, now).await.unwrap();
        end_old(&key_table, &old, now).await.unwrap();
        let entry = find_key(&key_table).await.entry;
        assert_eq!(entry.expires_at, Some(sooner));
        assert_eq!(entry.revoked_at, Some(now));

        key_table.delete(&old).await.unwrap();
        end_old(&key_table, &old, now).await.unwrap();
        assert!(key_table.all().await.unwrap().is_empty());
    }
}

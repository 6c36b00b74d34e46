//! `keys rotate`: a new key that replaces an old one, which stays valid for an overlap.

use anyhow::{Context as _, Result, bail};
use model::timestamp::Timestamp;
use store::api_keys::KeyRecord;

use super::create::create;
use super::list::expiry;
use super::table::{KeyTable, StoredKey};
use super::{NewKey, Rotate, end_after};
use crate::confirm::confirm;
use crate::output::{Format, note};

pub(super) async fn rotate(keys: &KeyTable<'_>, rotate: Rotate, format: Format) -> Result<()> {
    let Rotate { id, overlap, expires_in, yes } = rotate;
    let old = keys.with_id(&id).await?;
    let record = &old.record;
    if !record.is_active(Timestamp::now()) {
        bail!("The key {id} is not active. Create a new one with `cargo intake keys create`.");
    }
    if overlap.is_zero() {
        confirm(&format!("Expire the key {id} ({:?}) now?", record.name), yes)?;
    }
    let expires_in = expires_in.or_else(|| record.expires_at.map(|end| end.duration_since(record.created_at)));
    let new = NewKey { account: record.account_id.clone(), name: record.name.clone(), expires_in, only: record.only };
    create(keys, &new.into_record(), format).await?;
    // The overlap begins when the new key exists, not when the question was asked.
    let outcome = end_old(keys, &old, end_after(Timestamp::now(), overlap)).await;
    note(&outcome.with_context(|| {
        format!("The new key is stored, but the expiry of the old key {id} could not be set: revoke the old key later")
    })?);
    Ok(())
}

/// Lets the old key expire at `end` if it would live longer. Returns what happened, to tell the operator.
async fn end_old(keys: &KeyTable<'_>, old: &StoredKey, end: Timestamp) -> Result<String> {
    let id = &old.record.key_id;
    let end = old.record.expires_at.map_or(end, |sooner| sooner.min(end));
    Ok(match keys.expire(old, end).await? {
        None => format!("The old key {id} expires at {end}."),
        Some(KeyRecord { revoked_at: Some(revoked_at), .. }) => format!(
            "Another command revoked the old key {id} at {revoked_at}. The new key is valid: revoke it too if it is not wanted."
        ),
        Some(record) => format!(
            "Another command gave the old key {id} a sooner end, which stays: {}. If that was a rotation, there are two new keys: \
             see `cargo intake keys list`.",
            expiry(&record)
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use testkit::TestApp;

    use super::*;
    use crate::stack::Stack;

    const HOUR: Duration = Duration::from_hours(1);

    /// Reads the key, lets another command change it, and then ends it.
    async fn race(keys: &KeyTable<'_>, other: impl AsyncFnOnce(&StoredKey)) -> (String, KeyRecord) {
        let old = keys.with_id("key_of_shop").await.unwrap();
        other(&old).await;
        let message = end_old(keys, &old, end_after(Timestamp::now(), HOUR * 24)).await.unwrap();
        (message, keys.with_id("key_of_shop").await.unwrap().record)
    }

    #[tokio::test]
    async fn sooner_end_that_another_command_set_stays() {
        let app = TestApp::start();
        let stack = Stack::of(&app).await;
        app.key("shop").await;
        let keys = KeyTable::new(&stack).unwrap();
        let sooner = end_after(Timestamp::now(), HOUR);
        let (message, record) =
            race(&keys, async |old| assert!(keys.expire(old, sooner).await.unwrap().is_none())).await;
        assert_eq!(record.expires_at, Some(sooner));
        assert!(message.starts_with("Another command gave the old key key_of_shop a sooner end"), "{message}");
        assert!(message.contains(&sooner.to_string()), "{message}");
    }

    #[tokio::test]
    async fn revocation_by_another_command_stays_and_is_reported() {
        let app = TestApp::start();
        let stack = Stack::of(&app).await;
        app.key("shop").await;
        let keys = KeyTable::new(&stack).unwrap();
        let now = Timestamp::now();
        let (message, record) = race(&keys, async |old| keys.revoke(old, now).await.unwrap()).await;
        assert_eq!((record.expires_at, record.revoked_at), (None, Some(now)));
        assert!(
            message.starts_with(&format!("Another command revoked the old key key_of_shop at {now}.")),
            "{message}"
        );
    }

    #[tokio::test]
    async fn key_without_an_end_gets_one_and_a_deleted_key_stays_deleted() {
        let app = TestApp::start();
        let stack = Stack::of(&app).await;
        app.key("shop").await;
        let keys = KeyTable::new(&stack).unwrap();
        let (message, record) = race(&keys, async |_| {}).await;
        assert_eq!(message, format!("The old key key_of_shop expires at {}.", expiry(&record)));
        let old = keys.with_id("key_of_shop").await.unwrap();
        keys.delete(&old).await.unwrap();
        let error = end_old(&keys, &old, Timestamp::now()).await.unwrap_err().to_string();
        assert!(error.contains("does not exist") && keys.all().await.unwrap().is_empty(), "{error}");
    }
}

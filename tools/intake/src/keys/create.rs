//! `keys create`: a random key, printed once.

use anyhow::{Context as _, Result, bail};
use model::api_key::ApiKey;
use serde_json::json;
use store::api_keys::KeyRecord;

use super::new_key::note_stored;
use super::table::KeyTable;
use crate::output::{Format, note};

/// Stores a new key with this record and prints it. It cannot be printed again.
pub(super) async fn create(keys: &KeyTable<'_>, record: &KeyRecord, format: Format) -> Result<()> {
    let key = ApiKey::random().context("Cannot get random bytes from the system")?;
    if !keys.add(&key.hash(), record).await? {
        bail!("A random key already exists: the system's random number generator is broken.");
    }
    let id = &record.key_id;
    let json = json!({"keyId": id, "accountId": record.account_id.as_str(), "key": key.expose_secret()});
    // Not the error itself: a closed pipe would look like success.
    if let Err(error) = format.print(key.expose_secret(), &json) {
        bail!("The key {id} was stored but not printed: {error:#}. Revoke it with `cargo intake keys revoke {id}`.");
    }
    note_stored(record);
    note("The key cannot be shown again: only its hash is stored.");
    Ok(())
}

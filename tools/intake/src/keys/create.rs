//! `keys create`: a random key, which is printed once.

use anyhow::{Context as _, Result, bail};
use model::api_key::ApiKey;
use model::key_entry::KeyEntry;
use serde_json::json;

use super::key_table::KeyTable;
use super::new_key::note_stored;
use crate::output::{Format, note};

/// Stores a new key with this entry and prints it. It cannot be printed again.
///
/// # Errors
/// The key is not stored, or is stored and not printed; or it is unknown whether it is stored. The error
/// says which, and names the key.
pub(super) async fn create(
    key_table: &KeyTable<'_>,
    entry: &KeyEntry,
    format: Format,
) -> Result<()> {
    let key = ApiKey::random().context("Cannot get random bytes from the system")?;
    let is_new = key_table.add(&key.hash(), entry).await?;
    if !is_new {
        bail!("A random key already exists: the system's random number generator is broken.");
    }
    let id = &entry.key_id;
    let json =
        json!({"keyId": id, "accountId": entry.account_id.as_str(), "key": key.expose_secret()});
    // The error does not have that of the pipe as its cause: `main` takes a closed pipe for a success.
    if let Err(error) = format.print(key.expose_secret(), &json) {
        bail!(
            "The key {id} was stored but not printed: {error:#}. Revoke it with `cargo intake keys revoke {id}`."
        );
    }
    note_stored(entry);
    note("The key cannot be shown again: only its hash is stored.");
    Ok(())
}

//! `keys create`: a random key, printed once.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use model::account::AccountId;
use model::api_key::ApiKey;
use model::timestamp::Timestamp;
use serde::Serialize;
use store::api_keys::KeyRecord;
use uuid::Uuid;

use super::Create;
use super::table::KeyTable;
use crate::output::{Format, json, line, note};
use crate::time_args::format_utc;

pub(super) async fn create(keys: &KeyTable, create: Create, format: Format) -> Result<()> {
    let record = record(create.account, create.name, create.expires_in);
    issue(keys, &record, format).await
}

/// Makes a key for `record` and prints it, the one time that it can be seen.
pub(super) async fn issue(keys: &KeyTable, record: &KeyRecord, format: Format) -> Result<()> {
    let key = ApiKey::random().map_err(|error| anyhow!("The system has no randomness to give: {error}."))?;
    if !keys.add(&key.hash(), record).await? {
        bail!("A random key was there already: the system's randomness is broken.");
    }
    let printed = match format {
        Format::Table => line(key.reveal()),
        Format::Json => {
            json(&Issued { key_id: &record.key_id, account_id: record.account_id.as_str(), key: key.reveal() })
        }
    };
    if printed.is_err() {
        let id = &record.key_id;
        bail!(
            "The key {id} was made but could not be printed, so nobody has it: revoke it (`cargo intake keys revoke {id}`)."
        );
    }
    tell(record);
    note("It is shown this once: only its hash is stored.");
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Issued<'a> {
    key_id: &'a str,
    account_id: &'a str,
    key: &'a str,
}

pub(super) fn record(account_id: AccountId, name: String, expires_in: Option<Duration>) -> KeyRecord {
    let created_at = Timestamp::now();
    // Random, since a counter would have to be kept somewhere; 48 bits, since an id is read aloud and no secret.
    let random = Uuid::new_v4().simple().to_string();
    let key_id = format!("key_{}", random.get(..12).unwrap_or(&random));
    let expires_at = expires_in.map(|lifetime| created_at.after(lifetime));
    KeyRecord { key_id, account_id, name, created_at, expires_at, revoked_at: None }
}

pub(super) fn tell(record: &KeyRecord) {
    let until = record.expires_at.map_or_else(|| "for good".to_owned(), |end| format!("until {} UTC", format_utc(end)));
    note(&format!("Key {} of the account {}, called {:?}, {until}.", record.key_id, record.account_id, record.name));
}

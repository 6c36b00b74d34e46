//! New keys: made here, or brought from elsewhere.

use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use console::Term;
use serde::Serialize;
use shared::auth::{ApiKey, KeyHash};
use shared::model::account::AccountId;
use shared::model::timestamp::Timestamp;
use shared::store::api_keys::KeyRecord;
use uuid::Uuid;

use super::table::Keys;
use super::{Create, Import};
use crate::error::Error;
use crate::output::{Format, json, line, note};
use crate::time_args::format_utc;

/// What an imported key must have at least (SPEC 2.7), in visible ASCII characters.
const IMPORTED_CHARS: usize = 32;

/// What an imported key may have at most: a header must still hold it. In characters.
const IMPORTED_CHARS_AT_MOST: usize = 4096;

pub(super) async fn create(keys: &Keys, create: Create, format: Format) -> Result<(), Error> {
    let record = record(create.account, create.name, create.expires_in);
    issue(keys, &record, format).await
}

/// Makes a key for `record` and prints it, the one time that it can be seen.
pub(super) async fn issue(keys: &Keys, record: &KeyRecord, format: Format) -> Result<(), Error> {
    let key =
        ApiKey::random().map_err(|error| Error::new(format!("The system has no randomness to give: {error}.")))?;
    if !keys.add(&key.hash(), record).await? {
        return Err(Error::new("A random key was there already: the system's randomness is broken."));
    }
    let printed = match format {
        Format::Table => line(key.reveal()),
        Format::Json => {
            json(&Issued { key_id: &record.key_id, account_id: record.account_id.as_str(), key: key.reveal() })
        }
    };
    if printed.is_err() {
        let id = &record.key_id;
        return Err(Error::new(format!(
            "The key {id} was made but could not be printed, so nobody has it: revoke it (`cargo intake keys revoke {id}`)."
        )));
    }
    tell(record);
    note("It is shown this once: only its hash is stored.");
    Ok(())
}

pub(super) async fn import(keys: &Keys, import: Import, format: Format) -> Result<(), Error> {
    let key = read_key()?;
    let record = record(import.account, import.name, import.expires_in);
    if !keys.add(&KeyHash::of(&key), &record).await? {
        return Err(Error::new("This key is there already: a key belongs to one account, under one name."));
    }
    match format {
        Format::Table => line(&record.key_id)?,
        Format::Json => json(&Imported { key_id: &record.key_id, account_id: record.account_id.as_str() })?,
    }
    tell(&record);
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Issued<'a> {
    key_id: &'a str,
    account_id: &'a str,
    key: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported<'a> {
    key_id: &'a str,
    account_id: &'a str,
}

pub(super) fn record(account_id: AccountId, name: String, expires_in: Option<Duration>) -> KeyRecord {
    let created_at = Timestamp::now();
    // Random, since a counter would have to be kept somewhere; 48 bits, since an id is read aloud and no secret.
    let random = Uuid::new_v4().simple().to_string();
    let key_id = format!("key_{}", random.get(..12).unwrap_or(&random));
    let expires_at = expires_in.map(|lifetime| created_at.after(lifetime));
    KeyRecord { key_id, account_id, name, created_at, expires_at, revoked_at: None }
}

fn tell(record: &KeyRecord) {
    let until = record.expires_at.map_or_else(|| "for good".to_owned(), |end| format!("until {} UTC", format_utc(end)));
    note(&format!("Key {} of the account {}, called {:?}, {until}.", record.key_id, record.account_id, record.name));
}

/// The key on standard input; from a terminal without being shown.
fn read_key() -> Result<String, Error> {
    let cannot = |error: std::io::Error| Error::new(format!("Cannot read the key from standard input: {error}."));
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        note("Paste the key; it is not shown:");
        key = Term::stderr().read_secure_line().map_err(cannot)?;
    } else {
        let longest = u64::try_from(IMPORTED_CHARS_AT_MOST).unwrap_or(u64::MAX).saturating_add(3);
        std::io::stdin().lock().take(longest).read_to_string(&mut key).map_err(cannot)?;
    }
    let key = key.trim_end_matches(['\r', '\n']);
    if key.len() < IMPORTED_CHARS
        || key.len() > IMPORTED_CHARS_AT_MOST
        || !key.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err(Error::new(format!(
            "Standard input holds no key: a key is one line of {IMPORTED_CHARS} to {IMPORTED_CHARS_AT_MOST} visible ASCII \
             characters."
        )));
    }
    Ok(key.to_owned())
}

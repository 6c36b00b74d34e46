//! `keys import`: a key that was made elsewhere, from standard input.

use std::io::{IsTerminal as _, Read as _};

use anyhow::{Result, anyhow, bail};
use console::Term;
use model::api_key::KeyHash;
use serde::Serialize;

use super::Import;
use super::create::{record, tell};
use super::table::KeyTable;
use crate::output::{Format, json, line, note};

/// What an imported key must have at least (SPEC 2.7), in visible ASCII characters.
const IMPORTED_CHARS: usize = 32;

/// What an imported key may have at most: a header must still hold it. In characters.
const IMPORTED_CHARS_AT_MOST: usize = 4096;

pub(super) async fn import(keys: &KeyTable, import: Import, format: Format) -> Result<()> {
    let key = read_key()?;
    let record = record(import.account, import.name, import.expires_in);
    if !keys.add(&KeyHash::of(&key), &record).await? {
        bail!("This key is there already: a key belongs to one account, under one name.");
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
struct Imported<'a> {
    key_id: &'a str,
    account_id: &'a str,
}

/// The key on standard input; from a terminal without being shown.
fn read_key() -> Result<String> {
    let cannot = |error: std::io::Error| anyhow!("Cannot read the key from standard input: {error}.");
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
        bail!(
            "Standard input holds no key: a key is one line of {IMPORTED_CHARS} to {IMPORTED_CHARS_AT_MOST} visible ASCII \
             characters."
        );
    }
    Ok(key.to_owned())
}

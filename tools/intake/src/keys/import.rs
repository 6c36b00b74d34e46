//! `keys import`: a key that another system created, from standard input.

use std::io::{IsTerminal as _, Read as _};

use anyhow::{Context as _, Result, bail};
use console::Term;
use model::api_key::{KeyHash, VERIFICATION_KEY_PREFIX};
use model::key_entry::KeyEntry;
use serde_json::json;

use super::new_key::note_stored;
use super::table::KeyTable;
use crate::output::{Format, note};

/// The shortest key to import, in visible ASCII characters.
const MIN_KEY_CHARS: usize = 32;

/// The longest key to import: it has to fit into a header.
const MAX_KEY_CHARS: usize = 4096;

pub(super) async fn import(keys: &KeyTable<'_>, record: &KeyEntry, format: Format) -> Result<()> {
    let key = read_key().context("Cannot read a key from standard input")?;
    if !keys.add(&KeyHash::of(&key), record).await? {
        bail!("This key already exists. A key belongs to one account and has one name.");
    }
    let json = json!({"keyId": record.key_id, "accountId": record.account_id.as_str()});
    format.print(&record.key_id, &json)?;
    note_stored(record);
    Ok(())
}

/// Reads the key from standard input; a terminal does not show it.
fn read_key() -> Result<String> {
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        note("Paste the key (it is not shown):");
        key = Term::stderr().read_secure_line()?;
    } else {
        // One more than is valid, and the end of the line.
        std::io::stdin().take(MAX_KEY_CHARS as u64 + 3).read_to_string(&mut key)?;
    }
    let key = key.trim_end_matches(['\r', '\n']);
    if !(MIN_KEY_CHARS..=MAX_KEY_CHARS).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("a key is one line of {MIN_KEY_CHARS} to {MAX_KEY_CHARS} visible ASCII characters");
    }
    if key.starts_with(VERIFICATION_KEY_PREFIX) {
        bail!(
            "a key that begins with {VERIFICATION_KEY_PREFIX} is one of `cargo intake verify`: functions would reject it"
        );
    }
    Ok(key.to_owned())
}

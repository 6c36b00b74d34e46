//! `keys import`: a key that another system created, from standard input.

use std::io::{IsTerminal as _, Read as _};

use anyhow::{Context as _, Result, bail};
use console::Term;
use model::api_key::{KeyHash, VERIFICATION_KEY_PREFIX};
use model::key_entry::KeyEntry;
use serde_json::json;

use super::key_table::KeyTable;
use super::new_key::note_stored;
use crate::output::{Format, note};

/// The shortest key to import, in visible ASCII characters.
const MIN_KEY_CHARS: usize = 32;

/// The longest key to import: it has to fit into a header.
const MAX_KEY_CHARS: usize = 4096;

/// Stores the key on standard input with this entry.
pub(super) async fn import(
    key_table: &KeyTable<'_>,
    entry: &KeyEntry,
    format: Format,
) -> Result<()> {
    let key = read_key().context("Cannot read a key from standard input")?;
    let is_new = key_table.add(&KeyHash::from_key(&key), entry).await?;
    if !is_new {
        bail!("This key already exists. A key belongs to one account and has one name.");
    }
    let json = json!({"keyId": entry.key_id, "accountId": entry.account_id.as_str()});
    // The error does not have that of the pipe as its cause: `main` takes a closed pipe for a success.
    if let Err(error) = format.print(&entry.key_id, &json) {
        let id = &entry.key_id;
        bail!(
            "The key {id} was stored, and its id not printed: {error:#}. `cargo intake keys revoke {id}` revokes it."
        );
    }
    note_stored(entry);
    Ok(())
}

/// Reads the key from standard input; a terminal does not show it.
fn read_key() -> Result<String> {
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        note("Paste the key (it is not shown):");
        key = Term::stderr().read_secure_line()?;
    } else {
        // The limit is one character more than is valid, and the end of the line.
        std::io::stdin()
            .take(MAX_KEY_CHARS as u64 + 3)
            .read_to_string(&mut key)?;
    }
    let key = key.trim_end_matches(['\r', '\n']);
    let has_valid_length = (MIN_KEY_CHARS..=MAX_KEY_CHARS).contains(&key.len());
    let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if !has_valid_length || !is_visible {
        bail!("a key is one line of {MIN_KEY_CHARS} to {MAX_KEY_CHARS} visible ASCII characters");
    }
    if key.starts_with(VERIFICATION_KEY_PREFIX) {
        bail!(
            "a key that begins with {VERIFICATION_KEY_PREFIX} is one of `cargo intake verify`: functions would reject it"
        );
    }
    Ok(key.to_owned())
}

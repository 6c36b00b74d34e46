//! New keys: a random one, which is printed once; one that another system created, from standard input; and
//! that of `cargo intake verify`. Must not know how a key is stored.

use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use console::Term;
use model::account::AccountId;
use model::api_key::{ApiKey, Endpoint, KeyHash, VERIFICATION_KEY_PREFIX};
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::key_table::{KeyTable, StoredKey};
use crate::interrupt::while_hidden;
use crate::output::{Format, note, refuse_lost_output};
use crate::stack::Stack;
use crate::time_args::duration;

#[derive(Args, Debug)]
pub(crate) struct NewKey {
    /// The account that the key belongs to
    #[arg(long, value_name = "NAME")]
    pub(super) account: AccountId,

    /// A name for the key, such as where it is used
    #[arg(long, value_parser = name)]
    pub(super) name: String,

    /// How long the key is valid, a minute or longer [default: forever]
    #[arg(long, value_name = "DURATION", value_parser = lifetime)]
    pub(super) expires_in: Option<Duration>,

    /// The only endpoint, beside ping, that accepts the key [default: all]
    #[arg(long, value_name = "ENDPOINT", value_parser = endpoint())]
    pub(super) only: Option<Endpoint>,
}

impl NewKey {
    pub(super) fn into_entry(self) -> KeyEntry {
        let created_at = Timestamp::now();
        // 48 random bits: people read an id aloud, it is no secret, and a counter would need a
        // place to be stored.
        let random = Uuid::new_v4().simple().to_string();
        KeyEntry {
            key_id: format!("key_{}", random.get(..12).unwrap_or(&random)),
            account_id: self.account,
            name: self.name,
            created_at,
            expires_at: self
                .expires_in
                .map(|lifetime| end_after(created_at, lifetime)),
            revoked_at: None,
            only: self.only,
        }
    }
}

fn endpoint() -> impl TypedValueParser<Value = Endpoint> {
    PossibleValuesParser::new(Endpoint::ALL.map(Endpoint::as_str)).try_map(|name| {
        Endpoint::ALL
            .into_iter()
            .find(|endpoint| endpoint.as_str() == name)
            .ok_or("no such endpoint")
    })
}

/// The shortest lifetime of a key: functions take up to a minute to hear of a change.
const MIN_LIFETIME: Duration = Duration::from_mins(1);

pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = duration(text)?;
    if lifetime < MIN_LIFETIME {
        return Err("a key is valid for a minute or longer".to_owned());
    }
    Ok(lifetime)
}

/// The end of a key, `lifetime` after `begin`, in whole seconds as the table holds it.
pub(super) fn end_after(begin: Timestamp, lifetime: Duration) -> Timestamp {
    Timestamp::from_millis(begin.plus(lifetime).seconds() * 1_000)
}

/// Shows the operator the key that was stored.
pub(super) fn note_stored(entry: &KeyEntry) {
    let KeyEntry {
        key_id,
        account_id,
        name,
        expires_at,
        only,
        ..
    } = entry;
    let end = expires_at.map_or_else(
        || "does not expire".to_owned(),
        |end| format!("expires at {end}"),
    );
    let only = only
        .map(|endpoint| format!(" and is only for {}", endpoint.as_str()))
        .unwrap_or_default();
    note(&format!(
        "Key {key_id} ({name:?}) of the account {account_id} {end}{only}."
    ));
}

/// The longest name of a key, in characters: it has to fit into a table.
const MAX_NAME_CHARS: usize = 64;

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=MAX_NAME_CHARS).contains(&text.chars().count());
    let is_blank = text.trim().is_empty();
    let is_printable = !text.chars().any(char::is_control);
    if !fits || is_blank || !is_printable {
        return Err(format!(
            "a key's name is 1 to {MAX_NAME_CHARS} printable characters"
        ));
    }
    Ok(text.to_owned())
}

/// Stores a new key with this entry and prints it. It cannot be printed again.
///
/// # Errors
/// Standard output is closed, or the key is not stored, or is stored and not printed; or it is unknown
/// whether it is stored. The error says which, and names the key.
pub(super) async fn create(
    key_table: &KeyTable<'_>,
    entry: &KeyEntry,
    format: Format,
) -> Result<()> {
    refuse_lost_output().context("The key is not created, because it could not be printed")?;
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
        key = while_hidden(|| Term::stderr().read_secure_line())?;
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

/// The key that `verify` creates for itself and deletes when it ends.
pub(crate) struct VerificationKey<'a> {
    key_table: KeyTable<'a>,
    key: ApiKey,
    stored: StoredKey,
}

impl<'a> VerificationKey<'a> {
    /// A key that expires at `end`. It is not stored yet.
    pub(crate) fn new(stack: &'a Stack, account: &AccountId, end: Timestamp) -> Result<Self> {
        let new = NewKey {
            account: account.clone(),
            name: "cargo intake verify".to_owned(),
            expires_in: None,
            only: None,
        };
        let entry = KeyEntry {
            expires_at: Some(end),
            ..new.into_entry()
        };
        let key =
            ApiKey::random_for_verification().context("Cannot get random bytes from the system")?;
        Ok(Self {
            key_table: KeyTable::new(stack)?,
            stored: StoredKey::new(key.hash(), entry),
            key,
        })
    }

    pub(crate) fn expose_secret(&self) -> &str {
        self.key.expose_secret()
    }

    pub(crate) async fn store(&self) -> Result<()> {
        self.key_table
            .add(&self.key.hash(), &self.stored.entry)
            .await?;
        Ok(())
    }

    /// Deletes the key. Functions that cached it accept it for up to a minute more.
    pub(crate) async fn delete(&self) -> Result<()> {
        self.key_table.delete(&self.stored).await
    }
}

//! What `keys create`, `keys import` and `keys rotate` have in common: the options of a new key, and its
//! entry. Must not know where the key itself comes from.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use model::account::AccountId;
use model::api_key::Endpoint;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use uuid::Uuid;

use crate::output::note;
use crate::time_args::duration;

#[derive(Args, Debug)]
pub(crate) struct NewKey {
    /// The account that the key belongs to
    #[arg(long, value_name = "NAME")]
    pub(super) account: AccountId,

    /// A name for the key, such as where it is used
    #[arg(long, value_parser = name)]
    pub(super) name: String,

    /// How long the key is valid [default: forever]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
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

//! `keys`: the API keys of accounts. A key is printed once, when it is created; only its hash is stored.

mod account_keys;
mod create;
mod import;
mod list;
mod revoke;
mod rotate;
pub(crate) mod snapshot;
mod table;
mod temporary;

use std::time::Duration;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::api_key::Endpoint;
use model::timestamp::Timestamp;
use store::api_keys::KeyRecord;
use uuid::Uuid;

pub(crate) use self::account_keys::AccountKeys;
use self::table::KeyTable;
pub(crate) use self::temporary::TemporaryKeys;
use crate::output::{Format, note};
use crate::stack::Stack;
use crate::time_args::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a key and print it, this once, alone on standard output
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys create --account shop --name web --expires-in 90d > key.txt"
    )]
    Create(NewKey),

    /// List keys, without their values
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys list --account shop --active")]
    List(List),

    /// Show what is stored of one key
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys show key_3f2a9c81d04e")]
    Show {
        /// The key's id, from `keys list`
        id: String,
    },

    /// Create a key that replaces another; the old key stays valid for the overlap
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys rotate key_3f2a9c81d04e --overlap 24h > key.txt"
    )]
    Rotate(Rotate),

    /// Revoke a key: within a minute, or two while the key table does not answer, every function rejects it
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys revoke key_3f2a9c81d04e")]
    Revoke {
        /// The key's id, from `keys list`
        id: String,

        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },

    /// Import a key that another system created, from standard input, so that it is in no shell history
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys import --account shop --name web < key.txt"
    )]
    Import(NewKey),

    /// Write the key snapshot, which functions go by while the key table does not answer; needed once after the first deployment
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys publish")]
    Publish,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only the keys of this account
    #[arg(long, value_name = "NAME")]
    account: Option<AccountId>,

    /// Only keys that are neither expired nor revoked
    #[arg(long)]
    active: bool,
}

#[derive(Args, Debug)]
pub(crate) struct NewKey {
    /// The account that the key belongs to
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// A name for the key, such as where it is used
    #[arg(long, value_parser = name)]
    name: String,

    /// How long the key is valid [default: forever]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,

    /// The only endpoint that accepts the key [default: all]
    #[arg(long, value_name = "ENDPOINT", value_parser = endpoint())]
    only: Option<Endpoint>,
}

#[derive(Args, Debug)]
pub(crate) struct Rotate {
    /// The id of the old key, from `keys list`
    id: String,

    /// How long the old key stays valid
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    overlap: Duration,

    /// How long the new key is valid [default: as long as the old one, from its creation to its end]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,

    /// Do not ask for confirmation when there is no overlap
    #[arg(long)]
    yes: bool,
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let keys = KeyTable::new(stack)?;
        let outcome = self.change_or_show(&keys, format).await;
        if !keys.is_changed() {
            return outcome;
        }
        // Also after an error: a part of the command may be done.
        let published = snapshot::publish_change(&keys).await;
        match (outcome, published) {
            (Err(error), Err(unpublished)) => Err(error.context(unpublished)),
            (outcome, published) => outcome.and(published),
        }
    }

    async fn change_or_show(self, keys: &KeyTable<'_>, format: Format) -> Result<()> {
        match self {
            Self::Create(new) => create::create(keys, &new.into_record(), format).await,
            Self::List(list) => list::list(keys, &list, format).await,
            Self::Show { id } => list::show(keys, &id, format).await,
            Self::Rotate(rotate) => rotate::rotate(keys, rotate, format).await,
            Self::Revoke { id, yes } => revoke::revoke(keys, &id, yes, format).await,
            Self::Import(new) => import::import(keys, &new.into_record(), format).await,
            Self::Publish => snapshot::publish(keys, format).await,
        }
    }
}

impl NewKey {
    fn into_record(self) -> KeyRecord {
        let created_at = Timestamp::now();
        // 48 random bits: people read an id aloud, it is no secret, and a counter would need a place to be stored.
        let random = Uuid::new_v4().simple().to_string();
        KeyRecord {
            key_id: format!("key_{}", random.get(..12).unwrap_or(&random)),
            account_id: self.account,
            name: self.name,
            created_at,
            expires_at: self.expires_in.map(|lifetime| end_after(created_at, lifetime)),
            revoked_at: None,
            only: self.only,
        }
    }
}

fn endpoint() -> impl TypedValueParser<Value = Endpoint> {
    PossibleValuesParser::new(Endpoint::ALL.map(Endpoint::as_str))
        .try_map(|name| Endpoint::ALL.into_iter().find(|endpoint| endpoint.as_str() == name).ok_or("no such endpoint"))
}

/// The sentence about an account that has no key: its name is probably mistyped.
const UNKNOWN_ACCOUNT: &str = " No API key of this account exists: check the name of the account.";

/// For a command that found nothing in this account: the sentence that says so if no key of the account exists.
pub(crate) async fn unknown_account_hint(stack: &Stack, account: &AccountId) -> &'static str {
    let Ok(keys) = KeyTable::new(stack) else { return "" };
    match keys.has_account(account).await {
        Ok(false) => UNKNOWN_ACCOUNT,
        // The command does not need the key table, so that it may be unreadable.
        Ok(true) | Err(_) => "",
    }
}

/// The records of all active keys.
pub(crate) async fn active_keys(stack: &Stack) -> Result<Vec<KeyRecord>> {
    let now = Timestamp::now();
    let records = KeyTable::new(stack)?.all().await?.into_iter().map(|key| key.record);
    Ok(records.filter(|record| record.is_active(now)).collect())
}

/// The end of a key, `lifetime` after `begin`, in whole seconds as the table holds it.
fn end_after(begin: Timestamp, lifetime: Duration) -> Timestamp {
    Timestamp::from_millis(begin.plus(lifetime).seconds() * 1_000)
}

/// Shows the operator the key that was stored.
fn note_stored(record: &KeyRecord) {
    let KeyRecord { key_id, account_id, name, expires_at, only, .. } = record;
    let end = expires_at.map_or_else(|| "does not expire".to_owned(), |end| format!("expires at {end}"));
    let only = only.map(|endpoint| format!(" and is only for {}", endpoint.as_str())).unwrap_or_default();
    note(&format!("Key {key_id} ({name:?}) of the account {account_id} {end}{only}."));
}

/// The longest name of a key, in characters: it has to fit into a table.
const MAX_NAME_CHARS: usize = 64;

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=MAX_NAME_CHARS).contains(&text.chars().count());
    if fits && !text.trim().is_empty() && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!("a key's name is 1 to {MAX_NAME_CHARS} printable characters"))
    }
}

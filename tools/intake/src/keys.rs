//! `keys`: whose key opens what, and until when. The key itself is seen once, when it is made.

mod create;
mod import;
mod list;
mod revoke;
mod rotate;
mod table;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;

use crate::output::Format;
use crate::stack::StackArgs;
use crate::time_args::duration;

use self::table::KeyTable;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key and print it, this once, alone on standard output
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys create --account shop --name web --expires-in 90d > key.txt"
    )]
    Create(Create),

    /// List keys, without their values
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys list --account shop")]
    List {
        /// Only the keys of this account
        #[arg(long, value_name = "NAME")]
        account: Option<AccountId>,
    },

    /// Show what is known of one key
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys show key_3f2a9c81d04e")]
    Show {
        /// Which key, as `keys list` names it
        id: String,
    },

    /// Make a key in place of another, which goes on for a while
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys rotate key_3f2a9c81d04e --overlap 24h > key.txt"
    )]
    Rotate(Rotate),

    /// End a key: refused everywhere within a minute, for good
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys revoke key_3f2a9c81d04e")]
    Revoke {
        /// Which key, as `keys list` names it
        id: String,

        /// Do not ask
        #[arg(long)]
        yes: bool,
    },

    /// Take a key that was made elsewhere, from standard input, so that it is in no shell history
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys import --account shop --name web < key.txt"
    )]
    Import(Import),
}

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Whose data it opens
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// What to call it: where it is used, say
    #[arg(long, value_parser = name)]
    name: String,

    /// From when on it opens nothing, from now [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,
}

#[derive(Args, Debug)]
pub(crate) struct Rotate {
    /// Which key, as `keys list` names it
    id: String,

    /// How long the old key goes on
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    overlap: Duration,

    /// From when on the new key opens nothing, from now [default: it lasts as long as the old one was made to]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,

    /// Do not ask, should the old key end at once
    #[arg(long)]
    yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// Whose data it opens
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// What to call it: where it is used, say
    #[arg(long, value_parser = name)]
    name: String,

    /// From when on it opens nothing, from now [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,
}

impl Command {
    pub(crate) async fn run(self, stack_args: &StackArgs, format: Format) -> Result<()> {
        let keys = KeyTable::of(stack_args.connect().await?)?;
        match self {
            Self::Create(create) => create::create(&keys, create, format).await,
            Self::List { account } => list::list(&keys, account.as_ref(), format).await,
            Self::Show { id } => list::show(&keys, &id, format).await,
            Self::Rotate(rotate) => rotate::rotate(&keys, rotate, format).await,
            Self::Revoke { id, yes } => revoke::revoke(&keys, &id, yes, format).await,
            Self::Import(import) => import::import(&keys, import, format).await,
        }
    }
}

/// The longest name of a key, in characters: it has to fit into a table.
const NAME_CHARS: usize = 64;

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=NAME_CHARS).contains(&text.chars().count());
    if fits && !text.trim().is_empty() && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!("a key's name is 1 to {NAME_CHARS} printable characters"))
    }
}

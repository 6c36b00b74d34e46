//! `keys`: the API keys of accounts. A key is printed once, when it is created; only its hash is stored.

mod list;
mod new_key;
mod revoke;
mod rotate;
pub(crate) mod snapshot;
mod table;

use anyhow::Result;
use clap::Subcommand;

use self::list::List;
pub(crate) use self::new_key::TemporaryKeys;
use self::new_key::{NewKey, create, import};
use self::rotate::Rotate;
pub(crate) use self::table::{KeyTable, StoredKey};
use crate::output::Format;
use crate::stack::Stack;

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

    /// Write the key snapshot, which functions go by while the key table does not answer
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys publish")]
    Publish,
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let keys = KeyTable::new(stack)?;
        let outcome = self.perform(&keys, format).await;
        if !keys.is_changed.get() {
            return outcome;
        }
        // Also after an error: a part of the command may be done.
        let published = snapshot::publish_change(&keys).await;
        match (outcome, published) {
            (Err(error), Err(unpublished)) => Err(unpublished.context(error)),
            (outcome, published) => outcome.and(published),
        }
    }

    async fn perform(self, keys: &KeyTable<'_>, format: Format) -> Result<()> {
        match self {
            Self::Create(new) => create(keys, &new.into_record(), format).await,
            Self::List(list) => list.run(keys, format).await,
            Self::Rotate(rotate) => rotate.run(keys, format).await,
            Self::Revoke { id, yes } => revoke::revoke(keys, &id, yes, format).await,
            Self::Import(new) => import(keys, &new.into_record(), format).await,
            Self::Publish => snapshot::publish(keys, format).await,
        }
    }
}

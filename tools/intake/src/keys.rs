//! `keys`: the API keys of accounts. A key is printed once, when it is created; only its hash is
//! stored.

mod create;
mod import;
mod key_table;
mod list;
mod new_key;
mod publish;
mod revoke;
mod rotate;
pub(crate) mod snapshot;
mod verification_key;

use anyhow::Result;
use clap::Subcommand;

use self::create::create;
use self::import::import;
pub(crate) use self::key_table::{KeyTable, StoredKey, no_such_key};
use self::list::ListKeys;
use self::new_key::NewKey;
use self::publish::publish;
use self::revoke::{RevokeKey, TABLE_TIMEOUT};
use self::rotate::RotateKey;
pub(crate) use self::verification_key::VerificationKey;
use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it, this once, alone on standard output
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys create --account shop --name web --expires-in 90d > key.txt"
    )]
    Create(NewKey),

    /// List keys, without their values
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys list --account shop --active"
    )]
    List(ListKeys),

    /// Create a key that replaces another; the old key stays valid for the overlap
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys rotate key_3f2a9c81d04e --overlap 24h > key.txt"
    )]
    Rotate(RotateKey),

    /// Revoke a key: every function rejects it within a minute while the key table answers, and
    /// otherwise later (docs/cli.md, Keys)
    Revoke(RevokeKey),

    /// Import a key that another system created, from standard input, so that it is in no shell
    /// history
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod keys import --account shop --name web < key.txt"
    )]
    Import(NewKey),

    /// Write the key snapshot, which functions go by while the key table does not answer
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod keys publish")]
    Publish,
}

impl KeysCommand {
    /// Runs the command and, if it changed a key that the key snapshot has, writes the snapshot anew,
    /// once.
    ///
    /// `create`, `import`, `rotate` and `revoke` change keys through [`KeyTable`], which requires the
    /// publication before each write. `list` changes nothing, and `publish` writes the snapshot itself.
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let with_short_timeout = stack.with_call_timeout(TABLE_TIMEOUT);
        let stack = match self {
            Self::Revoke(_) => &with_short_timeout,
            _ => stack,
        };
        let key_table = KeyTable::new(stack)?;
        let performed = self.perform(&key_table, format).await;
        if !key_table.needs_publication() {
            return performed;
        }
        // The snapshot is also written after an error: a part of the command may be done.
        let published = snapshot::publish_change(&key_table).await;
        match (performed, published) {
            // The operator hears both errors.
            (Err(error), Err(unpublished)) => Err(unpublished.context(error)),
            (performed, published) => performed.and(published),
        }
    }

    async fn perform(self, key_table: &KeyTable<'_>, format: Format) -> Result<()> {
        match self {
            Self::Create(new) => create(key_table, &new.into_entry(), format).await,
            Self::List(list) => list.run(key_table, format).await,
            Self::Rotate(rotate) => rotate.run(key_table, format).await,
            Self::Revoke(revoke) => revoke.run(key_table, format).await,
            Self::Import(new) => import(key_table, &new.into_entry(), format).await,
            Self::Publish => publish(key_table, format).await,
        }
    }
}

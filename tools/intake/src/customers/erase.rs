//! `customers erase`: deletes everything that is stored of a customer or an emitter.
//!
//! It keeps no record of its progress: what is deleted is not found again, so a second run deletes
//! what is left. It looks a second time itself, also when it found nothing: a request that came
//! before may still store or defer something. It prints a line for the operator's record of
//! erasures, which a restore of a table makes necessary.

use anyhow::{Context as _, Result};
use aws_sdk_dynamodb::types::Select;
use futures_util::TryStreamExt as _;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde_json::json;
use store::retry::MAX_REQUEST_DURATION;

use super::profiles::stored;
use crate::confirm::confirm;
use crate::error::call_error;
use crate::interrupt::until_interrupted;
use crate::items::{batch_delete, partition_key, query_items};
use crate::output::{Format, note};
use crate::overflow::refuse_while_queued;
use crate::rejected::RejectedTable;
use crate::stack::{CUSTOMERS, Item, SIGNALS, Stack};

/// How many keys of signals are read before they are deleted: a history may be longer than the
/// memory.
const DELETED_AT_ONCE: usize = 1_000;

/// An erasure of a customer or an emitter.
pub(super) struct Erasure<'a> {
    pub(super) stack: &'a Stack,
    pub(super) account: &'a AccountId,
    pub(super) id: &'a str,
    /// Whether it goes on while messages are queued.
    pub(super) anyway: bool,
}

/// What was found when the erasure looked again.
struct SecondLook {
    found: Found,
    /// An error if messages were queued by then.
    queues: Result<()>,
}

impl Erasure<'_> {
    pub(super) async fn run(self, yes: bool, format: Format) -> Result<()> {
        let Self {
            stack,
            account,
            id,
            anyway,
        } = self;
        refuse_while_queued(stack, anyway).await?;
        note(&format!("Counting what is stored of {id:?} ..."));
        let mut found = self.look().await?;
        if found.is_empty() {
            note(&format!(
                "Nothing is stored of {id:?} in the account {account}."
            ));
        }
        let counts = found.counts();
        confirm(
            &format!("Erase {counts} of {id:?} in the account {account}? This cannot be undone."),
            yes,
        )?;
        // The command listens for Ctrl-C only after the answer: until then, Ctrl-C ends the
        // process.
        let second = until_interrupted(Box::pin(self.delete_twice(&found))).await?;
        let second =
            second.context("Interrupted. To erase what is left, run the command again.")?;
        found.profiles += second.found.profiles;
        found.signals += second.found.signals;
        found.rejected.extend(second.found.rejected);
        let printed = self.print(&found, format);
        // Last, so that the operator has the line for the record in any case.
        second.queues.and(printed)
    }

    fn print(&self, erased: &Found, format: Format) -> Result<()> {
        let Self { account, id, .. } = self;
        let erased_at = Timestamp::now();
        let json = json!({
            "erasedAt": erased_at,
            "accountId": account,
            "id": id,
            "profiles": erased.profiles,
            "signals": erased.signals,
            "rejectedSignals": erased.rejected.len(),
        });
        let counts = erased.counts();
        format.print(
            &format!("Erased {id:?} in the account {account} at {erased_at}: {counts}."),
            &json,
        )
    }

    async fn look(&self) -> Result<Found> {
        let Self {
            stack, account, id, ..
        } = self;
        Ok(Found {
            profiles: usize::from(stored(stack, account, id).await?.is_some()),
            signals: count_signals(stack, account, id).await?,
            rejected: RejectedTable::new(stack)?.keys_of(account, id).await?,
        })
    }

    /// Deletes what was found, and what requests have stored that functions received before.
    async fn delete_twice(&self, found: &Found) -> Result<SecondLook> {
        self.delete(found).await?;
        let seconds = MAX_REQUEST_DURATION.as_secs();
        note(&format!(
            "Waiting {seconds} s: a request that a function received before may store something until then."
        ));
        tokio::time::sleep(MAX_REQUEST_DURATION).await;
        // Before the second look: it finds what was drained until this count.
        let queues = refuse_while_queued(self.stack, self.anyway)
            .await
            .context("What is stored is erased, but requests that came before were deferred");
        let late = self.look().await?;
        self.delete(&late).await?;
        Ok(SecondLook {
            found: late,
            queues,
        })
    }

    async fn delete(&self, found: &Found) -> Result<()> {
        let Self {
            stack, account, id, ..
        } = self;
        // The profile last: while it is there, an operator sees that the erasure is incomplete.
        RejectedTable::new(stack)?.delete(&found.rejected).await?;
        delete_signals(stack, account, id).await?;
        batch_delete(
            &stack.client,
            stack.table(CUSTOMERS)?,
            &[partition_key(account.partition_key(id))],
        )
        .await
    }
}

/// What is stored of a customer or an emitter.
struct Found {
    profiles: usize,
    signals: usize,
    /// The keys of the rejected signals.
    rejected: Vec<Item>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.profiles == 0 && self.signals == 0 && self.rejected.is_empty()
    }

    fn counts(&self) -> String {
        let Self {
            profiles,
            signals,
            rejected,
        } = self;
        format!(
            "{profiles} profile(s), {signals} signal(s), {} rejected signal(s)",
            rejected.len()
        )
    }
}

async fn count_signals(stack: &Stack, account: &AccountId, id: &str) -> Result<usize> {
    let table = stack.table(SIGNALS)?;
    let pages = stack
        .query(table, account.partition_key(id))
        .select(Select::Count)
        .into_paginator()
        .send();
    let pages: Vec<_> = pages
        .try_collect()
        .await
        .map_err(|error| call_error(table, error))?;
    Ok(pages
        .iter()
        .map(|page| usize::try_from(page.count).unwrap_or_default())
        .sum())
}

async fn delete_signals(stack: &Stack, account: &AccountId, id: &str) -> Result<()> {
    let table = stack.table(SIGNALS)?;
    let keys = query_items(
        stack
            .query(table, account.partition_key(id))
            .projection_expression("pk, sk"),
    );
    let mut pages = keys.try_chunks(DELETED_AT_ONCE);
    while let Some(keys) = pages.try_next().await.map_err(|error| error.1)? {
        batch_delete(&stack.client, table, &keys).await?;
    }
    Ok(())
}

//! `customers erase`: deletes everything that is stored of a customer or an emitter.
//!
//! It keeps no record of its progress: what is deleted is not found again, so a second run deletes
//! what is left. It looks a second time itself: a request that came before may still store
//! something. It prints a line for the operator's record of erasures, which a restore of a table
//! makes necessary.

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
use crate::rejected::RejectedTable;
use crate::stack::{CUSTOMERS, Item, SIGNALS, Stack};

/// How many keys of signals are read before they are deleted: a history may be longer than the
/// memory.
const DELETED_AT_ONCE: usize = 1_000;

pub(super) async fn erase(
    stack: &Stack,
    account: &AccountId,
    id: &str,
    yes: bool,
    format: Format,
) -> Result<()> {
    note(&format!("Counting what is stored of {id:?} ..."));
    let mut found = Found::look(stack, account, id).await?;
    if found.is_empty() {
        note(&format!(
            "Nothing is stored of {id:?} in the account {account}."
        ));
    } else {
        let counts = found.counts();
        confirm(
            &format!("Erase {counts} of {id:?} in the account {account}? This cannot be undone."),
            yes,
        )?;
        // The command listens for Ctrl-C only after the answer: until then, Ctrl-C ends the
        // process.
        let late = until_interrupted(Box::pin(found.delete_twice(stack, account, id))).await?;
        let late = late.context("Interrupted. To erase what is left, run the command again.")?;
        found.profiles += late.profiles;
        found.signals += late.signals;
        found.rejected.extend(late.rejected);
    }
    let erased_at = Timestamp::now();
    let Found {
        profiles,
        signals,
        rejected,
    } = &found;
    let json = json!({
        "erasedAt": erased_at, "accountId": account, "id": id, "profiles": profiles, "signals": signals,
        "rejectedSignals": rejected.len(),
    });
    format.print(
        &format!(
            "Erased {id:?} in the account {account} at {erased_at}: {}.",
            found.counts()
        ),
        &json,
    )
}

/// What is stored of a customer or an emitter.
struct Found {
    profiles: usize,
    signals: usize,
    /// The keys of the rejected signals.
    rejected: Vec<Item>,
}

impl Found {
    async fn look(stack: &Stack, account: &AccountId, id: &str) -> Result<Self> {
        Ok(Self {
            profiles: usize::from(stored(stack, account, id).await?.is_some()),
            signals: count_signals(stack, account, id).await?,
            rejected: RejectedTable::new(stack)?.keys_of(account, id).await?,
        })
    }

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

    /// Deletes it, and what requests have stored that functions received before. Returns the
    /// latter.
    async fn delete_twice(&self, stack: &Stack, account: &AccountId, id: &str) -> Result<Self> {
        self.delete(stack, account, id).await?;
        let seconds = MAX_REQUEST_DURATION.as_secs();
        note(&format!(
            "Waiting {seconds} s: a request that a function received before may store something until then."
        ));
        tokio::time::sleep(MAX_REQUEST_DURATION).await;
        let late = Self::look(stack, account, id).await?;
        late.delete(stack, account, id).await?;
        Ok(late)
    }

    async fn delete(&self, stack: &Stack, account: &AccountId, id: &str) -> Result<()> {
        // The profile last: while it is there, an operator sees that the erasure is incomplete.
        RejectedTable::new(stack)?.delete(&self.rejected).await?;
        delete_signals(stack, account, id).await?;
        batch_delete(
            &stack.client,
            stack.table(CUSTOMERS)?,
            &[partition_key(account.partition_key(id))],
        )
        .await
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

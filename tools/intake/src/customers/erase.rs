//! `customers erase`: deletes everything that is stored of a customer or an emitter.
//!
//! It looks a second time, also when it found nothing: a request that came before may still store or
//! defer something.

use anyhow::{Context as _, Result};
use aws_sdk_dynamodb::types::Select;
use clap::Args;
use futures_util::TryStreamExt as _;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde_json::json;
use store::attributes::Item;
use store::retry::MAX_REQUEST_DURATION;

use super::Target;
use super::profile::find_profile;
use crate::confirm::confirm;
use crate::erasure::{ErasureArgs, refuse_while_queued, until_erased, wait_for_functions};
use crate::output::{Format, note};
use operator::error::call_error;
use operator::items::{batch_delete, key_of_partition, partition_query, query_items};

use crate::stack::Stack;
use crate::stack::variable_names::{CUSTOMERS_TABLE, SIGNALS_TABLE};

/// How many keys of signals are read before they are deleted: a history may be longer than the
/// memory.
const DELETION_BATCH_SIZE: usize = 1_000;

fn help() -> String {
    let seconds = MAX_REQUEST_DURATION.as_secs();
    format!(
        "Example:\n  cargo intake --stack intake-prod customers erase --account shop customer-17\n\n\
        It is refused while the overflow queue or its dead-letter queue has messages: what is in them \
        would be stored after the erasure. It looks again \
        after {seconds} seconds, also when it found nothing: a request may still be on its way. After an interruption, run it \
        again: it erases what is left. Backups are not changed."
    )
}

#[derive(Args, Debug)]
#[command(after_help = help())]
pub(crate) struct EraseCustomer {
    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    erasure: ErasureArgs,
}

/// What was found when the erasure looked again.
struct SecondLook {
    found: StoredOfCustomer,
    /// An error if messages were queued by then.
    queues: Result<()>,
}

impl EraseCustomer {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Target {
            account,
            subject_id,
        } = &self.target;
        refuse_while_queued(stack, self.erasure.anyway).await?;
        note(&format!("Counting what is stored of {subject_id:?} ..."));
        let mut found = self.look(stack).await?;
        if found.is_empty() {
            note(&format!(
                "Nothing is stored of {subject_id:?} in the account {account}."
            ));
        }
        let counts = found.counts();
        let question = format!(
            "Erase {counts} of {subject_id:?} in the account {account}? This cannot be undone."
        );
        confirm(&question, self.erasure.yes)?;
        let second = until_erased(self.delete_twice(stack, &found)).await?;
        found.profiles += second.found.profiles;
        found.signals += second.found.signals;
        found.rejected_keys.extend(second.found.rejected_keys);
        let printed = self.print(&found, format);
        // An error of the queues is returned last, so that the operator has the line for the record
        // in any case.
        second.queues.and(printed)
    }

    fn print(&self, erased: &StoredOfCustomer, format: Format) -> Result<()> {
        let Target {
            account,
            subject_id,
        } = &self.target;
        let erased_at = Timestamp::now();
        let json = json!({
            "erasedAt": erased_at,
            "accountId": account,
            "id": subject_id,
            "profiles": erased.profiles,
            "signals": erased.signals,
            "rejectedSignals": erased.rejected_keys.len(),
        });
        let counts = erased.counts();
        let text =
            format!("Erased {subject_id:?} in the account {account} at {erased_at}: {counts}.");
        format.print(&text, &json)
    }

    async fn look(&self, stack: &Stack) -> Result<StoredOfCustomer> {
        let Target {
            account,
            subject_id,
        } = &self.target;
        let profile = find_profile(stack, account, subject_id).await?;
        let signals = count_signals(stack, account, subject_id).await?;
        let rejected_table = stack.rejected_table()?;
        let rejected_keys = rejected_table
            .find_keys_by_subject(account, subject_id)
            .await?;
        Ok(StoredOfCustomer {
            profiles: usize::from(profile.is_some()),
            signals,
            rejected_keys,
        })
    }

    /// Deletes what was found, and what requests have stored that functions received before.
    async fn delete_twice(&self, stack: &Stack, found: &StoredOfCustomer) -> Result<SecondLook> {
        self.delete(stack, found).await?;
        let reason = "a request that a function received before may store something until then.";
        wait_for_functions(MAX_REQUEST_DURATION, reason).await;
        // The messages are counted before the second look, which finds what was drained until then.
        let queues = refuse_while_queued(stack, self.erasure.anyway)
            .await
            .context("What is stored is erased, but requests that came before were deferred");
        let late = self.look(stack).await?;
        self.delete(stack, &late).await?;
        Ok(SecondLook {
            found: late,
            queues,
        })
    }

    async fn delete(&self, stack: &Stack, found: &StoredOfCustomer) -> Result<()> {
        let Target {
            account,
            subject_id,
        } = &self.target;
        stack.rejected_table()?.delete(&found.rejected_keys).await?;
        delete_signals(stack, account, subject_id).await?;
        // The profile last: while it is there, an operator sees that the erasure is incomplete.
        let profile = key_of_partition(account.partition_key(subject_id));
        batch_delete(
            &stack.dynamodb,
            stack.table_name(CUSTOMERS_TABLE)?,
            &[profile],
        )
        .await
    }
}

/// What is stored of a customer or an emitter.
struct StoredOfCustomer {
    profiles: usize,
    signals: usize,
    /// The keys of the rejected signals.
    rejected_keys: Vec<Item>,
}

impl StoredOfCustomer {
    fn is_empty(&self) -> bool {
        self.profiles == 0 && self.signals == 0 && self.rejected_keys.is_empty()
    }

    fn counts(&self) -> String {
        let Self {
            profiles,
            signals,
            rejected_keys,
        } = self;
        format!(
            "{profiles} profile(s), {signals} signal(s), {} rejected signal(s)",
            rejected_keys.len()
        )
    }
}

async fn count_signals(stack: &Stack, account: &AccountId, subject_id: &str) -> Result<usize> {
    let table_name = stack.table_name(SIGNALS_TABLE)?;
    let mut pages = partition_query(
        &stack.dynamodb,
        table_name,
        account.partition_key(subject_id),
    )
    .select(Select::Count)
    .into_paginator()
    .send();
    let mut count = 0;
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| call_error(table_name, error))?;
        count += usize::try_from(page.count).unwrap_or_default();
    }
    Ok(count)
}

async fn delete_signals(stack: &Stack, account: &AccountId, subject_id: &str) -> Result<()> {
    let table_name = stack.table_name(SIGNALS_TABLE)?;
    let query = partition_query(
        &stack.dynamodb,
        table_name,
        account.partition_key(subject_id),
    )
    .projection_expression("pk, sk");
    let mut batches = query_items(query).try_chunks(DELETION_BATCH_SIZE);
    while let Some(keys) = batches.try_next().await.map_err(|error| error.1)? {
        batch_delete(&stack.dynamodb, table_name, &keys).await?;
    }
    Ok(())
}

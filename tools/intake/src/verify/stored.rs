//! Reads back what is stored of the account, and removes it: by the partitions that were written
//! to, since a scan of a large table would take long and cost money. Must not know what is correct.

use std::collections::BTreeSet;

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::is_reserved;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::attributes::Item;
use store::rejected_signals::{self, SHARDS, day};

use super::batch::{SUBJECTS, subject_id};
use super::report::Cleanup;
use super::run::Run;
use crate::items::{Json, batch_delete, key, partition_key, query_items};
use crate::keys::VerificationKey;
use crate::stack::{CUSTOMERS, IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS, Stack};

/// Calls at the same time.
const CONCURRENCY: usize = 8;

/// What is stored of the account.
pub(super) struct Stored {
    pub(super) signals: Vec<Item>,
    pub(super) rejected: Vec<Item>,
    /// The fields of the customer, if there is one.
    pub(super) profile: Option<Value>,
}

pub(super) async fn read(stack: &Stack, run: &Run<'_>) -> Result<Stored> {
    let customers = partitions(stack, CUSTOMERS, subjects(run.account)).await?;
    let signals = partitions(stack, SIGNALS, subjects(run.account)).await?;
    let rejected = partitions(stack, REJECTED_SIGNALS, rejected_partitions(run)).await?;
    Ok(Stored {
        signals,
        rejected,
        profile: customers.first().map(fields),
    })
}

fn fields(item: &Item) -> Value {
    let fields = item.iter().filter(|(name, _)| !is_reserved(name));
    fields
        .map(|(name, value)| (name.clone(), json!(Json(value))))
        .collect()
}

/// The partition of each customer and emitter.
fn subjects(account: &AccountId) -> Vec<String> {
    (0..SUBJECTS)
        .map(|who| account.partition_key(&subject_id(who)))
        .collect()
}

/// The partitions of the signals that were rejected since the run began.
fn rejected_partitions(run: &Run<'_>) -> Vec<String> {
    let days = BTreeSet::from([day(run.began_at), day(Timestamp::now())]);
    let shard = |day, shard| rejected_signals::partition_key(run.account, day, shard);
    days.iter()
        .flat_map(|day| (0..SHARDS).map(move |number| shard(day, number)))
        .collect()
}

/// The items of these partitions.
async fn partitions(stack: &Stack, variable: &str, partitions: Vec<String>) -> Result<Vec<Item>> {
    let table = stack.table(variable)?;
    let queries = partitions
        .into_iter()
        .map(|partition| query_items(stack.query(table, partition)));
    stream::iter(queries)
        .flatten_unordered(CONCURRENCY)
        .try_collect()
        .await
}

/// Removes what the run stored: the key first, so that nothing is added.
pub(super) async fn clean_up(stack: &Stack, key: &VerificationKey<'_>, run: &Run<'_>) -> Cleanup {
    let account = run.account;
    let mut cleanup = Cleanup::default();
    let deleted = key.delete().await;
    cleanup.note("API key", deleted);
    let deleted = delete(stack, SIGNALS, &["pk", "sk"], subjects(account)).await;
    cleanup.note("signals", deleted);
    let rejected = rejected_partitions(run);
    let deleted = delete(stack, REJECTED_SIGNALS, &["pk", "sk"], rejected).await;
    cleanup.note("rejected signals", deleted);
    let deleted = delete(stack, CUSTOMERS, &["pk"], subjects(account)).await;
    cleanup.note("customers", deleted);
    let records = idempotency_records(run);
    let deleted = delete_items(stack, IDEMPOTENCY, records).await;
    cleanup.note("idempotency records", deleted);
    let deferred = run.deferred.get();
    if deferred > 0 {
        cleanup.left.push(format!(
            "those of {deferred} deferred writes that the overflow function stores after this"
        ));
    }
    if !cleanup.left.is_empty() {
        cleanup.left.push(format!(
            "to remove the rest: `cargo intake accounts erase {account}`"
        ));
    }
    cleanup
}

/// The keys of the idempotency records of all batches.
fn idempotency_records(run: &Run<'_>) -> Vec<Item> {
    let batches = run.batches.borrow();
    batches
        .keys()
        .map(|identifier| partition_key(run.account.partition_key(identifier)))
        .collect()
}

/// Deletes the items of these partitions. Returns how many there were.
async fn delete(
    stack: &Stack,
    variable: &str,
    key_names: &[&str],
    of: Vec<String>,
) -> Result<usize> {
    let items = partitions(stack, variable, of).await?;
    let keys = items.iter().map(|item| key(item, key_names)).collect();
    delete_items(stack, variable, keys).await
}

async fn delete_items(stack: &Stack, variable: &str, keys: Vec<Item>) -> Result<usize> {
    batch_delete(&stack.client, stack.table(variable)?, &keys).await?;
    Ok(keys.len())
}

//! Reads back what is stored of the account, and removes it: by the partitions that were written to, since a
//! scan of a large table would take long and cost money. Must not know what is correct.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::attributes::is_reserved;
use model::timestamp::Timestamp;
use operator::items::{
    Json, batch_delete, item_key, key_of_partition, partition_query, query_items,
};
use serde_json::{Value, json};
use store::attributes::Item;
use store::rejected_signals::{self, SHARDS};
use store::retry::MAX_REQUEST_DURATION;

use super::report::{CheckContext, Cleanup};
use super::sender::{SUBJECT_COUNT, subject_id};
use crate::keys::VerificationKey;
use crate::output::{note, own_command};
use crate::stack::Stack;
use crate::stack::variables::{
    CUSTOMERS_TABLE, IDEMPOTENCY_TABLE, REJECTED_SIGNALS_TABLE, SIGNALS_TABLE,
};

/// Calls at the same time.
const CONCURRENCY: usize = 8;

/// What is stored of the account.
pub(super) struct StoredItems {
    pub(super) signals: Vec<Item>,
    pub(super) rejected: Vec<Item>,
    /// The fields of the customer, if there is one.
    pub(super) profile: Option<Value>,
}

pub(super) async fn read(stack: &Stack, context: &CheckContext<'_>) -> Result<StoredItems> {
    let subjects = subject_partitions(context.account);
    let customers = read_partitions(stack, CUSTOMERS_TABLE, subjects.clone()).await?;
    let signals = read_partitions(stack, SIGNALS_TABLE, subjects).await?;
    let rejected =
        read_partitions(stack, REJECTED_SIGNALS_TABLE, rejected_partitions(context)).await?;
    Ok(StoredItems {
        signals,
        rejected,
        profile: customers.first().map(profile_fields),
    })
}

fn profile_fields(item: &Item) -> Value {
    let fields = item.iter().filter(|(name, _)| !is_reserved(name));
    fields
        .map(|(name, value)| (name.clone(), json!(Json(value))))
        .collect()
}

/// The partition of each customer and emitter.
pub(super) fn subject_partitions(account: &AccountId) -> Vec<String> {
    (0..SUBJECT_COUNT)
        .map(|who| account.partition_key(&subject_id(who)))
        .collect()
}

/// The partitions of the signals that were rejected since the run began.
pub(super) fn rejected_partitions(context: &CheckContext<'_>) -> Vec<String> {
    let days = BTreeSet::from([context.began_at.day(), Timestamp::now().day()]);
    let mut partitions = Vec::new();
    for day in &days {
        for shard in 0..SHARDS {
            partitions.push(rejected_signals::partition_key(context.account, day, shard));
        }
    }
    partitions
}

/// Reads the items of these partitions.
pub(super) async fn read_partitions(
    stack: &Stack,
    variable: &str,
    partitions: Vec<String>,
) -> Result<Vec<Item>> {
    let table_name = stack.table_name(variable)?;
    let queries = partitions.into_iter().map(|partition| {
        let query = partition_query(&stack.dynamodb, table_name, partition);
        query_items(&stack.dynamodb, query, note)
    });
    stream::iter(queries)
        .flatten_unordered(CONCURRENCY)
        .try_collect()
        .await
}

/// How long a function may still work on a request that was given up: as long as on any request, and
/// two seconds on its way.
const ABANDONED_REQUEST_DURATION: Duration =
    MAX_REQUEST_DURATION.saturating_add(Duration::from_secs(2));

/// Removes everything after a run that did not come to its end: at once, since a pipeline that sends
/// SIGTERM kills the process some seconds later, and again when no function works on a request any
/// more. Returns what was removed at once.
pub(super) async fn clean_up_abandoned(
    stack: &Stack,
    key: &VerificationKey<'_>,
    context: &CheckContext<'_>,
) -> Vec<String> {
    let first = clean_up(stack, key, context).await;
    note(&format!(
        "Cleaning up again in {} s, because functions may still process requests.",
        ABANDONED_REQUEST_DURATION.as_secs()
    ));
    tokio::time::sleep(ABANDONED_REQUEST_DURATION).await;
    let last = clean_up(stack, key, context).await;
    for left in &last.left {
        note(&format!("Not removed: {left}"));
    }
    first.removed
}

/// Removes what the run stored: the key first, so that nothing is added.
pub(super) async fn clean_up(
    stack: &Stack,
    key: &VerificationKey<'_>,
    context: &CheckContext<'_>,
) -> Cleanup {
    note("Cleaning up ...");
    let account = context.account;
    let mut cleanup = Cleanup::default();
    let deleted = key.delete().await;
    cleanup.record("API key", deleted.map(|()| 1));
    let subjects = subject_partitions(account);
    let deleted = delete_partitions(stack, SIGNALS_TABLE, &["pk", "sk"], subjects.clone()).await;
    cleanup.record("signals", deleted);
    let rejected = rejected_partitions(context);
    let deleted = delete_partitions(stack, REJECTED_SIGNALS_TABLE, &["pk", "sk"], rejected).await;
    cleanup.record("rejected signals", deleted);
    let deleted = delete_partitions(stack, CUSTOMERS_TABLE, &["pk"], subjects).await;
    cleanup.record("customers", deleted);
    let records = idempotency_records(context);
    let deleted = delete_items(stack, IDEMPOTENCY_TABLE, records).await;
    cleanup.record("idempotency records", deleted);
    let deferred = context.sender.deferred.get();
    if deferred > 0 {
        cleanup.left.push(format!(
            "those of {deferred} deferred writes that the overflow function stores after this"
        ));
    }
    if !cleanup.left.is_empty() {
        cleanup.left.push(format!(
            "to remove the rest: {} accounts erase {account}",
            own_command()
        ));
    }
    cleanup
}

/// The keys of the idempotency records of all batches.
fn idempotency_records(context: &CheckContext<'_>) -> Vec<Item> {
    let batches = context.sender.batches.borrow();
    batches
        .keys()
        .map(|identifier| key_of_partition(context.account.partition_key(identifier)))
        .collect()
}

/// Deletes the items of these partitions. Returns how many there were.
async fn delete_partitions(
    stack: &Stack,
    variable: &str,
    key_names: &[&str],
    partitions: Vec<String>,
) -> Result<usize> {
    let items = read_partitions(stack, variable, partitions).await?;
    let keys = items.iter().map(|item| item_key(item, key_names)).collect();
    delete_items(stack, variable, keys).await
}

async fn delete_items(stack: &Stack, variable: &str, keys: Vec<Item>) -> Result<usize> {
    let table_name = stack.table_name(variable)?;
    batch_delete(&stack.dynamodb, table_name, &keys).await?;
    Ok(keys.len())
}

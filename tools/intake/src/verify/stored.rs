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
use store::rejected_signals::{self, SHARDS};

use super::batch::{SUBJECTS, subject_id};
use super::report::Cleanup;
use super::run::Run;
use crate::items::{Json, batch_delete, key, key_of_partition, query_items};
use crate::keys::VerificationKey;
use crate::stack::Stack;
use crate::stack::variable_names::{
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

pub(super) async fn read(stack: &Stack, run: &Run<'_>) -> Result<StoredItems> {
    let subjects = subject_partitions(run.account);
    let customers = read_partitions(stack, CUSTOMERS_TABLE, subjects.clone()).await?;
    let signals = read_partitions(stack, SIGNALS_TABLE, subjects).await?;
    let rejected = read_partitions(stack, REJECTED_SIGNALS_TABLE, rejected_partitions(run)).await?;
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
fn subject_partitions(account: &AccountId) -> Vec<String> {
    (0..SUBJECTS)
        .map(|who| account.partition_key(&subject_id(who)))
        .collect()
}

/// The partitions of the signals that were rejected since the run began.
fn rejected_partitions(run: &Run<'_>) -> Vec<String> {
    let days = BTreeSet::from([run.began_at.day(), Timestamp::now().day()]);
    let mut partitions = Vec::new();
    for day in &days {
        for shard in 0..SHARDS {
            partitions.push(rejected_signals::partition_key(run.account, day, shard));
        }
    }
    partitions
}

/// Reads the items of these partitions.
async fn read_partitions(
    stack: &Stack,
    variable: &str,
    partitions: Vec<String>,
) -> Result<Vec<Item>> {
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
    cleanup.record("API key", deleted);
    let subjects = subject_partitions(account);
    let deleted = delete_partitions(stack, SIGNALS_TABLE, &["pk", "sk"], subjects.clone()).await;
    cleanup.record("signals", deleted);
    let rejected = rejected_partitions(run);
    let deleted = delete_partitions(stack, REJECTED_SIGNALS_TABLE, &["pk", "sk"], rejected).await;
    cleanup.record("rejected signals", deleted);
    let deleted = delete_partitions(stack, CUSTOMERS_TABLE, &["pk"], subjects).await;
    cleanup.record("customers", deleted);
    let records = idempotency_records(run);
    let deleted = delete_items(stack, IDEMPOTENCY_TABLE, records).await;
    cleanup.record("idempotency records", deleted);
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
        .map(|identifier| key_of_partition(run.account.partition_key(identifier)))
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
    let keys = items.iter().map(|item| key(item, key_names)).collect();
    delete_items(stack, variable, keys).await
}

async fn delete_items(stack: &Stack, variable: &str, keys: Vec<Item>) -> Result<usize> {
    let table = stack.table(variable)?;
    batch_delete(&stack.client, table, &keys).await?;
    Ok(keys.len())
}

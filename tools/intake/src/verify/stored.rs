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
    Ok(Stored {
        signals: partitions(stack, SIGNALS, subjects(run.account)).await?,
        rejected: partitions(stack, REJECTED_SIGNALS, rejected_partitions(run)).await?,
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

/// Removes the key first, so that nothing is added.
pub(super) async fn clean_up(stack: &Stack, key: &VerificationKey<'_>, run: &Run<'_>) -> Cleanup {
    let (mut cleanup, account) = (Cleanup::default(), run.account);
    cleanup.note("API key", key.delete().await);
    cleanup.note(
        "signals",
        delete(stack, SIGNALS, &["pk", "sk"], subjects(account)).await,
    );
    let rejected = rejected_partitions(run);
    cleanup.note(
        "rejected signals",
        delete(stack, REJECTED_SIGNALS, &["pk", "sk"], rejected).await,
    );
    cleanup.note(
        "customers",
        delete(stack, CUSTOMERS, &["pk"], subjects(account)).await,
    );
    let identifiers: Vec<String> = run.batches.borrow().keys().cloned().collect();
    let records = identifiers
        .iter()
        .map(|identifier| partition_key(account.partition_key(identifier)))
        .collect();
    cleanup.note(
        "idempotency records",
        delete_items(stack, IDEMPOTENCY, records).await,
    );
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

async fn delete(stack: &Stack, variable: &str, names: &[&str], of: Vec<String>) -> Result<usize> {
    let items = partitions(stack, variable, of).await?;
    delete_items(
        stack,
        variable,
        items.iter().map(|item| key(item, names)).collect(),
    )
    .await
}

async fn delete_items(stack: &Stack, variable: &str, keys: Vec<Item>) -> Result<usize> {
    batch_delete(&stack.client, stack.table(variable)?, &keys).await?;
    Ok(keys.len())
}

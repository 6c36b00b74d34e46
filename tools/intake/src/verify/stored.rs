//! Reads back what is stored of the account, and removes it: by the partitions that were written to, since a scan of a large
//! table would take long and cost money. Must not know what is correct.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use consistency::{Stored, kept_signal, stored_signal};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::is_reserved;
use model::timestamp::Timestamp;
use store::rejected_signals::{self, SHARDS, day};

use super::load::{SUBJECTS, subject_id};
use super::report::Cleanup;
use super::run::Run;
use crate::items::{batch_delete, dynamodb_json, key, partition_key, query_items, text};
use crate::keys::VerificationKey;
use crate::stack::{CUSTOMERS, IDEMPOTENCY, Item, REJECTED_SIGNALS, SIGNALS, Stack};

/// Calls at the same time.
const CONCURRENCY: usize = 8;

pub(super) async fn read(stack: &Stack, account: &AccountId, since: Timestamp) -> Result<Stored> {
    let mut stored = Stored::default();
    let retention = stack.retention()?;
    for (who, items) in partitions(stack, SIGNALS, subjects(account)).await?.into_iter().enumerate() {
        for item in items {
            let mut json = dynamodb_json(&item);
            stored.signals.push(stored_signal(&mut json, u32::try_from(who).ok(), retention));
        }
    }
    let rejected = partitions(stack, REJECTED_SIGNALS, rejected_partitions(account, since)).await?;
    let payloads = rejected.iter().flatten().map(|item| text(item, "payload").unwrap_or_default());
    stored.rejected = payloads.map(kept_signal).collect();
    let customers = partitions(stack, CUSTOMERS, subjects(account)).await?;
    stored.customers = (0..).zip(customers).filter_map(|(who, items)| Some((who, fields(items.first()?)))).collect();
    Ok(stored)
}

fn fields(item: &Item) -> HashMap<String, String> {
    let fields = item.iter().filter(|(name, _)| !is_reserved(name));
    fields.map(|(name, value)| (name.clone(), value.as_s().cloned().unwrap_or_default())).collect()
}

/// The partition of each customer and emitter.
fn subjects(account: &AccountId) -> Vec<String> {
    (0..SUBJECTS).map(|who| account.partition_key(&subject_id(who))).collect()
}

/// The partitions of the signals that were rejected since then.
fn rejected_partitions(account: &AccountId, since: Timestamp) -> Vec<String> {
    let days = BTreeSet::from([day(since), day(Timestamp::now())]);
    days.iter().flat_map(|day| (0..SHARDS).map(|shard| rejected_signals::partition_key(account, day, shard))).collect()
}

/// The items of these partitions, in the same order.
async fn partitions(stack: &Stack, variable: &str, partitions: Vec<String>) -> Result<Vec<Vec<Item>>> {
    let table = stack.table(variable)?;
    let read = |partition| query_items(stack.query(table, partition)).try_collect();
    let reads: Vec<_> = partitions.into_iter().map(read).collect();
    stream::iter(reads).buffered(CONCURRENCY).try_collect().await
}

/// Removes the key first, so that nothing is added.
pub(super) async fn clean_up(stack: &Stack, key: &VerificationKey<'_>, run: &Run<'_>, since: Timestamp) -> Cleanup {
    let (mut cleanup, account) = (Cleanup::default(), run.account);
    cleanup.note("API key", key.delete().await);
    cleanup.note("signals", delete(stack, SIGNALS, &["pk", "sk"], subjects(account)).await);
    let rejected = rejected_partitions(account, since);
    cleanup.note("rejected signals", delete(stack, REJECTED_SIGNALS, &["pk", "sk"], rejected).await);
    cleanup.note("customers", delete(stack, CUSTOMERS, &["pk"], subjects(account)).await);
    // DynamoDB refuses a batch with a key twice.
    let identifiers: BTreeSet<String> = run.identifiers().into_iter().collect();
    let records = identifiers.iter().map(|identifier| partition_key(account.partition_key(identifier))).collect();
    cleanup.note("idempotency records", delete_items(stack, IDEMPOTENCY, records).await);
    let deferred = run.seen.borrow().deferred;
    if deferred > 0 {
        cleanup.left.push(format!("those of {deferred} deferred signals that the overflow function stores after this"));
    }
    if !cleanup.left.is_empty() {
        cleanup.left.push(format!("to remove the rest: `cargo intake accounts erase {account}`"));
    }
    cleanup
}

async fn delete(stack: &Stack, variable: &str, names: &[&str], of: Vec<String>) -> Result<usize> {
    let items = partitions(stack, variable, of).await?;
    let keys: Vec<Item> = items.iter().flatten().map(|item| key(item, names)).collect();
    delete_items(stack, variable, keys).await
}

async fn delete_items(stack: &Stack, variable: &str, keys: Vec<Item>) -> Result<usize> {
    batch_delete(&stack.client, stack.table(variable)?, &keys).await?;
    Ok(keys.len())
}

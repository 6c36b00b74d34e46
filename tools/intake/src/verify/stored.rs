//! Reads back what is stored of the account, with consistent reads of the partitions that were written to. Must not know what
//! is correct.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use consistency::{Stored, kept_signal, stored_signal};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::is_reserved;
use model::timestamp::Timestamp;
use store::rejected_signals::{SHARDS, day, partition_key};

use super::load::{SUBJECTS, subject_id};
use crate::item::{Item, dynamodb_json, text};
use crate::scan::items;
use crate::stack::{CUSTOMERS, REJECTED_SIGNALS, SIGNALS, Stack};

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
pub(super) fn subjects(account: &AccountId) -> Vec<String> {
    (0..SUBJECTS).map(|who| account.partition_key(&subject_id(who))).collect()
}

/// The partitions of the signals that were rejected since then.
pub(super) fn rejected_partitions(account: &AccountId, since: Timestamp) -> Vec<String> {
    let days = BTreeSet::from([day(since), day(Timestamp::now())]);
    days.iter().flat_map(|day| (0..SHARDS).map(|shard| partition_key(account, day, shard))).collect()
}

/// The items of these partitions, in the same order.
pub(super) async fn partitions(stack: &Stack, variable: &str, partitions: Vec<String>) -> Result<Vec<Vec<Item>>> {
    let table = stack.table(variable)?;
    let read = |partition| items(stack.query(table, partition)).try_collect();
    let reads: Vec<_> = partitions.into_iter().map(read).collect();
    stream::iter(reads).buffered(CONCURRENCY).try_collect().await
}

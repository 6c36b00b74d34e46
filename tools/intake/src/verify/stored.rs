//! Reads back what is stored of the account: by the partitions that were written to, since a scan of
//! a large table would take long and cost money. Must not know what is correct.

use std::collections::BTreeSet;

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::is_reserved;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::attributes::Item;
use store::rejected_signals::{self, SHARDS};

use super::batch::{SUBJECT_COUNT, subject_id};
use super::check_context::CheckContext;
use crate::output::note;
use crate::stack::Stack;
use crate::stack::variable_names::{CUSTOMERS_TABLE, REJECTED_SIGNALS_TABLE, SIGNALS_TABLE};
use operator::items::{Json, partition_query, query_items};

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
    let queries = (0..).zip(partitions).map(|(number, partition)| {
        // One read tells the operator for all.
        let note = if number == 0 { note } else { |_: &str| {} };
        query_items(
            partition_query(&stack.dynamodb, table_name, partition),
            note,
        )
    });
    stream::iter(queries)
        .flatten_unordered(CONCURRENCY)
        .try_collect()
        .await
}

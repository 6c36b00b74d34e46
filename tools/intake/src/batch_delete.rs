//! Deleting many items.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{DeleteRequest, WriteRequest};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use store::{Cause, StoreError};

use crate::error::{call_error, store_error};
use crate::item::Item;

/// Items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// Calls at once.
const CALLS_AT_ONCE: usize = 8;

/// What is waited before what DynamoDB left undone is asked again; doubled each time.
const BACKOFF_BASE: Duration = Duration::from_millis(50);

/// How often it is asked again.
const TRIES: u32 = 10;

/// Deletes the items with these keys. Those that are gone already are no error, so it can be run again.
///
/// # Errors
/// DynamoDB could not be had for all of them: some are gone, some are not.
pub(crate) async fn batch_delete(client: &Client, table: &str, keys: &[Item]) -> Result<()> {
    let calls: Vec<_> = keys.chunks(BATCH_ITEMS).map(|batch| delete_batch(client, table, batch)).collect();
    stream::iter(calls).buffer_unordered(CALLS_AT_ONCE).try_collect::<()>().await
}

async fn delete_batch(client: &Client, table: &str, keys: &[Item]) -> Result<()> {
    let deletes = keys.iter().filter_map(|key| {
        let delete = DeleteRequest::builder().set_key(Some(key.clone())).build().ok()?;
        Some(WriteRequest::builder().delete_request(delete).build())
    });
    let mut left = HashMap::from([(table.to_owned(), deletes.collect::<Vec<_>>())]);
    for attempt in 0..TRIES {
        let call = client.batch_write_item().set_request_items(Some(left)).send().await;
        let answer = call.map_err(|error| call_error(table, error))?;
        left = answer.unprocessed_items.unwrap_or_default();
        if left.values().all(Vec::is_empty) {
            return Ok(());
        }
        tokio::time::sleep(BACKOFF_BASE.saturating_mul(2_u32.saturating_pow(attempt))).await;
    }
    Err(store_error(table, &StoreError::Unavailable(Cause::Throttled)))
}

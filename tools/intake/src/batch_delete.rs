//! Deleting many items.

use std::collections::HashMap;

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{DeleteRequest, WriteRequest};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use store::circuit_breaker::CircuitBreaker;
use store::deadline::Deadline;
use store::error::Cause;
use store::table_access::TableAccess;

use crate::error::store_error;
use crate::item::Item;
use crate::stack::WRITE_TIMEOUT;

/// The most items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// The most calls at once.
const CONCURRENT_CALLS: usize = 8;

/// Deletes the items with these keys. An item that is already deleted is no error, so a caller may run it again.
///
/// # Errors
/// DynamoDB failed: some items are deleted, some are not.
pub(crate) async fn batch_delete(client: &Client, table: &str, keys: &[Item]) -> Result<()> {
    let calls: Vec<_> = keys.chunks(BATCH_ITEMS).map(|batch| delete_batch(client, table, batch)).collect();
    stream::iter(calls).buffer_unordered(CONCURRENT_CALLS).try_collect().await
}

async fn delete_batch(client: &Client, table: &str, keys: &[Item]) -> Result<()> {
    let deletes = keys.iter().filter_map(|key| {
        let delete = DeleteRequest::builder().set_key(Some(key.clone())).build().ok()?;
        Some(WriteRequest::builder().delete_request(delete).build())
    });
    let mut unprocessed = HashMap::from([(table.to_owned(), deletes.collect::<Vec<_>>())]);
    let access = TableAccess::new(&CircuitBreaker::default(), Deadline::after(WRITE_TIMEOUT));
    loop {
        let call =
            || async { Ok(client.batch_write_item().set_request_items(Some(unprocessed.clone())).send().await?) };
        let response = access.repeat(call).await.map_err(|error| store_error(table, &error))?;
        unprocessed = response.unprocessed_items.unwrap_or_default();
        if unprocessed.values().all(Vec::is_empty) {
            return Ok(());
        }
        if !access.wait().await {
            return Err(store_error(table, &Cause::Throttled.into()));
        }
    }
}

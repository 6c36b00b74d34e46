//! Deletes many items. Must not know what is in them.

use std::collections::HashMap;

use anyhow::Result;
use aws::call_error::CallError;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{DeleteRequest, WriteRequest};
use futures_util::stream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use store::attributes::Item;
use store::retry::{Backoff, repeat};

use crate::WRITE_TIMEOUT;
use crate::error::write_error;

/// The most items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// The most calls at once.
const CONCURRENT_CALLS: usize = 8;

/// Deletes the items with these keys. An item that is already deleted is no error, so a caller may
/// run it again.
///
/// # Errors
/// DynamoDB failed: some items are deleted, some are not.
pub async fn batch_delete(client: &Client, table_name: &str, keys: &[Item]) -> Result<()> {
    let calls: Vec<_> = keys
        .chunks(BATCH_ITEMS)
        .map(|batch| delete_batch(client, table_name, batch))
        .collect();
    stream::iter(calls)
        .buffer_unordered(CONCURRENT_CALLS)
        .try_collect()
        .await
}

async fn delete_batch(client: &Client, table_name: &str, keys: &[Item]) -> Result<()> {
    let deletes: Vec<_> = keys.iter().map(delete_request).collect::<Result<_>>()?;
    let mut unprocessed = HashMap::from([(table_name.to_owned(), deletes)]);
    let deadline = Deadline::after(WRITE_TIMEOUT);
    let mut backoff = Backoff::default();
    loop {
        let call = || async {
            let call = client
                .batch_write_item()
                .set_request_items(Some(unprocessed.clone()));
            Ok(call.send().await?)
        };
        let response = repeat(deadline, call)
            .await
            .map_err(|error| write_error(table_name, &error))?;
        unprocessed = response.unprocessed_items.unwrap_or_default();
        if unprocessed.values().all(Vec::is_empty) {
            return Ok(());
        }
        let has_time_left = backoff.wait(deadline).await;
        if !has_time_left {
            return Err(write_error(table_name, &CallError::Throttled.into()));
        }
    }
}

fn delete_request(key: &Item) -> Result<WriteRequest> {
    let delete = DeleteRequest::builder()
        .set_key(Some(key.clone()))
        .build()?;
    Ok(WriteRequest::builder().delete_request(delete).build())
}

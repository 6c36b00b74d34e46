//! What every `BatchWriteItem` needs: sending again what DynamoDB left undone.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::WriteRequest;

use super::StoreError;
use crate::invocation::Budget;

/// What is waited at first, at most, before unprocessed items are sent again; doubled each time.
pub(super) const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// What is waited at most.
const BACKOFF_LONGEST: Duration = Duration::from_secs(1);

/// Items by table, as `BatchWriteItem` takes and returns them.
pub(super) type Unprocessed = HashMap<String, Vec<WriteRequest>>;

/// Sends what is unprocessed until nothing is, with full jitter between. The SDK does not: left items come in an answer
/// that is no error.
///
/// # Errors
/// When the budget was spent first, or DynamoDB failed.
pub(super) async fn send_unprocessed(
    client: &Client,
    mut unprocessed: Unprocessed,
    budget: Budget,
) -> Result<(), StoreError> {
    let mut longest = BACKOFF_BASE;
    loop {
        unprocessed.retain(|_, requests| !requests.is_empty());
        if unprocessed.is_empty() {
            return Ok(());
        }
        let call = client.batch_write_item().set_request_items(Some(unprocessed));
        unprocessed = budget.spend(call.send()).await??.unprocessed_items.unwrap_or_default();
        if !unprocessed.is_empty() {
            wait(longest, budget).await?;
            longest = longest.saturating_mul(2).min(BACKOFF_LONGEST);
        }
    }
}

/// Waits for some time up to `longest`.
///
/// # Errors
/// When the budget would be spent first.
pub(super) async fn wait(longest: Duration, budget: Budget) -> Result<(), StoreError> {
    let wait = longest.mul_f64(fastrand::f64());
    if wait >= budget.left() {
        return Err(StoreError::Unavailable("UnprocessedItems".to_owned()));
    }
    tokio::time::sleep(wait).await;
    Ok(())
}

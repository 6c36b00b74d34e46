//! What every `BatchWriteItem` needs: staying within its limits, and sending again what DynamoDB left undone.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::WriteRequest;

use super::StoreError;
use super::client::RETRIES_IN_HAND;
use crate::invocation::Budget;

/// Items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// JSON text as sent in one `BatchWriteItem`, in bytes. DynamoDB takes 16 MB a call and its JSON of an array of one-digit
/// numbers is five times as long as ours.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// What is waited at first, at most, before unprocessed items are sent again; doubled each time.
const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// What is waited at most.
const BACKOFF_LONGEST: Duration = Duration::from_secs(1);

/// Items by table, as `BatchWriteItem` takes and returns them.
pub(super) type Unprocessed = HashMap<String, Vec<WriteRequest>>;

/// How often batches of which DynamoDB took nothing may be sent again, together: as often as failed calls may. A batch
/// that is through gives back what it took, and one that is through at once gives back one more.
#[derive(Clone, Debug)]
pub(super) struct Retries(Arc<AtomicU32>);

impl Default for Retries {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(RETRIES_IN_HAND)))
    }
}

impl Retries {
    fn take(&self) -> Result<(), StoreError> {
        let one_less = |in_hand: u32| in_hand.checked_sub(1);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        taken.map(drop).map_err(|_| left_unprocessed())
    }

    fn give_back(&self, retries: u32) {
        let more = |in_hand: u32| Some(in_hand.saturating_add(retries).min(RETRIES_IN_HAND));
        // It is changed whatever it was.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

/// Splits what is to be put, each of so many `bytes`, so that no batch is beyond what one call takes.
pub(super) fn batches<T>(all: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut batches = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let mut sum = 0_usize;
        let fitting = rest.iter().take(BATCH_ITEMS).take_while(|one| {
            sum = sum.saturating_add(bytes(one));
            sum <= BATCH_BYTES
        });
        // A single one is always below the limit, so each turn takes at least one.
        let (batch, after) = rest.split_at_checked(fitting.count().max(1)).unwrap_or((rest, &[]));
        batches.push(batch);
        rest = after;
    }
    batches
}

/// Sends what is left `unprocessed` of `sent` items until nothing is, with full jitter between. The SDK does not: left
/// items come in an answer that is no error.
///
/// # Errors
/// When the budget or the retries in hand were spent first, or DynamoDB failed.
pub(super) async fn send_unprocessed(
    client: &Client,
    mut sent: usize,
    mut unprocessed: Unprocessed,
    retries: &Retries,
    budget: Budget,
) -> Result<(), StoreError> {
    let (mut longest, mut taken) = (BACKOFF_BASE, 0_u32);
    loop {
        let left: usize = unprocessed.values().map(Vec::len).sum();
        if left == 0 {
            retries.give_back(taken.max(1));
            return Ok(());
        }
        // Where some were taken, another call is no repetition.
        if left >= sent {
            retries.take()?;
            taken = taken.saturating_add(1);
        }
        wait(longest, budget).await?;
        longest = longest.saturating_mul(2).min(BACKOFF_LONGEST);
        unprocessed.retain(|_, requests| !requests.is_empty());
        let call = client.batch_write_item().set_request_items(Some(unprocessed));
        unprocessed = budget.spend(call.send()).await??.unprocessed_items.unwrap_or_default();
        sent = left;
    }
}

/// Waits for some time up to `longest`.
async fn wait(longest: Duration, budget: Budget) -> Result<(), StoreError> {
    let wait = longest.mul_f64(fastrand::f64());
    if wait >= budget.left() {
        return Err(left_unprocessed());
    }
    tokio::time::sleep(wait).await;
    Ok(())
}

fn left_unprocessed() -> StoreError {
    StoreError::Unavailable("UnprocessedItems".to_owned())
}

//! Writes many items with `BatchWriteItem`: splits them into batches within its limits, makes several calls at the same
//! time, writes unprocessed items again, and writes the items of an invalid batch one by one.
//!
//! The body of a call is written from the text that clients sent, and replaces the SDK's: every digit of a number stays, and a
//! batch takes a fraction of the memory that the SDK's values of it would.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use model::deadline::Deadline;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::deadline::{before, yield_for_connection_reuse};
use crate::dynamodb_json::DynamoDbJson;
use crate::error::{Cause, StoreError, UnstoredSignals};
use crate::patience::{Patience, TableAccess, TableHealth};

/// Items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// The payload text in one `BatchWriteItem`, in bytes: one of the largest signals. DynamoDB accepts 16 MB per call, and its
/// JSON of an array of one-digit numbers is five times as long as the client's.
const BATCH_BYTES: usize = 256 * 1024;

/// The payload text of all concurrent calls, in bytes: bounds the memory for DynamoDB's JSON, sent and returned.
const CONCURRENT_BYTES: usize = 1024 * 1024;

/// Concurrent calls on a table that throttles.
const CALLS_WHILE_THROTTLED: usize = 2;

/// An item to put.
pub(super) trait BatchItem: Copy {
    /// The index of its signal in its request.
    fn index(self) -> usize;

    /// Its sort key, which no other item of the same request has.
    fn sort_key(self) -> String;

    /// The bytes of its payload text.
    fn text_bytes(self) -> usize;

    /// Writes the item.
    fn write(self, json: &mut DynamoDbJson);
}

/// A table that items are written to in batches.
#[derive(Clone, Debug)]
pub(super) struct BatchTable {
    client: Client,
    name: String,
    health: TableHealth,
    in_flight: InFlight,
}

/// The calls to a table that are under way at the same time, of all requests or messages of this process together.
#[derive(Clone, Debug)]
struct InFlight {
    bytes: Arc<Semaphore>,
    /// What a call counts at least, in bytes, however small it is. It limits the number of calls.
    min_bytes: usize,
}

impl InFlight {
    fn new(max_calls: usize) -> Self {
        Self { bytes: Arc::new(Semaphore::new(CONCURRENT_BYTES)), min_bytes: CONCURRENT_BYTES / max_calls.max(1) }
    }

    /// What a batch of this text counts. One that is larger than all that may be under way is sent alone.
    fn cost(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.clamp(self.min_bytes, CONCURRENT_BYTES)).unwrap_or(u32::MAX)
    }

    /// Waits until a batch of this text can be sent. Who waits longest is next.
    ///
    /// # Errors
    /// When it cannot before the deadline.
    async fn wait_for(&self, bytes: usize, deadline: Deadline) -> Result<SemaphorePermit<'_>, StoreError> {
        let permit = before(deadline, self.bytes.acquire_many(self.cost(bytes))).await?;
        // It is never closed.
        permit.map_err(|_| Cause::DeadlineExceeded.into())
    }

    /// Whether a batch of this text can be sent at once.
    fn try_for(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        self.bytes.try_acquire_many(self.cost(bytes)).ok()
    }
}

/// The result of one batch, or of several.
struct Sent<I> {
    /// The items to send again; all that are not known to be stored.
    unprocessed: Vec<I>,
    invalid: Vec<I>,
    /// Why it is not worth sending them again.
    error: Option<StoreError>,
}

impl BatchTable {
    /// The table called `name`. All requests of the process together make at most `max_calls` at the same time, and so
    /// open as many connections.
    pub(super) fn new(client: Client, name: impl Into<String>, max_calls: usize) -> Self {
        Self { client, name: name.into(), health: TableHealth::default(), in_flight: InFlight::new(max_calls) }
    }

    /// Puts `items`. Returns the indices of those that DynamoDB found invalid, in order; every other one is stored.
    ///
    /// # Errors
    /// When DynamoDB did not acknowledge all of them before the deadline.
    pub(super) async fn put<I: BatchItem>(
        &self,
        items: Vec<I>,
        patience: impl Into<Patience>,
    ) -> Result<Vec<usize>, UnstoredSignals> {
        // Without a call, the request is no probe of a table that does not answer.
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let access = self.health.access(patience);
        let mut max_calls = if access.is_short() { CALLS_WHILE_THROTTLED } else { usize::MAX };
        let (mut unsent, mut invalid) = (items, Vec::new());
        loop {
            let sent = self.put_once(unsent, &mut max_calls, &access).await;
            invalid.extend(sent.invalid);
            unsent = sent.unprocessed;
            if unsent.is_empty() {
                return Ok(indices(&invalid));
            }
            let waited = match sent.error {
                Some(error) => Err(error),
                None => access.wait().await,
            };
            if let Err(error) = waited {
                let (invalid, unacknowledged) = (indices(&invalid), indices(&unsent));
                return Err(UnstoredSignals { error, invalid, unacknowledged });
            }
        }
    }

    /// Sends the items in batches, until DynamoDB leaves a whole batch unprocessed: then it is time to wait. An error ends
    /// the sending, but the calls that are under way are waited for.
    async fn put_once<I: BatchItem>(&self, items: Vec<I>, max_calls: &mut usize, access: &TableAccess) -> Sent<I> {
        let mut unsent = batches(items);
        let mut sent = Sent { unprocessed: Vec::new(), invalid: Vec::new(), error: None };
        let (mut calls, mut is_throttled) = (FuturesUnordered::new(), false);
        loop {
            while calls.len() < *max_calls && !is_throttled && sent.error.is_none() {
                let Some(next) = unsent.front() else { break };
                let permit = if calls.is_empty() {
                    self.in_flight
                        .wait_for(next.bytes, access.deadline())
                        .await
                        .map_err(|late| sent.error = Some(late))
                        .ok()
                } else {
                    self.in_flight.try_for(next.bytes)
                };
                let Some(permit) = permit else { break };
                let Some(batch) = unsent.pop_front() else { break };
                calls.push(async move {
                    let (length, outcome) = (batch.items.len(), self.put_batch(batch.items, access).await);
                    drop(permit);
                    (length, outcome)
                });
            }
            let Some((length, outcome)) = calls.next().await else { break };
            let Sent { unprocessed, invalid, error } = outcome;
            if error.is_some() {
                sent.error = error;
            } else if unprocessed.len() == length {
                is_throttled = true;
            }
            if !unprocessed.is_empty() {
                *max_calls = CALLS_WHILE_THROTTLED;
            }
            sent.unprocessed.extend(unprocessed);
            sent.invalid.extend(invalid);
            if !unsent.is_empty() {
                yield_for_connection_reuse().await;
            }
        }
        // Items that were not sent go first the next time.
        let mut untried: Vec<I> = unsent.into_iter().flat_map(|batch| batch.items).collect();
        untried.append(&mut sent.unprocessed);
        Sent { unprocessed: untried, ..sent }
    }

    async fn put_batch<I: BatchItem>(&self, items: Vec<I>, access: &TableAccess) -> Sent<I> {
        match access.call(self.send_batch(&items)).await {
            Ok(unprocessed) => Sent { unprocessed, invalid: Vec::new(), error: None },
            Err(StoreError::Unavailable(Cause::Throttled)) => {
                Sent { unprocessed: items, invalid: Vec::new(), error: None }
            }
            Err(StoreError::Invalid | StoreError::ItemTooLarge) if items.len() == 1 => {
                Sent { unprocessed: Vec::new(), invalid: items, error: None }
            }
            // DynamoDB rejected the batch for one of its items and does not say which.
            Err(StoreError::Invalid | StoreError::ItemTooLarge) => self.put_one_by_one(items, access).await,
            Err(error) => Sent { unprocessed: items, invalid: Vec::new(), error: Some(error) },
        }
    }

    /// Makes one call; returns the items that DynamoDB left unprocessed.
    ///
    /// # Errors
    /// [`Cause::Throttled`] when it left all of them so.
    async fn send_batch<I: BatchItem>(&self, items: &[I]) -> Result<Vec<I>, StoreError> {
        let text: usize = items.iter().map(|item| item.text_bytes()).sum();
        let mut json = DynamoDbJson::with_capacity(text + items.len() * 700 + 256);
        json.raw("{\"RequestItems\":{");
        json.string(&self.name);
        json.raw(":[");
        let mut separator = "{\"PutRequest\":{\"Item\":";
        for item in items {
            json.raw(separator);
            item.write(&mut json);
            separator = "}},{\"PutRequest\":{\"Item\":";
        }
        json.raw("}}]}}");
        let body = Bytes::from(json.into_bytes());
        let replace_body = move |request: &mut HttpRequest| {
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body.clone());
        };
        // The SDK finds the table's endpoint by its name.
        let call = self.client.batch_write_item().request_items(&self.name, Vec::new());
        let output = call.customize().mutate_request(replace_body).send().await?;
        let requests = output.unprocessed_items.into_iter().flat_map(HashMap::into_values).flatten();
        let keys: Vec<_> = requests.map(|request| request.put_request?.item.remove("sk")).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let is_unprocessed = |item: &I| keys.contains(&Some(AttributeValue::S(item.sort_key())));
        let unprocessed: Vec<I> = items.iter().copied().filter(is_unprocessed).collect();
        // If the returned keys cannot be matched, the whole batch is written again, over itself.
        if unprocessed.len() == keys.len() && keys.len() < items.len() {
            Ok(unprocessed)
        } else {
            Err(Cause::Throttled.into())
        }
    }

    async fn put_one_by_one<I: BatchItem>(&self, items: Vec<I>, access: &TableAccess) -> Sent<I> {
        let mut invalid = Vec::new();
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            match access.repeat(|| async { self.send_batch(&[item]).await }).await {
                Ok(_) => {}
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => invalid.push(item),
                Err(error) => {
                    let unprocessed = std::iter::once(item).chain(items).collect();
                    return Sent { unprocessed, invalid, error: Some(error) };
                }
            }
        }
        Sent { unprocessed: Vec::new(), invalid, error: None }
    }
}

fn indices<I: BatchItem>(items: &[I]) -> Vec<usize> {
    let mut indices: Vec<_> = items.iter().map(|item| item.index()).collect();
    indices.sort_unstable();
    indices
}

/// Items for one call.
struct Batch<I> {
    items: Vec<I>,
    bytes: usize,
}

/// Splits items into batches within the limits of one call.
fn batches<I: BatchItem>(items: Vec<I>) -> VecDeque<Batch<I>> {
    let mut batches: VecDeque<Batch<I>> = VecDeque::new();
    for item in items {
        let bytes = item.text_bytes();
        match batches.back_mut() {
            Some(last) if last.items.len() < BATCH_ITEMS && last.bytes + bytes <= BATCH_BYTES => {
                last.items.push(item);
                last.bytes += bytes;
            }
            _ => batches.push_back(Batch { items: vec![item], bytes }),
        }
    }
    batches
}

#[cfg(test)]
mod tests;

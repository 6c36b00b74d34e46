//! Writing many items with `BatchWriteItem`: within its limits, several calls at once, again what DynamoDB left
//! unprocessed, and one by one what it finds invalid.

use std::collections::VecDeque;

use aws_sdk_dynamodb::Client;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::dynamodb_json::DynamoDbJson;
use crate::throttling::{Backoff, TableThrottle};
use crate::unprocessed::{KeepSortKeys, sort_keys};
use crate::{Cause, StoreError, before, yield_for_connection_reuse};
use model::deadline::Deadline;

/// Items in one `BatchWriteItem`: DynamoDB's limit.
const BATCH_ITEMS: usize = 25;

/// JSON text as sent in one `BatchWriteItem`, in bytes: one of the largest signals. DynamoDB takes 16 MB a call, and its
/// JSON of an array of one-digit numbers is five times as long as ours.
const BATCH_BYTES: usize = 256 * 1024;

/// JSON text as sent in all calls at once, in bytes: bounds what is in memory as DynamoDB's JSON, sent and sent back.
const BYTES_AT_ONCE: usize = 1024 * 1024;

/// Calls at once on a table that throttles.
const CALLS_WHILE_THROTTLED: usize = 2;

/// An item to be put.
pub(super) trait BatchItem: Copy {
    /// Its sort key, which no other item of the same request has.
    fn sort_key(self) -> String;

    /// The bytes of JSON text that it was sent as.
    fn text_bytes(self) -> usize;

    /// Writes it in DynamoDB's JSON.
    fn write(self, json: &mut DynamoDbJson);
}

/// A table that takes items in batches.
#[derive(Clone, Debug)]
pub(super) struct BatchTable {
    client: Client,
    name: String,
    throttle: TableThrottle,
    calls_at_once: usize,
}

/// What became of one batch, or of several.
struct Sent<I> {
    left: Vec<I>,
    refused: Vec<I>,
}

impl BatchTable {
    /// The table called `name`, written to by so many calls of a request at once. A call occupies a connection, so this is
    /// also how many connections a request opens.
    pub(super) fn new(client: Client, name: impl Into<String>, calls_at_once: usize) -> Self {
        Self { client, name: name.into(), throttle: TableThrottle::default(), calls_at_once }
    }

    /// Puts `items`; returns those that DynamoDB refused as invalid. When it returns, every other one is acknowledged.
    ///
    /// # Errors
    /// When DynamoDB did not take all of them before the deadline: some may be stored, some not.
    pub(super) async fn put<I: BatchItem>(&self, items: Vec<I>, deadline: Deadline) -> Result<Vec<I>, StoreError> {
        let mut backoff = self.throttle.backoff(deadline);
        let mut calls_at_once = if backoff.is_limited() { CALLS_WHILE_THROTTLED } else { self.calls_at_once };
        let (mut left, mut refused) = (items, Vec::new());
        loop {
            let sent = self.put_once(left, &mut calls_at_once, &mut backoff, deadline).await?;
            refused.extend(sent.refused);
            left = sent.left;
            if left.is_empty() {
                return Ok(refused);
            }
            backoff.wait().await?;
        }
    }

    /// Sends the items in batches, until a batch comes back whole: then it is time to wait.
    async fn put_once<I: BatchItem>(
        &self,
        items: Vec<I>,
        calls_at_once: &mut usize,
        backoff: &mut Backoff,
        deadline: Deadline,
    ) -> Result<Sent<I>, StoreError> {
        let mut unsent = batches(items);
        let mut sent = Sent { left: Vec::new(), refused: Vec::new() };
        let (mut calls, mut bytes_at_once, mut came_back_whole) = (FuturesUnordered::new(), 0_usize, false);
        loop {
            // What is likely to come back is also narrowed by its size: writing it again costs processor time.
            let max_bytes = if *calls_at_once == CALLS_WHILE_THROTTLED { BATCH_BYTES } else { BYTES_AT_ONCE };
            while calls.len() < *calls_at_once && !came_back_whole {
                let fits = |next: &Batch<I>| calls.is_empty() || bytes_at_once.saturating_add(next.bytes) <= max_bytes;
                let Some(batch) = unsent.pop_front_if(|next| fits(next)) else { break };
                bytes_at_once = bytes_at_once.saturating_add(batch.bytes);
                calls
                    .push(async move { (batch.bytes, batch.items.len(), self.put_batch(batch.items, deadline).await) });
            }
            let Some((bytes, length, outcome)) = calls.next().await else { break };
            bytes_at_once = bytes_at_once.saturating_sub(bytes);
            let Sent { left, refused } = outcome?;
            if left.len() < length {
                backoff.answered();
            } else {
                came_back_whole = true;
            }
            if !left.is_empty() {
                *calls_at_once = CALLS_WHILE_THROTTLED;
            }
            sent.left.extend(left);
            sent.refused.extend(refused);
            if !unsent.is_empty() {
                yield_for_connection_reuse().await;
            }
        }
        // Those that were not tried go first the next time.
        let mut untried: Vec<I> = unsent.into_iter().flat_map(|batch| batch.items).collect();
        untried.append(&mut sent.left);
        Ok(Sent { left: untried, ..sent })
    }

    async fn put_batch<I: BatchItem>(&self, items: Vec<I>, deadline: Deadline) -> Result<Sent<I>, StoreError> {
        match before(deadline, self.send_batch(&items)).await? {
            Ok(left) => Ok(Sent { left, refused: Vec::new() }),
            Err(StoreError::Unavailable(Cause::Throttled)) => Ok(Sent { left: items, refused: Vec::new() }),
            // One of them spoilt the batch, and DynamoDB does not say which.
            Err(StoreError::Invalid | StoreError::ItemTooLarge) => self.put_one_by_one(items, deadline).await,
            Err(error) => Err(error),
        }
    }

    /// One `BatchWriteItem`; returns what it left unprocessed.
    async fn send_batch<I: BatchItem>(&self, items: &[I]) -> Result<Vec<I>, StoreError> {
        let text: usize = items.iter().map(|item| item.text_bytes()).sum();
        let mut json =
            DynamoDbJson::with_capacity(text.saturating_add(items.len().saturating_mul(700)).saturating_add(256));
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
        // The body is replaced; the table is named for the SDK to find its endpoint by.
        let call = self.client.batch_write_item().request_items(&self.name, Vec::new()).customize();
        let output = call.mutate_request(json.body_override()).interceptor(KeepSortKeys).send().await?;
        let returned: usize = output.unprocessed_items.iter().flat_map(|tables| tables.values()).map(Vec::len).sum();
        if returned == 0 {
            return Ok(Vec::new());
        }
        let keys = sort_keys(&output);
        let left: Vec<I> = items.iter().copied().filter(|item| keys.contains(item.sort_key().as_str())).collect();
        // If what came back cannot be told apart, all of it is written again: over itself.
        Ok(if left.len() == returned { left } else { items.to_vec() })
    }

    async fn put_one_by_one<I: BatchItem>(&self, items: Vec<I>, deadline: Deadline) -> Result<Sent<I>, StoreError> {
        let mut refused = Vec::new();
        for item in items {
            match self.put_one(item, deadline).await {
                Ok(()) => {}
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => refused.push(item),
                Err(error) => return Err(error),
            }
        }
        Ok(Sent { left: Vec::new(), refused })
    }

    async fn put_one<I: BatchItem>(&self, item: I, deadline: Deadline) -> Result<(), StoreError> {
        let mut backoff = self.throttle.backoff(deadline);
        loop {
            let mut json = DynamoDbJson::default();
            json.raw("{\"TableName\":");
            json.string(&self.name);
            json.raw(",\"Item\":");
            item.write(&mut json);
            json.raw("}");
            let call = self.client.put_item().table_name(&self.name).customize().mutate_request(json.body_override());
            let put = before(deadline, call.send()).await?.map(drop).map_err(StoreError::from);
            if !backoff.repeats(&put).await {
                return put;
            }
        }
    }
}

/// Items for one call.
struct Batch<I> {
    items: Vec<I>,
    bytes: usize,
}

/// Splits what is to be put, so that no batch is beyond what one call takes.
fn batches<I: BatchItem>(items: Vec<I>) -> VecDeque<Batch<I>> {
    let mut batches: VecDeque<Batch<I>> = VecDeque::new();
    for item in items {
        let bytes = item.text_bytes();
        match batches.back_mut() {
            Some(last) if last.items.len() < BATCH_ITEMS && last.bytes.saturating_add(bytes) <= BATCH_BYTES => {
                last.items.push(item);
                last.bytes = last.bytes.saturating_add(bytes);
            }
            _ => batches.push_back(Batch { items: vec![item], bytes }),
        }
    }
    batches
}

//! Writes many items with `BatchWriteItem`: splits them into batches within its limits, makes several calls at the same
//! time, writes unprocessed items again, and writes the items of an invalid batch one by one.

use std::collections::{HashSet, VecDeque};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use model::deadline::Deadline;

use crate::client::Client;
use crate::deadline::{before, yield_for_connection_reuse};
use crate::dynamodb_json::DynamoDbJson;
use crate::error::{Cause, StoreError};
use crate::throttling::{Backoff, TableThrottle};
use crate::unprocessed::sort_keys;

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
    throttle: TableThrottle,
    concurrent_calls: usize,
}

/// The result of one batch, or of several.
struct Sent<I> {
    /// The items to send again; all that are not known to be stored.
    unprocessed: Vec<I>,
    invalid: Vec<I>,
    /// Why it is not worth sending them again.
    error: Option<StoreError>,
}

/// Not all items were stored.
pub(super) struct Unstored<I> {
    pub(super) error: StoreError,
    /// Those that DynamoDB found invalid.
    pub(super) invalid: Vec<I>,
    /// Those that DynamoDB did not acknowledge: they may be stored or not.
    pub(super) unacknowledged: Vec<I>,
}

impl<I> Sent<I> {
    fn failed(unprocessed: Vec<I>, error: StoreError) -> Self {
        Self { unprocessed, invalid: Vec::new(), error: Some(error) }
    }
}

impl BatchTable {
    /// The table called `name`. A request makes at most `concurrent_calls` at the same time, and so opens as many
    /// connections.
    pub(super) fn new(client: Client, name: impl Into<String>, concurrent_calls: usize) -> Self {
        Self { client, name: name.into(), throttle: TableThrottle::default(), concurrent_calls }
    }

    /// Puts `items`. Returns those that DynamoDB found invalid; every other one is stored.
    ///
    /// # Errors
    /// When DynamoDB did not acknowledge all of them before the deadline.
    pub(super) async fn put<I: BatchItem>(&self, items: Vec<I>, deadline: Deadline) -> Result<Vec<I>, Unstored<I>> {
        let mut backoff = self.throttle.backoff(deadline);
        let mut concurrent_calls = if backoff.is_limited() { CALLS_WHILE_THROTTLED } else { self.concurrent_calls };
        let (mut unsent, mut invalid) = (items, Vec::new());
        loop {
            let sent = self.put_once(unsent, &mut concurrent_calls, &mut backoff, deadline).await;
            invalid.extend(sent.invalid);
            unsent = sent.unprocessed;
            if unsent.is_empty() {
                return Ok(invalid);
            }
            let waited = match sent.error {
                Some(error) => Err(error),
                None => backoff.wait().await,
            };
            if let Err(error) = waited {
                return Err(Unstored { error, invalid, unacknowledged: unsent });
            }
        }
    }

    /// Sends the items in batches, until DynamoDB leaves a whole batch unprocessed: then it is time to wait. An error ends
    /// the sending, but the calls that are under way are waited for.
    async fn put_once<I: BatchItem>(
        &self,
        items: Vec<I>,
        concurrent_calls: &mut usize,
        backoff: &mut Backoff,
        deadline: Deadline,
    ) -> Sent<I> {
        let mut unsent = batches(items);
        let mut sent = Sent { unprocessed: Vec::new(), invalid: Vec::new(), error: None };
        let (mut calls, mut concurrent_bytes, mut is_throttled) = (FuturesUnordered::new(), 0_usize, false);
        loop {
            // While the table throttles, less text is sent as well: formatting it again costs processor time.
            let max_bytes = if *concurrent_calls == CALLS_WHILE_THROTTLED { BATCH_BYTES } else { CONCURRENT_BYTES };
            while calls.len() < *concurrent_calls && !is_throttled && sent.error.is_none() {
                let fits = |next: &Batch<I>| calls.is_empty() || concurrent_bytes + next.bytes <= max_bytes;
                let Some(batch) = unsent.pop_front_if(|next| fits(next)) else { break };
                concurrent_bytes += batch.bytes;
                calls
                    .push(async move { (batch.bytes, batch.items.len(), self.put_batch(batch.items, deadline).await) });
            }
            let Some((bytes, length, outcome)) = calls.next().await else { break };
            concurrent_bytes -= bytes;
            let Sent { unprocessed, invalid, error } = outcome;
            if error.is_some() {
                sent.error = error;
            } else if unprocessed.len() < length {
                backoff.answered();
            } else {
                is_throttled = true;
            }
            if !unprocessed.is_empty() {
                *concurrent_calls = CALLS_WHILE_THROTTLED;
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

    async fn put_batch<I: BatchItem>(&self, items: Vec<I>, deadline: Deadline) -> Sent<I> {
        match before(deadline, self.send_batch(&items)).await.unwrap_or_else(|late| Err(late.into())) {
            Ok(unprocessed) => Sent { unprocessed, invalid: Vec::new(), error: None },
            Err(StoreError::Unavailable(Cause::Throttled)) => {
                Sent { unprocessed: items, invalid: Vec::new(), error: None }
            }
            // DynamoDB rejected the batch for one of its items and does not say which.
            Err(StoreError::Invalid | StoreError::ItemTooLarge) => self.put_one_by_one(items, deadline).await,
            Err(error) => Sent::failed(items, error),
        }
    }

    /// Makes one call; returns the items that DynamoDB left unprocessed.
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
        let keys = sort_keys(&self.client.send("BatchWriteItem", json.into_bytes()).await?)?;
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let returned = keys.len();
        let keys: HashSet<_> = keys.into_iter().collect();
        let unprocessed: Vec<I> = items.iter().copied().filter(|item| keys.contains(&item.sort_key())).collect();
        // If the returned keys cannot be matched, the whole batch is written again, over itself.
        Ok(if unprocessed.len() == returned { unprocessed } else { items.to_vec() })
    }

    async fn put_one_by_one<I: BatchItem>(&self, items: Vec<I>, deadline: Deadline) -> Sent<I> {
        let mut invalid = Vec::new();
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            match self.put_one(item, deadline).await {
                Ok(()) => {}
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => invalid.push(item),
                Err(error) => {
                    let unprocessed = std::iter::once(item).chain(items).collect();
                    return Sent { unprocessed, invalid, error: Some(error) };
                }
            }
        }
        Sent { unprocessed: Vec::new(), invalid, error: None }
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
            let call = self.client.send("PutItem", json.into_bytes());
            let put = before(deadline, call).await?.map(drop).map_err(StoreError::from);
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

//! Writes many items with `BatchWriteItem`: splits them into batches within its limits, makes
//! several calls at the same time, writes unprocessed items again, and writes the items of an
//! invalid batch one by one.
//!
//! The body of a call is written from the text that clients sent, and replaces the SDK's: every
//! digit of a number stays, and a batch takes a fraction of the memory that the SDK's values of it
//! would.

mod chunk;

use std::collections::HashMap;

use aws::cause::Cause;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use self::chunk::{Chunk, FEW_CALLS, InFlight, chunks};
use crate::dynamodb_json::DynamoDbJson;
use crate::error::StoreError;
use crate::retry::{SecondCalls, Waits, call_once, repeat};

/// An item of a signal, valid or rejected.
pub(super) trait BatchItem: Copy {
    /// Its sort key, which no other item of the same request has.
    fn sort_key(self) -> String;

    /// The bytes of its payload text.
    fn text_bytes(self) -> usize;

    /// Writes the item in DynamoDB's JSON.
    fn write(self, json: &mut DynamoDbJson);
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemOutcome {
    /// DynamoDB acknowledged it.
    Stored,
    /// DynamoDB found it invalid.
    Invalid,
    /// DynamoDB did not acknowledge it, for this reason: it may be stored or not.
    Unacknowledged(StoreError),
}

/// A table that items are written to in batches.
#[derive(Clone, Debug)]
pub(super) struct BatchTable {
    client: Client,
    name: String,
    in_flight: InFlight,
}

/// An item that is not stored yet, and its position among the items of the request.
#[derive(Clone, Copy)]
struct Pending<I> {
    position: usize,
    item: I,
}

/// What the calls of a request have in common.
#[derive(Clone, Copy)]
struct RequestCalls<'r> {
    deadline: Deadline,
    second_calls: &'r SecondCalls,
}

/// What a call, or several, left of the items that they were to store.
struct Sent<I> {
    /// The items that are not known to be stored.
    pending: Vec<Pending<I>>,
    /// The positions of the items that DynamoDB found invalid.
    invalid: Vec<usize>,
    /// Why there are pending items; `None` as well for a call that left a part of its items
    /// unprocessed.
    error: Option<StoreError>,
}

impl<I> Sent<I> {
    fn nothing() -> Self {
        Self {
            pending: Vec::new(),
            invalid: Vec::new(),
            error: None,
        }
    }

    /// Adds the result of another call. An error that lasts counts more than a transient one.
    fn add(&mut self, other: Self) {
        self.pending.extend(other.pending);
        self.invalid.extend(other.invalid);
        if self.error.as_ref().is_none_or(StoreError::is_transient) {
            self.error = other.error.or(self.error.take());
        }
    }
}

impl BatchTable {
    /// The table called `name`. All requests of the process together make at most `max_calls` at
    /// the same time, and so open as many connections.
    pub(super) fn new(client: Client, name: impl Into<String>, max_calls: usize) -> Self {
        Self {
            client,
            name: name.into(),
            in_flight: InFlight::new(max_calls),
        }
    }

    /// The same table for one message of a drain, whose calls are few and wait for none of another
    /// message: one that hangs delays no other.
    pub(super) fn for_message(&self) -> Self {
        Self {
            in_flight: InFlight::of_message(),
            ..self.clone()
        }
    }

    /// Puts items until DynamoDB has acknowledged all, the deadline has passed, or a call fails
    /// otherwise than transiently. Returns what became of each, in their order.
    pub(super) async fn put_all<I: BatchItem>(
        &self,
        items: Vec<I>,
        deadline: Deadline,
    ) -> Vec<ItemOutcome> {
        let mut pending: Vec<_> = items
            .into_iter()
            .enumerate()
            .map(|(position, item)| Pending { position, item })
            .collect();
        let mut outcomes = vec![ItemOutcome::Stored; pending.len()];
        let mut decide = |position: usize, outcome| {
            *outcomes
                .get_mut(position)
                .expect("each item has an outcome") = outcome;
        };
        let second_calls = SecondCalls::default();
        let mut waits = Waits::default();
        let mut max_calls = usize::MAX;
        while !pending.is_empty() {
            let calls_of_request = RequestCalls {
                deadline,
                second_calls: &second_calls,
            };
            let sent = self
                .put_once(pending, &mut max_calls, calls_of_request)
                .await;
            for position in sent.invalid {
                decide(position, ItemOutcome::Invalid);
            }
            pending = sent.pending;
            let Some(error) = sent.error else {
                continue;
            };
            if !error.is_transient() || !waits.wait(deadline).await {
                for left in pending {
                    decide(left.position, ItemOutcome::Unacknowledged(error.clone()));
                }
                break;
            }
        }
        outcomes
    }

    /// Sends the items in chunks, until a call fails: then it is time to wait. The calls that are
    /// under way are waited for. `max_calls` becomes small when DynamoDB does not store a chunk.
    async fn put_once<I: BatchItem>(
        &self,
        items: Vec<Pending<I>>,
        max_calls: &mut usize,
        request: RequestCalls<'_>,
    ) -> Sent<I> {
        let mut unsent = chunks(items, |pending| pending.item.text_bytes());
        let mut sent = Sent::nothing();
        let mut calls = FuturesUnordered::new();
        loop {
            while calls.len() < *max_calls && sent.error.is_none() {
                let Some(next) = unsent.front() else { break };
                let permit = if calls.is_empty() {
                    self.in_flight.wait_for(next.bytes, request.deadline).await
                } else {
                    match self.in_flight.try_for(next.bytes) {
                        Some(permit) => Ok(permit),
                        None => break,
                    }
                };
                let permit = match permit {
                    Ok(permit) => permit,
                    Err(late) => {
                        sent.error = Some(late);
                        break;
                    }
                };
                let Some(chunk) = unsent.pop_front() else {
                    break;
                };
                calls.push(async move {
                    let outcome = self.put_chunk(chunk, request).await;
                    drop(permit);
                    outcome
                });
            }
            let Some(outcome) = calls.next().await else {
                break;
            };
            if !outcome.pending.is_empty() {
                *max_calls = FEW_CALLS;
            }
            sent.add(outcome);
        }
        // Items that were not sent go first the next time.
        let mut pending: Vec<_> = unsent.into_iter().flat_map(|chunk| chunk.items).collect();
        pending.append(&mut sent.pending);
        sent.pending = pending;
        // A call that left a part of its items unprocessed does not end the sending.
        if sent.error.is_none() && !sent.pending.is_empty() {
            sent.error = Some(Cause::Throttled.into());
        }
        sent
    }

    async fn put_chunk<I: BatchItem>(
        &self,
        chunk: Chunk<Pending<I>>,
        request: RequestCalls<'_>,
    ) -> Sent<I> {
        let RequestCalls {
            deadline,
            second_calls,
        } = request;
        let items = chunk.items;
        let mut sent = Sent::nothing();
        match call_once(deadline, second_calls, || self.send_chunk(&items)).await {
            Ok(unprocessed) => sent.pending = unprocessed,
            Err(StoreError::Invalid | StoreError::ItemTooLarge) if items.len() == 1 => {
                sent.invalid = items.iter().map(|item| item.position).collect();
            }
            // DynamoDB rejected the call for one of its items and does not say which.
            Err(StoreError::Invalid | StoreError::ItemTooLarge) => {
                return self.put_one_by_one(items, deadline).await;
            }
            Err(error) => {
                sent.pending = items;
                sent.error = Some(error);
            }
        }
        sent
    }

    /// Makes one call; returns the items that DynamoDB left unprocessed.
    ///
    /// # Errors
    /// [`Cause::Throttled`] when it left all of them so.
    async fn send_chunk<I: BatchItem>(
        &self,
        items: &[Pending<I>],
    ) -> Result<Vec<Pending<I>>, StoreError> {
        let text: usize = items.iter().map(|pending| pending.item.text_bytes()).sum();
        let mut json = DynamoDbJson::with_capacity(text + items.len() * 700 + 256);
        json.raw("{\"RequestItems\":{");
        json.serialized(&self.name);
        json.raw(":[");
        let mut separator = "{\"PutRequest\":{\"Item\":";
        for pending in items {
            json.raw(separator);
            pending.item.write(&mut json);
            separator = "}},{\"PutRequest\":{\"Item\":";
        }
        json.raw("}}]}}");
        let body = Bytes::from(json.into_bytes());
        let replace_body = move |request: &mut HttpRequest| {
            request
                .headers_mut()
                .insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body.clone());
        };
        // The SDK finds the table's endpoint by its name.
        let call = self
            .client
            .batch_write_item()
            .request_items(&self.name, Vec::new());
        let output = call.customize().mutate_request(replace_body).send().await?;
        let requests = output
            .unprocessed_items
            .into_iter()
            .flat_map(HashMap::into_values)
            .flatten();
        let keys: Vec<_> = requests
            .map(|request| request.put_request?.item.remove("sk"))
            .collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let is_unprocessed = |pending: &Pending<I>| {
            let sort_key = AttributeValue::S(pending.item.sort_key());
            keys.contains(&Some(sort_key))
        };
        let unprocessed: Vec<_> = items.iter().copied().filter(is_unprocessed).collect();
        // If the returned keys cannot be matched, the whole batch is written again, over itself.
        if unprocessed.len() == keys.len() && keys.len() < items.len() {
            Ok(unprocessed)
        } else {
            Err(Cause::Throttled.into())
        }
    }

    async fn put_one_by_one<I: BatchItem>(
        &self,
        items: Vec<Pending<I>>,
        deadline: Deadline,
    ) -> Sent<I> {
        let mut sent = Sent::nothing();
        for pending in items {
            if sent.error.is_some() {
                sent.pending.push(pending);
                continue;
            }
            match repeat(deadline, || self.send_chunk(std::slice::from_ref(&pending))).await {
                Ok(_) => {}
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => {
                    sent.invalid.push(pending.position);
                }
                Err(error) => {
                    sent.pending.push(pending);
                    sent.error = Some(error);
                }
            }
        }
        sent
    }
}

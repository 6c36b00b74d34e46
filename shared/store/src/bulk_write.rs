//! Writes many items with `BatchWriteItem`: splits them into chunks within its limits, makes several
//! calls at the same time, and writes unprocessed items again. A chunk that DynamoDB refuses is halved
//! until the refused item is known.
//!
//! This module writes the body of a call from the text that clients sent, in place of the SDK's body.
//! So every digit of a number stays, and a chunk needs a fraction of the memory of the SDK's values.

mod call_limit;
mod chunk;
mod progress;

use std::collections::HashMap;

use aws::call_error::CallError;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::customize::CustomizableOperation;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::operation::batch_write_item::builders::BatchWriteItemFluentBuilder;
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemOutput};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::SemaphorePermit;

use self::call_limit::CallLimit;
use self::progress::{CallResult, PendingItem, WriteProgress};
use crate::dynamodb_json::DynamoDbJson;
use crate::error::StoreError;
use crate::retry::{Backoff, HedgeLimit, call_hedged};

type BatchWriteCall =
    CustomizableOperation<BatchWriteItemOutput, BatchWriteItemError, BatchWriteItemFluentBuilder>;

/// An item of a signal, valid or rejected.
pub(super) trait BulkItem: Copy {
    /// Its sort key, which no other item of the same request has.
    fn sort_key(self) -> String;

    /// The bytes of its payload text.
    fn text_bytes(self) -> usize;

    /// Writes the item in DynamoDB's JSON.
    fn write(self, json: &mut DynamoDbJson);
}

/// The outcome of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemOutcome {
    /// DynamoDB acknowledged it.
    Stored,
    /// It was refused for good, for this reason.
    Refused(StoreError),
    /// DynamoDB did not acknowledge it, for this reason: it may be stored or not.
    Unstored(StoreError),
}

/// Writes items to one table, many in a call.
#[derive(Clone, Debug)]
pub(super) struct BulkWriter {
    client: Client,
    name: String,
    call_limit: CallLimit,
}

impl BulkWriter {
    /// A writer to the table `name`. All requests of the process together make at most `max_calls` at
    /// the same time, and so open as many connections.
    pub(super) fn new(client: Client, name: impl Into<String>, max_calls: usize) -> Self {
        Self {
            client,
            name: name.into(),
            call_limit: CallLimit::new(max_calls),
        }
    }

    /// A writer to the same table for one message of a drain. Its calls are few, and do not wait for the calls
    /// of other messages, so that a message that hangs delays no other.
    pub(super) fn with_own_call_limit(&self) -> Self {
        Self {
            call_limit: CallLimit::for_message(),
            ..self.clone()
        }
    }

    /// Puts items until DynamoDB has acknowledged all, the deadline has passed, or a call fails for
    /// good. Returns what became of each, in their order.
    ///
    /// Several calls are under way at the same time. After a call failed, no other call starts until
    /// the calls under way have ended and the wait is over. From then on, and after a call that stored
    /// a part, there are few calls at once.
    pub(super) async fn put_all<I: BulkItem>(
        &self,
        items: Vec<I>,
        deadline: Deadline,
    ) -> Vec<ItemOutcome> {
        let hedge_limit = HedgeLimit::default();
        let mut backoff = Backoff::default();
        let mut progress = WriteProgress::new(items);
        let mut calls = FuturesUnordered::new();
        loop {
            while let Some(size) = progress.next_chunk(calls.len()) {
                let permit = if calls.is_empty() {
                    self.call_limit.acquire(size.bytes, deadline).await
                } else if let Some(permit) = self.call_limit.try_acquire(size.bytes) {
                    Ok(permit)
                } else {
                    break;
                };
                match permit {
                    Ok(permit) => {
                        let items = progress.take(size);
                        calls.push(self.put_chunk(items, permit, deadline, &hedge_limit));
                    }
                    Err(error) => return progress.abandon(&error),
                }
            }
            if let Some(result) = calls.next().await {
                progress.add(result);
                continue;
            }
            let Some(reason) = progress.why_pending() else {
                return progress.into_outcomes();
            };
            let has_time = reason.is_transient() && backoff.wait(deadline).await;
            if !has_time {
                return progress.abandon(&reason);
            }
            progress.retry_postponed();
        }
    }

    /// Puts the items of a chunk with one call, which is hedged.
    async fn put_chunk<I: BulkItem>(
        &self,
        items: Vec<PendingItem<I>>,
        permit: SemaphorePermit<'_>,
        deadline: Deadline,
        hedge_limit: &HedgeLimit,
    ) -> CallResult<I> {
        let call = || async { Ok(self.request(&items).send().await?) };
        let response = call_hedged(deadline, hedge_limit, call).await;
        let mut call_result = CallResult::all_stored();
        match response.and_then(|output| find_unprocessed(&items, output)) {
            Ok(unprocessed) => call_result.pending = unprocessed,
            Err(error) if error.is_refusal() => match items.as_slice() {
                [only] => call_result.refused.push(only.refused(error)),
                // The refusal of several items does not say which of them it is about.
                _ => call_result.halved = halved(items),
            },
            Err(error) => {
                call_result.pending = items;
                call_result.error = Some(error);
            }
        }
        drop(permit);
        call_result
    }

    /// The call that puts these items.
    fn request<I: BulkItem>(&self, items: &[PendingItem<I>]) -> BatchWriteCall {
        let text: usize = items.iter().map(|pending| pending.item.text_bytes()).sum();
        let mut json = DynamoDbJson::with_capacity(text + items.len() * 700 + 256);
        json.push_text("{\"RequestItems\":{");
        json.push_serialized(&self.name);
        json.push_text(":[");
        let mut separator = "{\"PutRequest\":{\"Item\":";
        for pending in items {
            json.push_text(separator);
            pending.item.write(&mut json);
            separator = "}},{\"PutRequest\":{\"Item\":";
        }
        json.push_text("}}]}}");
        let body = Bytes::from(json.into_bytes());
        let replace_body = move |request: &mut HttpRequest| {
            request
                .headers_mut()
                .insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body.clone());
        };
        // The SDK finds the table's endpoint by its name.
        self.client
            .batch_write_item()
            .request_items(&self.name, Vec::new())
            .customize()
            .mutate_request(replace_body)
    }
}

/// The items of a call, for two calls.
fn halved<I>(mut items: Vec<PendingItem<I>>) -> Vec<PendingItem<I>> {
    let half = items.len().div_ceil(2);
    for pending in &mut items {
        pending.most_together = half;
    }
    items
}

/// The items that DynamoDB left unprocessed.
///
/// # Errors
/// [`CallError::Throttled`] when it left all of them unprocessed, or when the returned keys cannot be
/// matched: then the whole chunk is written again, over itself.
fn find_unprocessed<I: BulkItem>(
    items: &[PendingItem<I>],
    output: BatchWriteItemOutput,
) -> Result<Vec<PendingItem<I>>, StoreError> {
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
    let is_unprocessed = |pending: &PendingItem<I>| {
        let sort_key = AttributeValue::S(pending.item.sort_key());
        keys.contains(&Some(sort_key))
    };
    let unprocessed: Vec<_> = items.iter().copied().filter(is_unprocessed).collect();
    if unprocessed.len() == keys.len() && keys.len() < items.len() {
        Ok(unprocessed)
    } else {
        Err(CallError::Throttled.into())
    }
}

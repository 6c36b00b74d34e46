//! Writes many items with `BatchWriteItem`: splits them into batches within its limits, makes
//! several calls at the same time, writes unprocessed items again, and writes the items of an
//! invalid batch one by one.
//!
//! The body of a call is written from the text that clients sent, and replaces the SDK's: every
//! digit of a number stays, and a batch takes a fraction of the memory that the SDK's values of it
//! would.

mod chunk;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use self::chunk::{FEW_CALLS, InFlight, chunks};
use crate::circuit_breaker::{self, CircuitBreaker};
use crate::dynamodb_json::DynamoDbJson;
use crate::error::{StoreError, UnstoredSignals};
use crate::table_access::TableAccess;
use crate::time_limit::TimeLimit;
use aws::cause::Cause;

/// An item of a signal, valid or rejected.
pub(super) trait BatchItem: Copy {
    /// The index of its signal in its request.
    fn index(self) -> usize;

    /// Its partition key, to know one that DynamoDB throttles.
    fn partition_key(self) -> String;

    /// Its sort key, which no other item of the same request has.
    fn sort_key(self) -> String;

    /// The bytes of its payload text.
    fn text_bytes(self) -> usize;

    /// Writes the item in DynamoDB's JSON.
    fn write(self, json: &mut DynamoDbJson);
}

/// A table that items are written to in batches.
#[derive(Clone, Debug)]
pub(super) struct BatchTable {
    client: Client,
    name: String,
    breaker: CircuitBreaker,
    in_flight: InFlight,
}

/// The result of one call, or of several.
struct Sent<I> {
    /// The items that are not known to be stored.
    unprocessed: Vec<I>,
    /// The items that DynamoDB found invalid.
    invalid: Vec<I>,
    /// Why there are unprocessed items; `None` as well for a call that left a part of its items
    /// unprocessed.
    error: Option<StoreError>,
}

impl<I> Sent<I> {
    /// Adds the result of other calls. An error that lasts counts more than a transient one.
    fn add(&mut self, other: Self) {
        self.unprocessed.extend(other.unprocessed);
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
            breaker: CircuitBreaker::default(),
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

    /// Puts `items`. Returns the indices of those that DynamoDB found invalid, in order; every
    /// other one is stored. Items of partition keys that were throttled last have a short time.
    ///
    /// # Errors
    /// When DynamoDB did not acknowledge all of them before the deadline.
    pub(super) async fn store<I: BatchItem>(
        &self,
        items: Vec<I>,
        limit: impl Into<TimeLimit>,
    ) -> Result<Vec<usize>, UnstoredSignals> {
        let limit = limit.into();
        let (throttled, others) = self
            .breaker
            .divide(items, limit, |item| item.partition_key());
        let (mut sent, short) = tokio::join!(
            self.put_all(others, limit),
            self.put_all(throttled, circuit_breaker::short(limit))
        );
        sent.add(short);
        let invalid = indices(&sent.invalid);
        match sent.error {
            None => Ok(invalid),
            Some(error) => Err(UnstoredSignals {
                error,
                invalid,
                unacknowledged: indices(&sent.unprocessed),
            }),
        }
    }

    /// Sends the items until DynamoDB has taken all, the time is over, or it fails otherwise than
    /// transiently.
    async fn put_all<I: BatchItem>(&self, items: Vec<I>, limit: TimeLimit) -> Sent<I> {
        let mut sent = Sent {
            unprocessed: items,
            invalid: Vec::new(),
            error: None,
        };
        // Without a call, the request is not the probe of an open breaker.
        if sent.unprocessed.is_empty() {
            return sent;
        }
        let access = TableAccess::new(&self.breaker, limit);
        let mut max_calls = if access.is_open() {
            FEW_CALLS
        } else {
            usize::MAX
        };
        loop {
            let unsent = std::mem::take(&mut sent.unprocessed);
            sent.error = None;
            sent.add(self.put_once(unsent, &mut max_calls, &access).await);
            match &sent.error {
                Some(error) if !error.is_transient() => return sent,
                Some(error) if !access.wait().await => {
                    if *error == StoreError::Unavailable(Cause::Throttled) {
                        sent.unprocessed
                            .iter()
                            .for_each(|item| self.breaker.remember_throttled(item.partition_key()));
                    }
                    return sent;
                }
                Some(_) => {}
                None => return sent,
            }
        }
    }

    /// Sends the items in batches, until a call fails: then it is time to wait. The calls that are
    /// under way are waited for.
    async fn put_once<I: BatchItem>(
        &self,
        items: Vec<I>,
        max_calls: &mut usize,
        access: &TableAccess,
    ) -> Sent<I> {
        let mut unsent = chunks(items, |item| item.text_bytes());
        let mut sent = Sent {
            unprocessed: Vec::new(),
            invalid: Vec::new(),
            error: None,
        };
        let mut calls = FuturesUnordered::new();
        loop {
            while calls.len() < *max_calls && sent.error.is_none() {
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
                let Some(chunk) = unsent.pop_front() else {
                    break;
                };
                calls.push(async move {
                    let outcome = self.put_chunk(chunk.items, access).await;
                    drop(permit);
                    outcome
                });
            }
            let Some(outcome) = calls.next().await else {
                break;
            };
            if outcome.error.is_some() || !outcome.unprocessed.is_empty() {
                *max_calls = FEW_CALLS;
            }
            sent.add(outcome);
            if !unsent.is_empty() {}
        }
        // Items that were not sent go first the next time.
        let mut untried: Vec<I> = unsent.into_iter().flat_map(|chunk| chunk.items).collect();
        untried.append(&mut sent.unprocessed);
        // A call that left a part of its items unprocessed does not end the sending.
        let error = sent
            .error
            .or((!untried.is_empty()).then_some(Cause::Throttled.into()));
        Sent {
            unprocessed: untried,
            invalid: sent.invalid,
            error,
        }
    }

    async fn put_chunk<I: BatchItem>(&self, items: Vec<I>, access: &TableAccess) -> Sent<I> {
        match access.call(self.send_chunk(&items)).await {
            Ok(unprocessed) => Sent {
                unprocessed,
                invalid: Vec::new(),
                error: None,
            },
            Err(StoreError::Invalid | StoreError::ItemTooLarge) if items.len() == 1 => Sent {
                unprocessed: Vec::new(),
                invalid: items,
                error: None,
            },
            // DynamoDB rejected the call for one of its items and does not say which.
            Err(StoreError::Invalid | StoreError::ItemTooLarge) => {
                self.put_one_by_one(items, access).await
            }
            Err(error) => Sent {
                unprocessed: items,
                invalid: Vec::new(),
                error: Some(error),
            },
        }
    }

    /// Makes one call; returns the items that DynamoDB left unprocessed.
    ///
    /// # Errors
    /// [`Cause::Throttled`] when it left all of them so.
    async fn send_chunk<I: BatchItem>(&self, items: &[I]) -> Result<Vec<I>, StoreError> {
        let text: usize = items.iter().map(|item| item.text_bytes()).sum();
        let mut json = DynamoDbJson::with_capacity(text + items.len() * 700 + 256);
        json.raw("{\"RequestItems\":{");
        json.serialized(&self.name);
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
            match access
                .repeat(|| async { self.send_chunk(&[item]).await })
                .await
            {
                Ok(_) => {}
                Err(StoreError::Invalid | StoreError::ItemTooLarge) => invalid.push(item),
                Err(error) => {
                    let unprocessed = std::iter::once(item).chain(items).collect();
                    return Sent {
                        unprocessed,
                        invalid,
                        error: Some(error),
                    };
                }
            }
        }
        Sent {
            unprocessed: Vec::new(),
            invalid,
            error: None,
        }
    }
}

fn indices<I: BatchItem>(items: &[I]) -> Vec<usize> {
    let mut indices: Vec<_> = items.iter().map(|item| item.index()).collect();
    indices.sort_unstable();
    indices
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rejected_signals::RejectedSignalItem;
    use aws::client::dynamodb;
    use aws::deadline::Deadline;
    use aws::environment::{CONNECT_TIMEOUT, defaults};

    #[tokio::test]
    async fn request_without_items_does_not_use_up_the_probe_of_an_open_breaker() {
        let config = defaults(CONNECT_TIMEOUT).unwrap().build();
        let table = BatchTable::new(dynamodb(&config), "t", 1);
        table.breaker.open_since(Duration::from_secs(5));
        let limit = TimeLimit {
            deadline: Deadline::after(Duration::from_secs(1)),
            can_defer: true,
        };
        table
            .store(Vec::<&RejectedSignalItem<'_>>::new(), limit)
            .await
            .unwrap();
        assert!(
            !TableAccess::new(&table.breaker, limit).is_open(),
            "the next request is the probe"
        );
    }
}

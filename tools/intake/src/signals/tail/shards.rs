//! The shards of a stream. DynamoDB closes a shard after some hours, or when it splits the partition, and opens others.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsError;
use aws_sdk_dynamodbstreams::operation::get_shard_iterator::GetShardIteratorError;
use aws_sdk_dynamodbstreams::types::{Shard, ShardIteratorType};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::record::stored_signal;
use crate::error::call_error;
use crate::item::Item;
use crate::output::note;

/// How often shards are looked for, unless one has just ended.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(10);

/// The most calls at once.
const CONCURRENT_CALLS: usize = 16;

/// The arrivals in a stream from the time at which it was opened.
pub(super) struct Shards<'a> {
    client: &'a Client,
    table: &'a str,
    stream: String,
    /// By the id of the shard. Those that have ended stay, so that they are not read again.
    positions: BTreeMap<String, Position>,
    discovered_at: Instant,
}

/// Where to continue in a shard.
#[derive(Clone, Default)]
struct Position {
    /// `None` when the shard has ended. DynamoDB accepts an iterator for 15 minutes.
    iterator: Option<String>,
    /// The sequence number of the last record.
    last: Option<String>,
}

impl<'a> Shards<'a> {
    /// Opens a stream at its end.
    pub(super) async fn open(client: &'a Client, table: &'a str, stream: String) -> Result<Self> {
        let mut shards = Self { client, table, stream, positions: BTreeMap::new(), discovered_at: Instant::now() };
        for shard in shards.describe().await? {
            let Some(id) = shard.shard_id else { continue };
            let is_open = shard.sequence_number_range.is_none_or(|range| range.ending_sequence_number.is_none());
            let iterator = if is_open { shards.iterator(&id, ShardIteratorType::Latest, None).await? } else { None };
            shards.positions.insert(id, Position { iterator, last: None });
        }
        Ok(shards)
    }

    /// The signals that arrived since the last call.
    pub(super) async fn read(&mut self) -> Result<Vec<Item>> {
        let open = self.positions.iter().filter(|(_, position)| position.iterator.is_some());
        let reads: Vec<_> = open.map(|(id, position)| self.read_shard(id.clone(), position.clone())).collect();
        let pages: Vec<_> = stream::iter(reads).buffer_unordered(CONCURRENT_CALLS).try_collect().await?;
        let has_ended = pages.iter().any(|(_, position, _)| position.iterator.is_none());
        let mut signals = Vec::new();
        for (id, position, read) in pages {
            self.positions.insert(id, position);
            signals.extend(read);
        }
        // The successors of a shard exist before it ends.
        if has_ended || self.discovered_at.elapsed() >= DISCOVERY_INTERVAL {
            self.discover().await?;
        }
        Ok(signals)
    }

    /// Adds the shards that were opened since the last call, from their beginnings.
    async fn discover(&mut self) -> Result<()> {
        self.discovered_at = Instant::now();
        for id in self.describe().await?.into_iter().filter_map(|shard| shard.shard_id) {
            if !self.positions.contains_key(&id) {
                let iterator = self.iterator(&id, ShardIteratorType::TrimHorizon, None).await?;
                self.positions.insert(id, Position { iterator, last: None });
            }
        }
        Ok(())
    }

    async fn describe(&self) -> Result<Vec<Shard>> {
        let mut shards = Vec::new();
        let mut last = None;
        loop {
            let call = self.client.describe_stream().stream_arn(&self.stream).set_exclusive_start_shard_id(last);
            let described = call.send().await.map_err(|error| call_error(self.table, error))?.stream_description;
            let Some(description) = described else { return Ok(shards) };
            shards.extend(description.shards.unwrap_or_default());
            last = description.last_evaluated_shard_id;
            if last.is_none() {
                return Ok(shards);
            }
        }
    }

    async fn read_shard(&self, id: String, mut position: Position) -> Result<(String, Position, Vec<Item>)> {
        let error = match self.client.get_records().set_shard_iterator(position.iterator.take()).send().await {
            Ok(page) => {
                let records = page.records.unwrap_or_default();
                let last = records.last().and_then(|record| record.dynamodb()?.sequence_number());
                position.last = last.map(ToOwned::to_owned).or(position.last);
                position.iterator = page.next_shard_iterator;
                return Ok((id, position, records.into_iter().filter_map(stored_signal).collect()));
            }
            Err(error) => error,
        };
        position.iterator = match error.as_service_error() {
            Some(GetRecordsError::ExpiredIteratorException(_)) => {
                self.iterator_after(&id, position.last.clone()).await?
            }
            Some(GetRecordsError::TrimmedDataAccessException(_)) => self.oldest(&id).await?,
            // The shard ended, and its records are older than a day.
            Some(GetRecordsError::ResourceNotFoundException(_)) => None,
            _ => return Err(call_error(self.table, error)),
        };
        Ok((id, position, Vec::new()))
    }

    /// Continues after a pause, such as that of a laptop that was asleep.
    async fn iterator_after(&self, id: &str, last: Option<String>) -> Result<Option<String>> {
        if last.is_some() {
            return self.iterator(id, ShardIteratorType::AfterSequenceNumber, last).await;
        }
        note("The stream was not read for 15 minutes: signals of this time may be missing.");
        self.iterator(id, ShardIteratorType::Latest, None).await
    }

    /// Continues at the oldest record that the stream still has.
    async fn oldest(&self, id: &str) -> Result<Option<String>> {
        note("The stream was not read for a day: signals of this time may be missing.");
        self.iterator(id, ShardIteratorType::TrimHorizon, None).await
    }

    async fn iterator(&self, id: &str, kind: ShardIteratorType, last: Option<String>) -> Result<Option<String>> {
        let call = self.client.get_shard_iterator().stream_arn(&self.stream).shard_id(id);
        match call.shard_iterator_type(kind).set_sequence_number(last).send().await {
            Ok(response) => Ok(response.shard_iterator),
            Err(error) => match error.as_service_error() {
                Some(GetShardIteratorError::TrimmedDataAccessException(_)) => Box::pin(self.oldest(id)).await,
                Some(GetShardIteratorError::ResourceNotFoundException(_)) => Ok(None),
                _ => Err(call_error(self.table, error)),
            },
        }
    }
}

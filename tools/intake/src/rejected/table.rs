//! The table RejectedSignals as an operator reads it: day by day, all shards of one at once.

use std::time::Duration;

use anyhow::Result;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::timestamp::Timestamp;
use store::rejected_signals::{KEPT_FOR, SHARDS, day, partition_key};

use super::id::RejectedSignalId;
use super::rejected_signal::RejectedSignal;
use crate::batch_delete::batch_delete;
use crate::error::call_error;
use crate::item::Item;
use crate::output::note;
use crate::progress;
use crate::stack::{Stack, Table};

/// How long after its end DynamoDB may take to delete an item: "within a few days".
const DELETION_LAGS: Duration = Duration::from_hours(10 * 24);

const DAY: Duration = Duration::from_hours(24);

/// The table.
pub(crate) struct RejectedSignals<'a> {
    stack: &'a Stack,
    table: &'a str,
}

impl<'a> RejectedSignals<'a> {
    pub(crate) fn of(stack: &'a Stack) -> Result<Self> {
        Ok(Self { stack, table: stack.table(Table::RejectedSignals)? })
    }

    /// From when on rejected signals are kept, as of now.
    pub(super) fn kept_since() -> Timestamp {
        before(Timestamp::now(), KEPT_FOR)
    }

    /// Hands what this account had rejected since then to `take`, day by day, each in the order of arrival.
    pub(super) async fn since(
        &self,
        account: &AccountId,
        since: Timestamp,
        mut take: impl AsyncFnMut(Vec<RejectedSignal>) -> Result<()>,
    ) -> Result<()> {
        let days = days(since, Timestamp::now());
        let bar = progress::of(u64::try_from(days.len()).unwrap_or_default(), "days read");
        for day in days {
            let mut rejected = self.of_day(account, &day).await?;
            rejected.retain(|signal| signal.received_at >= since);
            rejected.sort_by(|a, b| (a.received_at, &a.id).cmp(&(b.received_at, &b.id)));
            bar.inc(1);
            if !rejected.is_empty() {
                take(rejected).await?;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    async fn of_day(&self, account: &AccountId, day: &str) -> Result<Vec<RejectedSignal>> {
        let shards: Vec<_> =
            (0..SHARDS).map(|shard| self.of_shard(account, partition_key(account, day, shard))).collect();
        let shards = stream::iter(shards).buffer_unordered(usize::from(SHARDS)).try_collect::<Vec<_>>().await?;
        Ok(shards.into_iter().flatten().collect())
    }

    async fn of_shard(&self, account: &AccountId, partition: String) -> Result<Vec<RejectedSignal>> {
        let query = self
            .stack
            .client
            .query()
            .table_name(self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", AttributeValue::S(partition))
            .consistent_read(true);
        let mut items = query.into_paginator().items().send();
        let mut rejected = Vec::new();
        while let Some(item) = items.next().await {
            let item = item.map_err(|error| call_error(self.table, error))?;
            match RejectedSignal::read(account, &item) {
                Some(signal) => rejected.push(signal),
                None => note(&format!("Left out an item of {} that is no rejected signal.", self.table)),
            }
        }
        Ok(rejected)
    }

    /// One, if it is there and this account's.
    pub(super) async fn find(&self, account: &AccountId, id: &RejectedSignalId) -> Result<Option<RejectedSignal>> {
        let get =
            self.stack.client.get_item().table_name(self.table).set_key(Some(id.key(account))).consistent_read(true);
        let item = get.send().await.map_err(|error| call_error(self.table, error))?.item;
        Ok(item.and_then(|item| RejectedSignal::read(account, &item)))
    }

    /// The keys of all that is about `subject_id`, also of what has expired and is not deleted yet.
    pub(crate) async fn keys_of(&self, account: &AccountId, subject_id: &str) -> Result<Vec<Item>> {
        let mut keys = Vec::new();
        let since = before(Self::kept_since(), DELETION_LAGS);
        self.since(account, since, async |rejected: Vec<RejectedSignal>| {
            let about = rejected.iter().filter(|signal| signal.is_about(subject_id));
            keys.extend(about.map(|signal| signal.id.key(account)));
            Ok(())
        })
        .await?;
        Ok(keys)
    }

    /// Deletes those with these keys.
    pub(crate) async fn remove(&self, keys: &[Item]) -> Result<()> {
        batch_delete(&self.stack.client, self.table, keys).await
    }
}

fn before(moment: Timestamp, duration: Duration) -> Timestamp {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Timestamp::from_millis(moment.millis().saturating_sub(millis))
}

/// The days that have to be read, oldest first: at most as many as an item can have.
fn days(since: Timestamp, now: Timestamp) -> Vec<String> {
    let oldest = before(now, KEPT_FOR.saturating_add(DELETION_LAGS));
    let mut moment = since.max(oldest);
    let last = day(now);
    let mut days = vec![day(moment)];
    while days.last().is_some_and(|day| *day < last) {
        moment = moment.after(DAY);
        days.push(day(moment));
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_between_is_read_and_none_that_nothing_can_be_of() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let now = at("2026-11-20T01:00:00.000Z");
        assert_eq!(days(at("2026-11-18T23:00:00.000Z"), now), ["2026-11-18", "2026-11-19", "2026-11-20"]);
        assert_eq!(days(now, now), ["2026-11-20"]);
        assert_eq!(days(at("2026-11-21T00:00:00.000Z"), now), ["2026-11-21"]);
        assert_eq!(days(Timestamp::from_millis(0), now).len(), 25);
    }
}

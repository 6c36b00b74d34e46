//! The operator's access to the table RejectedSignals: day by day, all shards of a day at once.
//! Must not know why signals are read.

use std::time::Duration;

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use futures_util::TryStreamExt as _;
use futures_util::future::try_join_all;
use model::account::AccountId;
use model::timestamp::Timestamp;
use store::attributes::Item;
use store::rejected_signals::{RETENTION, SHARDS, partition_key};

use super::naming::{Naming, Wanted};
use super::rejected_signal::RejectedSignal;
use super::rejected_signal_id::RejectedSignalId;
use crate::Note;
use crate::items::{batch_delete, get_item, partition_query, query_items, text};

/// How long a rejected signal may wait before it is stored: SQS's longest retention in the overflow
/// queue, and once more in the dead-letter queue.
const MAX_QUEUED_DURATION: Duration = Duration::from_hours(2 * 14 * 24);

/// How long after its expiry DynamoDB may take to delete an item: "within a few days".
const DELETION_DELAY: Duration = Duration::from_hours(10 * 24);

const DAY: Duration = Duration::from_hours(24);

/// The table RejectedSignals of a stack.
#[derive(Clone, Debug)]
pub struct RejectedTable {
    client: Client,
    table_name: String,
    note: Note,
}

/// The rejected signals that name whom or what an operator looks for.
#[derive(Debug, Default)]
pub struct NamedSignals {
    /// Those that belong to it.
    pub certain: Vec<RejectedSignalId>,
    /// Those that may belong to it: an operator has to look at their payloads.
    pub doubtful: Vec<RejectedSignalId>,
}

impl NamedSignals {
    /// Takes the doubtful ones with these ids, in either form, for certain. Returns the ids that none has.
    pub fn take_named(&mut self, ids: &[String]) -> Vec<String> {
        let doubtful = std::mem::take(&mut self.doubtful);
        let (chosen, left): (Vec<_>, Vec<_>) =
            doubtful.into_iter().partition(|id| id.is_one_of(ids));
        self.certain.extend(chosen);
        self.doubtful = left;
        let is_unknown = |name: &&String| {
            let found = self.certain.iter().chain(&self.doubtful);
            let name = std::slice::from_ref(*name);
            !found.into_iter().any(|id| id.is_one_of(name))
        };
        ids.iter().filter(is_unknown).cloned().collect()
    }
}

impl RejectedTable {
    /// The table of this name. Reads say in a [`Note`] which items they skip.
    pub fn new(client: Client, table_name: impl Into<String>, note: Note) -> Self {
        Self {
            client,
            table_name: table_name.into(),
            note,
        }
    }

    /// Reads the signals of one day, as [`days`] names it, that arrived at or after `since`, in the
    /// order of arrival.
    ///
    /// # Errors
    /// DynamoDB failed.
    pub async fn read_day(
        &self,
        account: &AccountId,
        day: &str,
        since: Timestamp,
    ) -> Result<Vec<RejectedSignal>> {
        let mut signals = Vec::new();
        for item in self.read_items(account, day).await? {
            match RejectedSignal::from_item(account, item) {
                Some(signal) if signal.received_at >= since => signals.push(signal),
                Some(_) => {}
                None => self.note_skipped(),
            }
        }
        signals.sort_by(|a, b| {
            let by_time = a.received_at.cmp(&b.received_at);
            by_time.then_with(|| a.id.cmp(&b.id))
        });
        Ok(signals)
    }

    /// Reads the items of one day.
    async fn read_items(&self, account: &AccountId, day: &str) -> Result<Vec<Item>> {
        let reads = (0..SHARDS).map(|shard| {
            let partition = partition_key(account, day, shard);
            let query = partition_query(&self.client, &self.table_name, partition);
            query_items(&self.client, query, self.note).try_collect::<Vec<Item>>()
        });
        let shards = try_join_all(reads).await?;
        Ok(shards.into_iter().flatten().collect())
    }

    fn note_skipped(&self) {
        (self.note)(&format!(
            "Skipped an item of {} that is no rejected signal.",
            self.table_name
        ));
    }

    /// The signal with this id, if this account has it. Says when its item cannot be read.
    pub(super) async fn find(
        &self,
        account: &AccountId,
        id: &RejectedSignalId,
    ) -> Result<Option<RejectedSignal>> {
        let item = get_item(&self.client, &self.table_name, id.key(account), self.note).await?;
        let Some(item) = item else {
            return Ok(None);
        };
        let signal = RejectedSignal::from_item(account, item);
        if signal.is_none() {
            self.note_skipped();
        }
        Ok(signal)
    }

    /// Finds the signals that name whom or what an operator looks for, and that arrived from `since` on
    /// and before `until`, also those that have expired and are not deleted yet.
    ///
    /// # Errors
    /// DynamoDB failed.
    pub async fn find_named(
        &self,
        account: &AccountId,
        wanted: Wanted<'_>,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<NamedSignals> {
        let mut found = NamedSignals::default();
        let in_period = |time: Timestamp| time >= since && until.is_none_or(|until| time < until);
        for day in days(since, Timestamp::now()) {
            for item in self.read_items(account, &day).await? {
                // No more of an item is read than is needed, so that one of another version is found, too.
                let id = RejectedSignalId::from_item(account, &item);
                let received_at =
                    text(&item, "receivedAt").and_then(|time| time.parse::<Timestamp>().ok());
                let payload = text(&item, "payload");
                let (Some(id), Some(received_at), Some(payload)) = (id, received_at, payload)
                else {
                    self.note_skipped();
                    continue;
                };
                if !in_period(received_at) {
                    continue;
                }
                match wanted.naming_in(text(&item, "subjectId"), payload) {
                    Naming::Certain => found.certain.push(id),
                    Naming::Doubtful => found.doubtful.push(id),
                    Naming::Absent => {}
                }
            }
        }
        Ok(found)
    }

    /// Deletes the signals with these keys.
    ///
    /// # Errors
    /// DynamoDB failed: some of them are deleted, some are not.
    pub async fn delete(&self, keys: &[Item]) -> Result<()> {
        batch_delete(&self.client, &self.table_name, keys).await
    }
}

/// The days from `since` to `now`, oldest first. Days so long ago that no item of them can exist any
/// more are left out.
pub fn days(since: Timestamp, now: Timestamp) -> Vec<String> {
    let oldest = now.minus(MAX_QUEUED_DURATION + RETENTION + DELETION_DELAY);
    let mut time = since.max(oldest);
    let mut days = vec![time.day()];
    while days.last().is_some_and(|last| *last < now.day()) {
        time = time.plus(DAY);
        days.push(time.day());
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_a_time_are_read_within_the_retention() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let now = at("2026-11-20T01:00:00.000Z");
        assert_eq!(
            days(at("2026-11-18T23:00:00.000Z"), now),
            ["2026-11-18", "2026-11-19", "2026-11-20"]
        );
        assert_eq!(days(now, now), ["2026-11-20"]);
        assert_eq!(days(at("2026-11-21T00:00:00.000Z"), now), ["2026-11-21"]);
        assert_eq!(days(Timestamp::from_millis(0), now).len(), 53);
    }
}

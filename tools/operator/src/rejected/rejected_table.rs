//! The operator's access to the table RejectedSignals: day by day, all shards of a day at once.
//! Must not know why signals are read.

use std::ops::Range;
use std::time::Duration;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::Client;
use futures_util::stream::select_all;
use futures_util::{Stream, TryStreamExt as _};
use model::account::AccountId;
use model::timestamp::Timestamp;
use store::attributes::Item;
use store::rejected_signals::{RETENTION, SHARDS, partition_key};

use super::rejected_signal::RejectedSignal;
use super::rejected_signal_id::{RejectedSignalId, refuse_ambiguous};
use super::subject_matching::{SubjectMatch, Wanted};
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
pub struct MatchingSignals {
    /// Those that belong to it.
    pub certain: Vec<RejectedSignalId>,
    /// Those that may belong to it: an operator has to look at their payloads.
    pub doubtful: Vec<RejectedSignalId>,
    /// How many items are not as the function writes them, so that they may belong to it, too.
    pub unreadable: usize,
}

impl MatchingSignals {
    /// The ids of those that an operator names, in either form.
    ///
    /// # Errors
    /// A name fits none of them, or more than one.
    pub fn choose(&self, names: &[String]) -> Result<Vec<RejectedSignalId>> {
        let found: Vec<_> = self.certain.iter().chain(&self.doubtful).collect();
        refuse_ambiguous(names, found.iter().copied())?;
        let is_unknown = |name: &&String| {
            let name = std::slice::from_ref(*name);
            !found.iter().any(|id| id.is_one_of(name))
        };
        let unknown: Vec<_> = names.iter().filter(is_unknown).cloned().collect();
        ensure!(
            unknown.is_empty(),
            "No rejected signal that may belong to it has the id {}: it is misspelled, or erased already. Correct --rejected, or \
             leave it out.",
            unknown.join(", ")
        );
        let chosen = found.into_iter().filter(|id| id.is_one_of(names));
        Ok(chosen.cloned().collect())
    }

    /// Takes the doubtful ones with these ids for certain.
    pub fn take(&mut self, ids: &[RejectedSignalId]) {
        let doubtful = std::mem::take(&mut self.doubtful);
        let (chosen, left): (Vec<_>, Vec<_>) =
            doubtful.into_iter().partition(|id| ids.contains(id));
        self.certain.extend(chosen);
        self.doubtful = left;
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

    /// Reads the signals of one day, as [`days`] names it, that arrived at or after `since` and are wanted, in
    /// the order of arrival.
    ///
    /// # Errors
    /// DynamoDB failed.
    pub async fn read_day(
        &self,
        account: &AccountId,
        day: &str,
        since: Timestamp,
        is_wanted: impl Fn(&RejectedSignal) -> bool,
    ) -> Result<Vec<RejectedSignal>> {
        let mut signals = Vec::new();
        let mut items = self.items(account, day);
        while let Some(item) = items.try_next().await? {
            match RejectedSignal::from_item(account, item) {
                Some(signal) if signal.received_at >= since && is_wanted(&signal) => {
                    signals.push(signal);
                }
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

    /// The items of one day, in no order. A broken client makes millions of them: a caller keeps no more than
    /// it needs.
    fn items(&self, account: &AccountId, day: &str) -> impl Stream<Item = Result<Item>> + Unpin {
        let shards = (0..SHARDS).map(|shard| {
            let partition = partition_key(account, day, shard);
            let query = partition_query(&self.client, &self.table_name, partition);
            query_items(&self.client, query, self.note)
        });
        select_all(shards)
    }

    fn note_skipped(&self) {
        (self.note)(&format!(
            "Skipped an item of {} that is not a rejected signal.",
            self.table_name
        ));
    }

    /// Says which item an operator has to look at in the table.
    fn note_unreadable(&self, item: &Item) {
        let of_key = |name| text(item, name).unwrap_or_default();
        (self.note)(&format!(
            "Skipped an item of {} that is not as the function writes it: pk {:?}, sk {:?}.",
            self.table_name,
            of_key("pk"),
            of_key("sk")
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

    /// Finds the signals that name whom or what an operator looks for, also those that have expired and are
    /// not deleted yet. With a `period`, only those that arrived in it.
    ///
    /// # Errors
    /// DynamoDB failed.
    pub async fn find_matching(
        &self,
        account: &AccountId,
        wanted: Wanted<'_>,
        period: Option<&Range<Timestamp>>,
    ) -> Result<MatchingSignals> {
        let mut found = MatchingSignals::default();
        let since = period.map_or(Timestamp::from_millis(0), |period| period.start);
        for day in days(since, Timestamp::now()) {
            let mut items = self.items(account, &day);
            while let Some(item) = items.try_next().await? {
                let matched = match_of_item(wanted, period, &item);
                let id = RejectedSignalId::from_item(account, &item);
                match (matched, id) {
                    (Some(SubjectMatch::Absent), _) => {}
                    (Some(SubjectMatch::Certain), Some(id)) => found.certain.push(id),
                    (Some(SubjectMatch::Doubtful), Some(id)) => found.doubtful.push(id),
                    (None, _) | (_, None) => {
                        found.unreadable += 1;
                        self.note_unreadable(&item);
                    }
                }
            }
        }
        found.certain.sort_unstable();
        found.doubtful.sort_unstable();
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

/// How an item names whom or what an operator looks for. No more of it is read than is needed, so that one of
/// another version is found, too. `None` when it may name it, and lacks what would say so.
fn match_of_item(
    wanted: Wanted<'_>,
    period: Option<&Range<Timestamp>>,
    item: &Item,
) -> Option<SubjectMatch> {
    let received_at = text(item, "receivedAt").and_then(|time| time.parse::<Timestamp>().ok());
    let is_in_period = match (period, received_at) {
        (None, _) => Some(true),
        (Some(period), Some(time)) => Some(period.contains(&time)),
        (Some(_), None) => None,
    };
    if is_in_period == Some(false) {
        return Some(SubjectMatch::Absent);
    }
    let payload = text(item, "payload");
    match wanted.match_in(text(item, "subjectId"), payload.unwrap_or_default()) {
        SubjectMatch::Absent => payload.map(|_| SubjectMatch::Absent),
        matched => is_in_period.map(|_| matched),
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
    use aws_sdk_dynamodb::types::AttributeValue;

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

    #[test]
    fn item_that_lacks_a_time_or_a_payload_is_judged_by_the_rest_if_that_is_enough() {
        let whole = [
            ("receivedAt", "2026-11-20T12:00:00.000Z"),
            ("subjectId", "1001"),
            ("payload", r#"{"customerId":"1001","eventType":4711}"#),
        ];
        let item_without = |names: &[&str]| -> Item {
            let left = whole.iter().filter(|(name, _)| !names.contains(name));
            let attribute = |(name, text): &(&str, &str)| {
                let value = AttributeValue::S((*text).to_owned());
                ((*name).to_owned(), value)
            };
            left.map(attribute).collect()
        };
        let subject =
            |names: &[&str]| match_of_item(Wanted::Subject("1001"), None, &item_without(names));
        assert_eq!(subject(&["receivedAt"]), Some(SubjectMatch::Certain));
        assert_eq!(
            subject(&["receivedAt", "payload"]),
            Some(SubjectMatch::Certain)
        );
        assert_eq!(subject(&["payload", "subjectId"]), None);

        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let period = at("2026-11-20T00:00:00.000Z")..at("2026-11-21T00:00:00.000Z");
        let signal_type = |names: &[&str]| {
            match_of_item(Wanted::Type("4711"), Some(&period), &item_without(names))
        };
        assert_eq!(signal_type(&[]), Some(SubjectMatch::Certain));
        // It may have arrived in the period or not.
        assert_eq!(signal_type(&["receivedAt"]), None);
    }
}

//! The key table: a look-up in it alone, and what the last look-ups showed of its health.
//!
//! This module must not know other sources of keys.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws::deadline::Deadline;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::api_keys::ApiKeysTable;
use store::error::StoreError;
use tokio::time::{Instant, timeout};

use super::lock;

/// How long a look-up waits for the table before it reads the snapshot. DynamoDB responds within tens of
/// milliseconds, and in an outage a new process must not wait long.
const TABLE_HEAD_START: Duration = Duration::from_millis(350);

/// After how long a silent table counts as unavailable.
const TABLE_SILENCE: Duration = Duration::from_secs(1);

/// How long look-ups ask the snapshot before the table, after a look-up without a response of the table.
/// Otherwise each look-up of an outage would wait for the table.
const SNAPSHOT_FIRST_PERIOD: Duration = Duration::from_secs(5);

/// What a look-up finds: the entry of a key, which may have expired or been revoked; `None` for an
/// unknown key.
pub(super) type Found = Result<Option<Arc<KeyEntry>>, StoreError>;

/// The result of the table when its time is over.
#[derive(Clone, Debug)]
pub(super) enum TableResponse {
    /// The entry of the key; `None` for an unknown key.
    Found(Option<Arc<KeyEntry>>),
    Failed(StoreError),
    NotYet(NoResponse),
}

/// Why there is no response of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoResponse {
    /// It has not responded in [`TABLE_HEAD_START`].
    Slow,
    /// A call failed, or it has not responded in [`TABLE_SILENCE`].
    Unavailable,
}

/// The key table, and its health. Look-ups share it, also look-ups that continue after their request.
#[derive(Clone, Debug)]
pub(super) struct TableReader {
    table: ApiKeysTable,
    missing_response: Arc<Mutex<Option<MissingResponse>>>,
}

/// The last look-up without a response of the table in time.
#[derive(Clone, Copy, Debug)]
struct MissingResponse {
    reason: NoResponse,
    /// Until when look-ups ask the snapshot first.
    until: Timestamp,
}

/// A look-up of a key in the table. It can outlive its request.
pub(super) struct TableLookup {
    pub(super) hash: KeyHash,
    /// When the request was received.
    pub(super) received_at: Timestamp,
    started: Instant,
    /// When the look-up must have ended.
    pub(super) deadline: Deadline,
    /// The result. The first poll sends the call.
    pub(super) response: BoxFuture<'static, Found>,
    /// Whether a call failed, or the table has not responded in [`TABLE_SILENCE`].
    pub(super) has_failed: Arc<AtomicBool>,
}

impl TableReader {
    pub(super) fn new(table: ApiKeysTable) -> Self {
        Self {
            table,
            missing_response: Arc::default(),
        }
    }

    /// The look-up of a key for a request that was received at `received_at`.
    pub(super) fn start_lookup(
        &self,
        hash: KeyHash,
        received_at: Timestamp,
        deadline: Deadline,
    ) -> TableLookup {
        let has_failed = Arc::new(AtomicBool::new(false));
        let table = self.clone();
        let response = table.ask(hash, received_at, deadline, Arc::clone(&has_failed));
        TableLookup {
            hash,
            received_at,
            started: Instant::now(),
            deadline,
            response: response.boxed(),
            has_failed,
        }
    }

    /// The result of the table before the snapshot is asked. For some seconds after a look-up without a
    /// response, the table is not asked.
    pub(super) async fn response_in_time(&self, lookup: &mut TableLookup) -> TableResponse {
        if let Some(reason) = self.missing_response(lookup.received_at) {
            return TableResponse::NotYet(reason);
        }
        match timeout(TABLE_HEAD_START, &mut lookup.response).await {
            Ok(Ok(entry)) => TableResponse::Found(entry),
            Ok(Err(error)) => TableResponse::Failed(error),
            Err(_) => {
                let reason = lookup.no_response();
                self.note(reason, lookup.now());
                TableResponse::NotYet(reason)
            }
        }
    }

    /// Why the table did not respond to a look-up, if that was at most [`SNAPSHOT_FIRST_PERIOD`] before
    /// `now`.
    fn missing_response(&self, now: Timestamp) -> Option<NoResponse> {
        let missing = (*lock(&self.missing_response))?;
        (now < missing.until).then_some(missing.reason)
    }

    /// Notes for the next look-ups that the table had not responded at `now`.
    fn note(&self, reason: NoResponse, now: Timestamp) {
        let until = now.plus(SNAPSHOT_FIRST_PERIOD);
        *lock(&self.missing_response) = Some(MissingResponse { reason, until });
    }

    /// Notes that the table did not respond to a look-up for a request of `received_at`. The failure counts
    /// from [`TABLE_SILENCE`] on at the latest, because Lambda may have frozen the process since.
    fn note_failure(&self, received_at: Timestamp, elapsed: Duration) {
        let failed_at = received_at.plus(elapsed.min(TABLE_SILENCE));
        self.note(NoResponse::Unavailable, failed_at);
    }

    /// Has the next look-up ask the table first.
    pub(super) fn forget_missing_response(&self) {
        *lock(&self.missing_response) = None;
    }

    /// Asks the table. Notes when it does not respond.
    async fn ask(
        self,
        hash: KeyHash,
        received_at: Timestamp,
        deadline: Deadline,
        has_failed: Arc<AtomicBool>,
    ) -> Found {
        let started = Instant::now();
        let mut response = pin!(self.table.find(&hash, deadline, &has_failed));
        let in_time = timeout(TABLE_SILENCE, response.as_mut()).await;
        let is_unavailable = match &in_time {
            // A corrupt item is a response: it says nothing about other keys.
            Ok(Ok(_) | Err(StoreError::Corrupt)) => false,
            // A refusal comes at once, so the next look-up loses no time when it asks again.
            Ok(Err(error)) => error.own_fault().is_none(),
            Err(_) => true,
        };
        if is_unavailable {
            has_failed.store(true, Ordering::Relaxed);
            self.note_failure(received_at, started.elapsed());
        }
        let found = match in_time {
            Ok(found) => found,
            Err(_) => response.await,
        };
        Ok(found?.map(Arc::new))
    }
}

impl TableLookup {
    /// The time of day, as it was when the request was received and has gone on since.
    pub(super) fn now(&self) -> Timestamp {
        self.received_at.plus(self.started.elapsed())
    }

    fn no_response(&self) -> NoResponse {
        if self.has_failed.load(Ordering::Relaxed) {
            NoResponse::Unavailable
        } else {
            NoResponse::Slow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::failing_sources::failing_table;

    const NOW: Timestamp = Timestamp::from_millis(1_795_213_000_009);

    #[test]
    fn failure_counts_for_the_next_lookups_and_not_after_a_freeze() {
        let missing_response = |elapsed: Duration, received_after: Duration| {
            let table = TableReader::new(failing_table());
            table.note_failure(NOW, elapsed);
            table.missing_response(NOW.plus(received_after))
        };
        for millis in [20, 1_000] {
            let elapsed = Duration::from_millis(millis);
            let next = elapsed + Duration::from_secs(1);
            let expected = Some(NoResponse::Unavailable);
            assert_eq!(missing_response(elapsed, next), expected, "{millis}");
        }
        let freeze = Duration::from_secs(30);
        assert_eq!(missing_response(freeze, freeze), None);
    }
}

//! A look-up of a key in the table alone, which notes when the table does not answer.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

use super::durations::TABLE_SILENCE;
use super::knowledge::{Knowledge, TableState};

/// What a look-up finds: the entry of a key, which may have expired or been revoked; `None` for an
/// unknown key.
pub(super) type Found = Result<Option<Arc<KeyEntry>>, StoreError>;

/// A look-up in the table. It can outlive its request.
pub(super) struct TableLookup {
    pub(super) found: BoxFuture<'static, Found>,
    /// Whether a call failed, or the table has not answered in [`TABLE_SILENCE`].
    pub(super) has_failed: Arc<AtomicBool>,
}

impl TableLookup {
    /// The look-up of a key for a request that was received at `received_at`. It asks the table once
    /// it is polled.
    pub(super) fn start(
        table: ApiKeysTable,
        knowledge: Arc<Knowledge>,
        hash: KeyHash,
        received_at: Timestamp,
        deadline: Deadline,
    ) -> Self {
        let has_failed = Arc::new(AtomicBool::new(false));
        let failure = FailureNote {
            knowledge,
            has_failed: Arc::clone(&has_failed),
            received_at,
        };
        Self {
            found: ask_table(table, hash, deadline, failure).boxed(),
            has_failed,
        }
    }

    /// The state of the table, while it has not answered this look-up.
    pub(super) fn state(&self) -> TableState {
        if self.has_failed.load(Ordering::Relaxed) {
            TableState::IsUnavailable
        } else {
            TableState::IsSlow
        }
    }
}

/// Notes that the table does not answer a look-up.
struct FailureNote {
    knowledge: Arc<Knowledge>,
    has_failed: Arc<AtomicBool>,
    received_at: Timestamp,
}

impl FailureNote {
    /// Notes it for the request, and for the look-ups of the next seconds. The failure counts from
    /// [`TABLE_SILENCE`] on at the latest: Lambda may have frozen the process since, and that says
    /// nothing of the table.
    fn take(&self, elapsed: Duration) {
        self.has_failed.store(true, Ordering::Relaxed);
        let failed_at = self.received_at.plus(elapsed.min(TABLE_SILENCE));
        self.knowledge.note(TableState::IsUnavailable, failed_at);
    }
}

/// Asks the table. Notes when it does not answer.
async fn ask_table(
    table: ApiKeysTable,
    hash: KeyHash,
    deadline: Deadline,
    failure: FailureNote,
) -> Found {
    let started = Instant::now();
    let mut answer = pin!(table.find(&hash, deadline, &failure.has_failed));
    let found = if let Ok(found) = timeout(TABLE_SILENCE, answer.as_mut()).await {
        match &found {
            // A corrupt item is an answer, because it says nothing of other keys.
            Ok(_) | Err(StoreError::Corrupt) => {}
            // The table refuses at once: the next look-up loses no time when it asks again.
            Err(error) if error.own_fault().is_some() => {}
            Err(_) => failure.take(started.elapsed()),
        }
        found
    } else {
        failure.take(started.elapsed());
        answer.await
    };
    Ok(found?.map(Arc::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_213_000_009);

    #[test]
    fn failure_counts_for_the_next_look_ups_and_not_after_a_freeze() {
        let state = |elapsed: Duration, received_after: Duration| {
            let knowledge = Arc::new(Knowledge::default());
            let failure = FailureNote {
                knowledge: Arc::clone(&knowledge),
                has_failed: Arc::default(),
                received_at: NOW,
            };
            failure.take(elapsed);
            knowledge.table_state(NOW.plus(received_after))
        };
        for millis in [20, 1_000] {
            let elapsed = Duration::from_millis(millis);
            let next = elapsed + Duration::from_secs(1);
            assert_eq!(state(elapsed, next), TableState::IsUnavailable, "{millis}");
        }
        let freeze = Duration::from_secs(30);
        assert_eq!(state(freeze, freeze), TableState::Answers);
    }
}

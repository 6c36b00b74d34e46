//! The key snapshot in memory: read when it is needed, and again once a minute while it is needed.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws::deadline::{Deadline, run_until};
use aws::s3::Bucket;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use store::key_snapshot::{KeySnapshot, KeySnapshotError, MAX_OBJECT_BYTES, OBJECT_KEY};
use tracing::Instrument as _;

use super::cache::LookupResult;
use super::decision::{KnownKey, newest};
use super::lock;

/// How long a snapshot is used before it is read again.
const SNAPSHOT_REFRESH_AFTER: Duration = Duration::from_mins(1);

/// How long look-ups use the snapshot in memory, and wait for no read, after a read that failed or
/// did not end in time.
const SNAPSHOT_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// How long one look-up waits for the snapshot.
const SNAPSHOT_WAIT: Duration = Duration::from_secs(1);

/// How long reading the snapshot may take.
const SNAPSHOT_READ_TIMEOUT: Duration = Duration::from_secs(20);

/// The largest snapshot that is parsed without another thread. It has some hundred keys, and takes less
/// than a millisecond.
const PARSED_AT_ONCE_BYTES: usize = 16 * 1024;

/// Reads the snapshot of a bucket.
#[derive(Debug)]
pub(crate) struct SnapshotReader {
    bucket: Bucket,
    state: Arc<Mutex<SnapshotState>>,
}

#[derive(Default)]
struct SnapshotState {
    latest: Option<Arc<KeySnapshot>>,
    /// Until when look-ups use `latest` and wait for no read.
    used_until: Option<Timestamp>,
    /// The read that is under way. All look-ups that need it wait for the same one. It continues when none
    /// waits any more: a large snapshot takes longer than a look-up may wait.
    reading: Option<Shared<BoxFuture<'static, ()>>>,
}

/// The snapshot that a look-up uses.
pub(crate) struct CurrentSnapshot {
    snapshot: Option<Arc<KeySnapshot>>,
    /// When the next look-up waits for a read.
    used_until: Timestamp,
}

impl SnapshotReader {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self {
            bucket,
            state: Arc::default(),
        }
    }

    /// The snapshot that is in memory, or the one in the bucket if it is time to read that. One
    /// that is older than the snapshot in memory, or that cannot be read, does not replace it.
    pub(crate) async fn current(&self, now: Timestamp, deadline: Deadline) -> CurrentSnapshot {
        let Some(reading) = self.start_or_join_read(now) else {
            return self.in_memory(now);
        };
        let deadline = deadline.at_most(SNAPSHOT_WAIT);
        if run_until(deadline, reading).await.is_err() {
            let mut state = lock(&self.state);
            if state.latest.is_some() && state.reading.is_some() {
                state.used_until = Some(now.plus(SNAPSHOT_WAIT + SNAPSHOT_RETRY_INTERVAL));
            }
        }
        self.in_memory(now)
    }

    /// The snapshot that is in memory.
    pub(crate) fn in_memory(&self, now: Timestamp) -> CurrentSnapshot {
        let state = lock(&self.state);
        CurrentSnapshot {
            snapshot: state.latest.clone(),
            used_until: state.used_until.unwrap_or(now),
        }
    }

    /// The read that a look-up at `now` has to wait for; `None` if it uses the snapshot in memory.
    fn start_or_join_read(&self, now: Timestamp) -> Option<Shared<BoxFuture<'static, ()>>> {
        let mut state = lock(&self.state);
        if state.used_until.is_some_and(|until| now < until) {
            return None;
        }
        if state.reading.is_none() {
            let read = read_into(self.state.clone(), self.bucket.clone(), now);
            let task = tokio::spawn(read.in_current_span());
            // A panic ends the task, and so the look-ups stop waiting.
            state.reading = Some(task.map(drop).boxed().shared());
        }
        state.reading.clone()
    }
}

impl CurrentSnapshot {
    /// The newest record of a key, in the snapshot or the `stale` one of the cache.
    pub(crate) fn newest(&self, hash: KeyHash, stale: Option<&LookupResult>) -> Option<KnownKey> {
        let of_snapshot = self.snapshot.as_ref().map(|snapshot| LookupResult {
            entry: snapshot.find(hash).map(Arc::new),
            as_of: snapshot.time,
        });
        newest(of_snapshot.as_ref(), stale, self.used_until)
    }
}

impl fmt::Debug for SnapshotState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut state = formatter.debug_struct("SnapshotState");
        state.field("used_until", &self.used_until);
        state.finish_non_exhaustive()
    }
}

/// Reads the snapshot. It replaces the one in memory if it is newer.
async fn read_into(state: Arc<Mutex<SnapshotState>>, bucket: Bucket, began_at: Timestamp) {
    let result = read_snapshot(bucket).await;
    let mut state = lock(&state);
    state.reading = None;
    match result {
        Ok(snapshot) => {
            let latest = state.latest.as_ref();
            if latest.is_none_or(|latest| latest.time <= snapshot.time) {
                state.latest = Some(Arc::new(snapshot));
            }
            state.used_until = Some(began_at.plus(SNAPSHOT_REFRESH_AFTER));
        }
        Err(error) => {
            tracing::warn!(%error, "the key snapshot could not be read");
            state.used_until = Some(began_at.plus(SNAPSHOT_RETRY_INTERVAL));
        }
    }
}

async fn read_snapshot(bucket: Bucket) -> Result<KeySnapshot, KeySnapshotError> {
    let object = bucket
        .get(
            OBJECT_KEY,
            MAX_OBJECT_BYTES,
            Deadline::after(SNAPSHOT_READ_TIMEOUT),
        )
        .await?;
    let snapshot = if object.body.len() <= PARSED_AT_ONCE_BYTES {
        KeySnapshot::parse(&object)?
    } else {
        // Another thread parses it: the largest takes longer than requests may wait for the thread
        // that serves them.
        let parsed = tokio::task::spawn_blocking(move || KeySnapshot::parse(&object));
        parsed.await.map_err(|_| KeySnapshotError::Malformed)??
    };
    if snapshot.unreadable > 0 {
        tracing::warn!(
            entries = snapshot.unreadable,
            "the key snapshot has entries that this version cannot read"
        );
    }
    Ok(snapshot)
}

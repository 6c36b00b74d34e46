//! The key snapshot in memory: read when it is needed, and again once a minute while it is needed.

use std::sync::Arc;
use std::time::Duration;

use aws::deadline::{Deadline, before};
use aws::s3::Bucket;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::key_snapshot::{KeySnapshot, KeySnapshotError, MAX_OBJECT_BYTES, OBJECT_KEY};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::cache::LastRead;

/// How long a snapshot is used before it is read again.
const REFRESH_AFTER: Duration = Duration::from_mins(1);

/// How long after a failed read the next one follows.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long one look-up waits for the snapshot.
pub(crate) const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long reading the snapshot may take.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads the snapshot of a bucket.
#[derive(Debug)]
pub(crate) struct SnapshotReader {
    bucket: Bucket,
    /// Locked while a look-up waits for the object, so that look-ups at the same time read it once.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    latest: Option<Arc<KeySnapshot>>,
    read_again_at: Option<Timestamp>,
    /// A read, and when it began. It goes on while no look-up waits for it: a large snapshot takes
    /// longer than one may wait.
    reading: Option<(Timestamp, JoinHandle<Result<KeySnapshot, KeySnapshotError>>)>,
}

impl SnapshotReader {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self {
            bucket,
            state: Mutex::default(),
        }
    }

    /// The newest entry of a key: the one that was last read from the table, or that of a snapshot
    /// that may be later. A revocation in one of them wins, whatever its time. `None` when such a
    /// snapshot lacks the key, or neither has it.
    pub(crate) async fn newest(
        &self,
        hash: KeyHash,
        last_read: Option<&LastRead>,
        now: Timestamp,
        deadline: Deadline,
    ) -> Option<Arc<KeyEntry>> {
        let snapshot = self.latest(now, deadline).await;
        let in_snapshot = snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.find(hash))
            .map(Arc::new);
        let in_table = last_read.and_then(|read| read.entry.clone());
        let revoked = [&in_snapshot, &in_table]
            .into_iter()
            .flatten()
            .find(|entry| entry.revoked_at.is_some());
        // `Last-Modified` is cut to seconds. In the same second, the snapshot decides.
        let is_later = |snapshot: &Arc<KeySnapshot>| {
            last_read.is_none_or(|read| read.read_at < snapshot.time.plus(Duration::from_secs(1)))
        };
        match (revoked, &snapshot) {
            (Some(revoked), _) => Some(revoked.clone()),
            (None, Some(snapshot)) if is_later(snapshot) => in_snapshot,
            (None, _) => in_table,
        }
    }

    /// The snapshot that is in memory, or the one in the bucket if it is time to read that. One
    /// that is older than the snapshot in memory, or that cannot be read, does not replace it.
    pub(crate) async fn latest(
        &self,
        now: Timestamp,
        deadline: Deadline,
    ) -> Option<Arc<KeySnapshot>> {
        let deadline = deadline.at_most(SNAPSHOT_TIMEOUT);
        let mut state = before(deadline, self.state.lock()).await.ok()?;
        while state.read_again_at.is_none_or(|at| at <= now) {
            let (began_at, reading) = state.reading.get_or_insert_with(|| {
                (
                    now,
                    tokio::spawn(read(self.bucket.clone()).in_current_span()),
                )
            });
            let (began_at, read) = (*began_at, before(deadline, reading).await);
            let Ok(read) = read else { break };
            state.reading = None;
            match read.unwrap_or(Err(KeySnapshotError::Malformed)) {
                Ok(snapshot) => {
                    if state
                        .latest
                        .as_ref()
                        .is_none_or(|latest| latest.time <= snapshot.time)
                    {
                        state.latest = Some(Arc::new(snapshot));
                    }
                    state.read_again_at = Some(began_at.plus(REFRESH_AFTER));
                }
                Err(error) => {
                    tracing::warn!(%error, "the key snapshot could not be read");
                    state.read_again_at = Some(began_at.plus(RETRY_AFTER));
                }
            }
        }
        state.latest.clone()
    }
}

async fn read(bucket: Bucket) -> Result<KeySnapshot, KeySnapshotError> {
    let object = bucket
        .get(OBJECT_KEY, MAX_OBJECT_BYTES, Deadline::after(READ_TIMEOUT))
        .await?;
    // On a thread of its own: the largest takes longer than requests may wait for the thread that
    // serves them.
    let parsed = tokio::task::spawn_blocking(move || KeySnapshot::parse(&object));
    let snapshot = parsed.await.map_err(|_| KeySnapshotError::Malformed)??;
    if snapshot.unreadable > 0 {
        tracing::warn!(
            entries = snapshot.unreadable,
            "the key snapshot has entries that this version cannot read"
        );
    }
    Ok(snapshot)
}

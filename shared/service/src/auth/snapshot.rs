//! The key snapshot in memory: read when it is needed, and again once a minute while it is needed.

use std::sync::Arc;
use std::time::Duration;

use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use store::api_keys::KeyRecord;
use store::deadline::{Deadline, before};
use store::error::Cause;
use store::key_snapshot::{KeySnapshot, KeySnapshotError, MAX_OBJECT_BYTES, OBJECT_KEY};
use store::s3::{Bucket, S3Error};
use tokio::sync::Mutex;

use super::cache::LastRead;

/// How long a snapshot is used before it is read again.
const REFRESH_AFTER: Duration = Duration::from_mins(1);

/// How long after a failed read the next one follows.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long one look-up waits for the snapshot.
pub(crate) const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads the snapshot of a bucket.
#[derive(Debug)]
pub(crate) struct SnapshotReader {
    bucket: Bucket,
    /// Locked while the object is read, so that look-ups at the same time read it once.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    latest: Option<Arc<KeySnapshot>>,
    read_again_at: Option<Timestamp>,
}

impl SnapshotReader {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self { bucket, state: Mutex::default() }
    }

    /// The newest record of a key: the one that was last read from the table, or that of a snapshot that may be later. `None` when
    /// such a snapshot lacks the key, or nothing knows it.
    pub(crate) async fn newest(
        &self,
        hash: KeyHash,
        last_read: Option<&LastRead>,
        now: Timestamp,
        deadline: Deadline,
    ) -> Option<Arc<KeyRecord>> {
        let is_later = |snapshot: &Arc<KeySnapshot>| {
            // `Last-Modified` is cut to seconds. In the same second, the snapshot decides: it may have the revocation.
            last_read.is_none_or(|read| read.read_at < snapshot.last_modified.plus(Duration::from_secs(1)))
        };
        match self.latest(now, deadline).await.filter(is_later) {
            Some(snapshot) => snapshot.find(hash).map(Arc::new),
            None => last_read?.record.clone(),
        }
    }

    /// The snapshot that is in memory, or the one in the bucket if it is time to read that. A read that fails leaves the one in
    /// memory.
    pub(crate) async fn latest(&self, now: Timestamp, deadline: Deadline) -> Option<Arc<KeySnapshot>> {
        let deadline = deadline.at_most(SNAPSHOT_TIMEOUT);
        let mut state = before(deadline, self.state.lock()).await.ok()?;
        if state.read_again_at.is_none_or(|at| at <= now) {
            match self.read(deadline).await {
                Ok(snapshot) => {
                    state.latest = Some(Arc::new(snapshot));
                    state.read_again_at = Some(now.plus(REFRESH_AFTER));
                }
                Err(error) => {
                    tracing::warn!(%error, "the key snapshot could not be read");
                    state.read_again_at = Some(now.plus(RETRY_AFTER));
                }
            }
        }
        state.latest.clone()
    }

    async fn read(&self, deadline: Deadline) -> Result<KeySnapshot, KeySnapshotError> {
        let object = self.bucket.get(OBJECT_KEY, MAX_OBJECT_BYTES, deadline).await?;
        // On a thread of its own: the largest takes longer than requests may wait for the thread that serves them.
        let parsed = tokio::task::spawn_blocking(move || KeySnapshot::parse(&object));
        let timeout = S3Error::Unavailable(Cause::Timeout);
        before(deadline, parsed).await.map_err(|_| timeout)?.map_err(|_| KeySnapshotError::Malformed)?
    }
}

//! Looking up a key: in the cache, in the key table and, while that cannot be read, in the key
//! snapshot (docs/api.md, API keys). This module must not know what a key may do.

use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use aws::deadline::Deadline;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::error::StoreError;
use tokio::time::timeout;

use super::Authenticator;
use super::cache::{Cache, CachedKey, LastRead};
use super::snapshot::{NewestEntry, SNAPSHOT_TIMEOUT, SnapshotReader};
use crate::context::RequestContext;

/// How long the table is asked before the snapshot or, without a snapshot, an older look-up is
/// used.
const TABLE_ASKED_ALONE_FOR: Duration = Duration::from_secs(1);

/// How long the look-up of a key may take otherwise: longer than the throttling that a table
/// recovers from by itself.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the look-up at the start of the process may take, if there is no snapshot.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(4);

/// How long after a look-up without an answer the snapshot is asked first. Otherwise each look-up
/// of an outage would wait for the table.
const SNAPSHOT_FIRST: Duration = Duration::from_secs(5);

impl Authenticator {
    /// Looks up a key that cannot exist, so that the TCP and TLS connections are set up while the
    /// process starts. Reads the snapshot if the table cannot be read. A failure does not stop the
    /// process.
    pub async fn warm_up(&self) {
        let unknown = KeyHash::from_key("");
        let patience = if self.snapshot.is_some() {
            TABLE_ASKED_ALONE_FOR
        } else {
            WARM_UP_TIMEOUT
        };
        let Err(error) = self.table.find(&unknown, Deadline::after(patience)).await else {
            return;
        };
        tracing::warn!(%error, "the key table could not be read at the start");
        if let Some(snapshot) = &self.snapshot {
            let now = Timestamp::now();
            snapshot
                .current(now, Deadline::after(SNAPSHOT_TIMEOUT))
                .await;
            self.note_failure(Some(&error), now);
        }
    }

    /// The entry of a key, which may have expired or been revoked; `None` for an unknown key.
    pub(super) async fn find(
        &self,
        hash: KeyHash,
        context: &mut RequestContext,
    ) -> Result<Option<Arc<KeyEntry>>, StoreError> {
        let cached = self.with_cache(|cache| cache.get(&hash, context.received_at));
        let last_read = match cached {
            CachedKey::Fresh {
                entry,
                without_table,
            } => {
                context.key_table_is_unavailable = without_table;
                return Ok(entry);
            }
            CachedKey::Old(last_read) => Some(last_read),
            CachedKey::Miss => None,
        };
        match &self.snapshot {
            Some(snapshot) => {
                self.ask_table_or_snapshot(snapshot, hash, last_read.as_ref(), context)
                    .await
            }
            None => {
                self.ask_table_or_cache(hash, last_read.as_ref(), context)
                    .await
            }
        }
    }

    /// Asks the table. While it cannot be read, an entry that was read before counts for a while.
    async fn ask_table_or_cache(
        &self,
        hash: KeyHash,
        last_read: Option<&LastRead>,
        context: &mut RequestContext,
    ) -> Result<Option<Arc<KeyEntry>>, StoreError> {
        let now = context.received_at;
        let Some(stale) = last_read.and_then(|read| read.stale(now)) else {
            return self
                .ask_table(hash, now, context.deadline.at_most(LOOKUP_TIMEOUT))
                .await;
        };
        let deadline = context.deadline.at_most(TABLE_ASKED_ALONE_FOR);
        if let Ok(found) = self.ask_table(hash, now, deadline).await {
            Ok(found)
        } else {
            self.with_cache(|cache| cache.extend_stale(&hash, now));
            context.key_table_is_unavailable = true;
            Ok(Some(stale))
        }
    }

    /// Asks the table and, if the table does not answer, the snapshot once. If the snapshot does
    /// not know the key, the table has the rest of the time.
    async fn ask_table_or_snapshot(
        &self,
        snapshot: &SnapshotReader,
        hash: KeyHash,
        last_read: Option<&LastRead>,
        context: &mut RequestContext,
    ) -> Result<Option<Arc<KeyEntry>>, StoreError> {
        let received_at = context.received_at;
        let started = Instant::now();
        let now = || received_at.plus(started.elapsed());
        let deadline = context.deadline.at_most(LOOKUP_TIMEOUT);
        let mut in_table = pin!(self.ask_table(hash, received_at, deadline));
        let mut failure = None;
        if !self.asks_snapshot_first(received_at) {
            match timeout(TABLE_ASKED_ALONE_FOR, &mut in_table).await {
                Ok(Ok(entry)) => return Ok(entry),
                Ok(Err(error)) => failure = Some(error),
                // The call to the table goes on while the snapshot is read.
                Err(_late) => {}
            }
            self.note_failure(failure.as_ref(), now());
        }
        let newest = snapshot
            .newest_entry(hash, last_read, now(), context.deadline)
            .await;
        if let Some(NewestEntry { read, used_until }) = newest {
            context.key_table_is_unavailable = true;
            let entry = read.entry.clone();
            self.with_cache(|cache| cache.insert_without_table(hash, read, now(), used_until));
            return Ok(entry);
        }
        let found = match failure {
            Some(error) => Err(error),
            None => in_table.await,
        };
        if let Err(error) = &found {
            self.note_failure(Some(error), now());
        }
        found
    }

    async fn ask_table(
        &self,
        hash: KeyHash,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Option<Arc<KeyEntry>>, StoreError> {
        let found = self.table.find(&hash, deadline).await?.map(Arc::new);
        self.with_cache(|cache| cache.insert(hash, found.clone(), now));
        Ok(found)
    }

    fn asks_snapshot_first(&self, now: Timestamp) -> bool {
        self.snapshot_first_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some_and(|until| now < until)
    }

    /// Remembers that the table did not answer a look-up, which ended at `now`. A corrupt item is
    /// an answer, because it says nothing of other keys.
    fn note_failure(&self, error: Option<&StoreError>, now: Timestamp) {
        if error != Some(&StoreError::Corrupt) {
            let until = now.plus(SNAPSHOT_FIRST);
            *self
                .snapshot_first_until
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        // No method of the cache panics half-way, so the cache behind a poisoned lock is intact.
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use aws::dynamodb::dynamodb;
    use aws::sdk_config::{CONNECT_TIMEOUT, defaults};
    use aws::variables::Variables;
    use lambda_http::{Body, Context, Request, RequestExt as _};
    use store::api_keys::ApiKeysTable;

    use super::*;
    use crate::telemetry::log::Log;

    #[tokio::test]
    async fn use_of_an_entry_read_before_says_that_the_table_is_unavailable() {
        // Without a region and credentials, every call fails.
        let config = defaults(&Variables::default(), CONNECT_TIMEOUT)
            .unwrap()
            .build();
        let lookup = Authenticator::new(ApiKeysTable::new(dynamodb(&config), "keys"), None);
        let entry = Arc::new(KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: None,
            revoked_at: None,
            only: None,
        });
        let mut context = RequestContext::from_request(
            &Request::new(Body::Empty).with_lambda_context(Context::default()),
            Log::new("test", |_| {}),
        );
        let (hash, read_at) = (KeyHash::from_key("k"), context.received_at);
        lookup.with_cache(|cache| cache.insert(hash, Some(entry.clone()), read_at));
        for (seconds, is_unavailable) in [(59, false), (61, true)] {
            context.received_at = read_at.plus(Duration::from_secs(seconds));
            assert_eq!(
                lookup.find(hash, &mut context).await.unwrap(),
                Some(entry.clone())
            );
            assert_eq!(
                context.key_table_is_unavailable, is_unavailable,
                "after {seconds} s"
            );
        }
    }
}

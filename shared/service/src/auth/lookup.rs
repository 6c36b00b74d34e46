//! Looking up a key: in the cache, in the key table and, while that cannot be read, in the key
//! snapshot (docs/api.md, API keys). This module must not know what a key may do.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws::deadline::Deadline;
use aws::s3::Bucket;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::api_keys::ApiKeysTable;
use store::error::StoreError;
use tokio::time::timeout;

use super::cache::{Cache, CacheAnswer, LookupResult};
use super::snapshot::{NewestResult, SNAPSHOT_TIMEOUT, SnapshotReader};
use crate::context::RequestContext;

/// How long the table is asked before the snapshot or, without a snapshot, a stale entry of the
/// cache is used.
const TABLE_HEAD_START: Duration = Duration::from_secs(1);

/// How long the table may take for its answer otherwise: longer than the throttling that a table
/// recovers from by itself.
const TABLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the look-up at the start of the process may take, if there is no snapshot.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(4);

/// How long look-ups ask the snapshot before the table, after a look-up that the table did not
/// answer. Otherwise each look-up of an outage would wait for the table.
const SNAPSHOT_FIRST_PERIOD: Duration = Duration::from_secs(5);

/// What a look-up finds: the entry of a key, which may have expired or been revoked; `None` for an
/// unknown key.
type Found = Result<Option<Arc<KeyEntry>>, StoreError>;

/// Finds the entries of API keys.
#[derive(Debug)]
pub(crate) struct KeyLookup {
    table: ApiKeysTable,
    snapshot: Option<SnapshotReader>,
    cache: Mutex<Cache>,
    /// Until when the snapshot is asked before the table.
    snapshot_first_until: Mutex<Option<Timestamp>>,
}

impl KeyLookup {
    /// Look-ups with an empty cache. The key snapshot is in this bucket, if there is one.
    pub(super) fn new(table: ApiKeysTable, snapshot: Option<Bucket>) -> Self {
        let snapshot = snapshot.map(SnapshotReader::new);
        Self {
            table,
            snapshot,
            cache: Mutex::default(),
            snapshot_first_until: Mutex::default(),
        }
    }

    /// Looks up a key that cannot exist, so that the TCP and TLS connections are set up while the
    /// process starts. Reads the snapshot if the table cannot be read. A failure does not stop the
    /// process.
    pub(crate) async fn warm_up(&self) {
        let unknown = KeyHash::from_key("");
        let table_timeout = if self.snapshot.is_some() {
            TABLE_HEAD_START
        } else {
            WARM_UP_TIMEOUT
        };
        let deadline = Deadline::after(table_timeout);
        let Err(error) = self.table.find(&unknown, deadline).await else {
            return;
        };
        tracing::warn!(%error, "the key table could not be read at the start");
        if let Some(snapshot) = &self.snapshot {
            let now = Timestamp::now();
            snapshot
                .current(now, Deadline::after(SNAPSHOT_TIMEOUT))
                .await;
            self.note_failure(&error, now);
        }
    }

    /// Finds the entry of a key in the cache, in the table or in the snapshot.
    pub(super) async fn find(&self, hash: KeyHash, context: &mut RequestContext) -> Found {
        let answer = self.with_cache(|cache| cache.get(&hash, context.received_at));
        let stale = match answer {
            CacheAnswer::Fresh {
                entry,
                key_table_is_unavailable,
            } => {
                context.key_table_is_unavailable = key_table_is_unavailable;
                return Ok(entry);
            }
            CacheAnswer::Stale(result) => Some(result),
            CacheAnswer::Miss => None,
        };
        match &self.snapshot {
            Some(snapshot) => {
                self.ask_table_or_snapshot(snapshot, hash, stale.as_ref(), context)
                    .await
            }
            None => self.ask_table_or_cache(hash, stale.as_ref(), context).await,
        }
    }

    /// Asks the table. While it cannot be read, a stale entry of the cache counts for a while.
    async fn ask_table_or_cache(
        &self,
        hash: KeyHash,
        stale: Option<&LookupResult>,
        context: &mut RequestContext,
    ) -> Found {
        let now = context.received_at;
        let Some(usable) = stale.and_then(|result| result.usable_without_table(now)) else {
            let deadline = context.deadline.at_most(TABLE_TIMEOUT);
            return self.ask_table(hash, now, deadline).await;
        };
        let deadline = context.deadline.at_most(TABLE_HEAD_START);
        if let Ok(found) = self.ask_table(hash, now, deadline).await {
            Ok(found)
        } else {
            self.with_cache(|cache| cache.extend_stale(&hash, now));
            context.key_table_is_unavailable = true;
            Ok(Some(usable))
        }
    }

    /// Asks the table and, if the table does not answer, the snapshot once. If the snapshot does
    /// not know the key, the table has the rest of the time.
    async fn ask_table_or_snapshot(
        &self,
        snapshot: &SnapshotReader,
        hash: KeyHash,
        stale: Option<&LookupResult>,
        context: &mut RequestContext,
    ) -> Found {
        let received_at = context.received_at;
        let started = Instant::now();
        let now = || received_at.plus(started.elapsed());
        let deadline = context.deadline.at_most(TABLE_TIMEOUT);
        let mut table_lookup = pin!(self.ask_table(hash, received_at, deadline));
        let mut failure = None;
        if !self.asks_snapshot_first(received_at) {
            match self.ask_table_alone(table_lookup.as_mut(), now).await {
                Some(Ok(entry)) => return Ok(entry),
                Some(Err(error)) => failure = Some(error),
                None => {}
            }
        }
        let newest = snapshot
            .newest_result(hash, stale, now(), context.deadline)
            .await;
        if let Some(NewestResult { result, used_until }) = newest {
            context.key_table_is_unavailable = true;
            let entry = result.entry.clone();
            self.with_cache(|cache| cache.insert_without_table(hash, result, now(), used_until));
            return Ok(entry);
        }
        let found = match failure {
            Some(error) => Err(error),
            None => table_lookup.await,
        };
        if let Err(error) = &found {
            self.note_failure(error, now());
        }
        found
    }

    /// Waits for the table alone. `None` if it has not answered after [`TABLE_HEAD_START`]: the
    /// caller may wait for `table_lookup` again, because the call is not cancelled.
    async fn ask_table_alone(
        &self,
        table_lookup: Pin<&mut impl Future<Output = Found>>,
        now: impl Fn() -> Timestamp,
    ) -> Option<Found> {
        let answer = timeout(TABLE_HEAD_START, table_lookup).await.ok();
        match &answer {
            Some(Ok(_)) => {}
            Some(Err(error)) => self.note_failure(error, now()),
            None => self.ask_snapshot_first(now()),
        }
        answer
    }

    async fn ask_table(&self, hash: KeyHash, now: Timestamp, deadline: Deadline) -> Found {
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

    /// Has the look-ups of the next [`SNAPSHOT_FIRST_PERIOD`] ask the snapshot before the table,
    /// because the table did not answer a look-up until `now`.
    fn ask_snapshot_first(&self, now: Timestamp) {
        let until = now.plus(SNAPSHOT_FIRST_PERIOD);
        *self
            .snapshot_first_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    /// As [`Self::ask_snapshot_first`], after an error of the table. A corrupt item is an answer,
    /// because it says nothing of other keys.
    fn note_failure(&self, error: &StoreError, now: Timestamp) {
        if *error != StoreError::Corrupt {
            self.ask_snapshot_first(now);
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

    use super::*;
    use crate::telemetry::log::Log;

    #[tokio::test]
    async fn use_of_a_stale_entry_says_that_the_table_is_unavailable() {
        // Without a region and credentials, every call fails.
        let config = defaults(&Variables::default(), CONNECT_TIMEOUT)
            .unwrap()
            .build();
        let lookup = KeyLookup::new(ApiKeysTable::new(dynamodb(&config), "keys"), None);
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
        let (hash, inserted_at) = (KeyHash::from_key("k"), context.received_at);
        lookup.with_cache(|cache| cache.insert(hash, Some(entry.clone()), inserted_at));
        for (seconds, is_unavailable) in [(59, false), (61, true)] {
            context.received_at = inserted_at.plus(Duration::from_secs(seconds));
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

//! Looking up a key: in the cache, in the key table and, while that does not answer, in the key snapshot (docs/api.md, API
//! keys). Must not know what a key may do.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use store::api_keys::{ApiKeysTable, KeyRecord};
use store::deadline::Deadline;
use store::error::StoreError;
use store::s3::Bucket;
use tokio::time::timeout;

use super::cache::{Cache, CachedKey, LastRead};
use super::snapshot::{SNAPSHOT_TIMEOUT, SnapshotReader};
use crate::context::RequestContext;

/// How long the look-up of a key may take when there is a stale one in the cache and no snapshot.
const STALE_LOOKUP_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long the look-up of a key may take otherwise: longer than the throttling that a table recovers from by itself.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the table alone is asked, if there is a snapshot.
const TIME_BEFORE_SNAPSHOT: Duration = Duration::from_secs(2);

/// How long the look-up at the start of the process may take, if there is no snapshot.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(4);

/// How long after a look-up without an answer the snapshot is asked first. Otherwise each look-up of an outage would wait for
/// the table.
const SNAPSHOT_FIRST: Duration = Duration::from_secs(5);

/// Looks keys up.
#[derive(Debug)]
pub(crate) struct KeyLookup {
    table: ApiKeysTable,
    snapshot: Option<SnapshotReader>,
    cache: Mutex<Cache>,
    /// Until when the snapshot is asked first.
    snapshot_first_until: Mutex<Option<Timestamp>>,
}

impl KeyLookup {
    /// With an empty cache. The snapshot is in this bucket, if there is one.
    pub(crate) fn new(table: ApiKeysTable, snapshot: Option<Bucket>) -> Self {
        let snapshot = snapshot.map(SnapshotReader::new);
        Self { table, snapshot, cache: Mutex::default(), snapshot_first_until: Mutex::default() }
    }

    /// Looks up a key that cannot exist, so that TCP and TLS set-up happen during init; reads the snapshot if the table does not
    /// answer. A failure changes nothing.
    pub(crate) async fn warm_up(&self) {
        let unknown = KeyHash::of("");
        let patience = if self.snapshot.is_some() { TIME_BEFORE_SNAPSHOT } else { WARM_UP_TIMEOUT };
        let Err(error) = self.table.find(&unknown, Deadline::after(patience)).await else { return };
        tracing::warn!(%error, "the key table could not be read at the start");
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| !error.is_answer()) {
            let now = Timestamp::now();
            snapshot.latest(now, Deadline::after(SNAPSHOT_TIMEOUT)).await;
            self.ask_snapshot_first(now);
        }
    }

    /// The record of a key, which may have expired or been revoked; `None` for an unknown key.
    pub(crate) async fn find(
        &self,
        hash: KeyHash,
        context: &mut RequestContext,
    ) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        let now = context.received_at;
        let last_read = match self.with_cache(|cache| cache.get(&hash, now)) {
            CachedKey::Fresh(found) => return Ok(found),
            CachedKey::Old(last_read) => Some(last_read),
            CachedKey::Miss => None,
        };
        let stale = last_read.as_ref().and_then(|read| read.stale(now));
        let found = match &self.snapshot {
            None => {
                let limit = if stale.is_some() { STALE_LOOKUP_TIMEOUT } else { LOOKUP_TIMEOUT };
                self.ask_table(hash, now, context.deadline.at_most(limit)).await
            }
            Some(snapshot) => self.ask_table_or_snapshot(snapshot, hash, last_read.as_ref(), context).await,
        };
        match (found, stale) {
            (Err(error), Some(record)) if self.snapshot.is_none() || error.is_answer() => {
                self.with_cache(|cache| cache.extend_stale(&hash, now));
                context.key_table_is_unavailable = true;
                Ok(Some(record))
            }
            (found, _) => found,
        }
    }

    /// Asks the table and, while it does not answer, the snapshot: once.
    async fn ask_table_or_snapshot(
        &self,
        snapshot: &SnapshotReader,
        hash: KeyHash,
        last_read: Option<&LastRead>,
        context: &mut RequestContext,
    ) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        let (received_at, started) = (context.received_at, Instant::now());
        let now = || received_at.plus(started.elapsed());
        let mut in_table = pin!(self.ask_table(hash, received_at, context.deadline.at_most(LOOKUP_TIMEOUT)));
        let mut found = None;
        if !self.asks_snapshot_first(received_at) {
            found = timeout(TIME_BEFORE_SNAPSHOT, &mut in_table).await.ok();
            match found {
                Some(found) if is_answer(&found) => return found,
                _ => self.ask_snapshot_first(now()),
            }
        }
        if let Some(newest) = snapshot.newest(hash, last_read, now(), context.deadline).await {
            context.key_table_is_unavailable = true;
            return Ok(Some(newest));
        }
        let found = match found {
            Some(found) => found,
            None => in_table.await,
        };
        if !is_answer(&found) {
            self.ask_snapshot_first(now());
        }
        found
    }

    async fn ask_table(
        &self,
        hash: KeyHash,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        let found = self.table.find(&hash, deadline).await?.map(Arc::new);
        self.with_cache(|cache| cache.insert(hash, found.clone(), now));
        Ok(found)
    }

    fn asks_snapshot_first(&self, now: Timestamp) -> bool {
        self.snapshot_first_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| now < until)
    }

    /// Remembers that the table did not answer a look-up that ended at `now`.
    fn ask_snapshot_first(&self, now: Timestamp) {
        let until = now.plus(SNAPSHOT_FIRST);
        *self.snapshot_first_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        // No method of the cache panics half-way, so the cache behind a poisoned lock is intact.
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the table answered, be it with an error.
fn is_answer(found: &Result<Option<Arc<KeyRecord>>, StoreError>) -> bool {
    found.as_ref().err().is_none_or(StoreError::is_answer)
}

#[cfg(test)]
mod tests {
    use lambda_http::{Body, Request};
    use store::client::dynamodb;
    use store::environment::{CONNECT_TIMEOUT, defaults};

    use super::*;
    use crate::auth::cache::tests::record;

    #[tokio::test]
    async fn use_of_a_record_read_before_says_that_the_table_is_unavailable() {
        // Without a region and credentials, every call fails.
        let config = defaults(CONNECT_TIMEOUT).unwrap().build();
        let lookup = KeyLookup::new(ApiKeysTable::new(dynamodb(&config), "keys"), None);
        let record = record();
        let mut context = RequestContext::from_request(&Request::new(Body::Empty));
        let (hash, read_at) = (KeyHash::of("k"), context.received_at);
        lookup.with_cache(|cache| cache.insert(hash, Some(record.clone()), read_at));
        for (seconds, is_unavailable) in [(59, false), (61, true)] {
            context.received_at = read_at.plus(Duration::from_secs(seconds));
            assert_eq!(lookup.find(hash, &mut context).await.unwrap(), Some(record.clone()));
            assert_eq!(context.key_table_is_unavailable, is_unavailable, "after {seconds} s");
        }
    }
}

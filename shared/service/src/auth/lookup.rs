//! Looking up a key in the sources that [`durations`](super::durations) lists (docs/outages.md, The
//! key snapshot).
//! This module must not know what a key may do.

use std::pin::pin;
use std::sync::Arc;

use aws::deadline::Deadline;
use futures_util::future::{Either, select};
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::error::StoreError;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::Authenticator;
use super::cache::{CacheAnswer, CacheSlot, LookupResult};
use super::durations::{SLOW_TABLE_ENTRY_TTL, SNAPSHOT_TIMEOUT, TABLE_HEAD_START, TABLE_TIMEOUT};
use super::knowledge::TableState;
use super::snapshot::NewestResult;
use super::table_lookup::{Found, TableLookup};
use crate::context::RequestContext;

impl Authenticator {
    /// Looks up a key that cannot exist, so that the TCP and TLS connections are set up while the
    /// process starts. Reads the snapshot if the table does not answer in time. A failure does not
    /// stop the process. `now` is the time of day.
    pub async fn warm_up(&self, now: Timestamp) {
        let unknown = KeyHash::from_key("");
        let snapshot = &self.snapshot;
        let deadline = Deadline::after(TABLE_TIMEOUT);
        let mut lookup = self.start_table_lookup(unknown, now, deadline);
        let reading = Deadline::after(TABLE_HEAD_START + SNAPSHOT_TIMEOUT);
        if let Ok(found) = timeout(TABLE_HEAD_START, &mut lookup.found).await {
            warn_if_failed(&found);
            if found.is_err() {
                snapshot.current(now, reading).await;
            }
            return;
        }
        self.knowledge
            .note(lookup.state(), now.plus(TABLE_HEAD_START));
        let read = pin!(snapshot.current(now, reading));
        let answer = match select(read, &mut lookup.found).await {
            Either::Left(_) => None,
            Either::Right((found, read)) => {
                if found.is_err() {
                    read.await;
                }
                Some(found)
            }
        };
        match answer {
            Some(Ok(_)) => self.knowledge.forget_trouble(),
            Some(found) => warn_if_failed(&found),
            None => {
                let late_answer = async move { warn_if_failed(&lookup.found.await) };
                tokio::spawn(late_answer);
            }
        }
    }

    /// Finds the entry of a key in the cache, in the table or in the snapshot.
    pub(super) async fn find(&self, hash: KeyHash, context: &mut RequestContext) -> Found {
        let now = context.received_at;
        let answer = self.knowledge.with_cache(|cache| cache.get(&hash, now));
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
        self.ask_table_or_snapshot(hash, stale.as_ref(), context)
            .await
    }

    /// Asks the table and, if the table does not answer in time, the snapshot once. If the snapshot
    /// does not know the key, the table has the rest of the time. If the table answers while the
    /// snapshot is read, its answer counts, unless it is known that the key was revoked.
    async fn ask_table_or_snapshot(
        &self,
        hash: KeyHash,
        stale: Option<&LookupResult>,
        context: &mut RequestContext,
    ) -> Found {
        let snapshot = &self.snapshot;
        let received_at = context.received_at;
        let started = Instant::now();
        let now = || received_at.plus(started.elapsed());
        let deadline = context.deadline.at_most(TABLE_TIMEOUT);
        let mut lookup = self.start_table_lookup(hash, received_at, deadline);
        let mut table_state = self.knowledge.table_state(received_at);
        let mut failure = None;
        if table_state == TableState::Answers {
            match timeout(TABLE_HEAD_START, &mut lookup.found).await {
                Ok(Ok(found)) => return Ok(self.keep(hash, found, received_at)),
                Ok(Err(error)) => {
                    failure = Some(error);
                    table_state = TableState::IsUnavailable;
                }
                Err(_) => {
                    table_state = lookup.state();
                    self.knowledge.note(table_state, now());
                }
            }
        }
        let newest = pin!(snapshot.newest_result(hash, stale, now(), context.deadline));
        let newest = if table_state == TableState::IsSlow {
            match select(newest, &mut lookup.found).await {
                Either::Left((newest, _)) => newest,
                Either::Right((Ok(found), _)) => {
                    let known = snapshot.newest_in_memory(hash, stale, now());
                    let Some(revoked) = known.filter(|known| known.result.is_revoked()) else {
                        return Ok(self.keep(hash, found, received_at));
                    };
                    let entry = revoked.result.entry.clone();
                    self.use_without_table(hash, revoked, now(), false);
                    return Ok(entry);
                }
                Either::Right((Err(error), newest)) => {
                    failure = Some(error);
                    newest.await
                }
            }
        } else {
            newest.await
        };
        let Some(newest) = newest else {
            let found = match failure {
                Some(error) => Err(error),
                None => lookup.found.await,
            };
            return found.map(|found| self.keep(hash, found, received_at));
        };
        let entry = newest.result.entry.clone();
        let is_unavailable = table_state == TableState::IsUnavailable || failure.is_some();
        context.key_table_fault = failure.as_ref().and_then(StoreError::own_fault);
        if context.key_table_fault.is_some() {
            // Not cached: each request shows that it goes on, and the first one that it is mended.
            context.key_table_is_unavailable = true;
            return Ok(entry);
        }
        self.use_without_table(hash, newest, now(), is_unavailable);
        if is_unavailable {
            context.key_table_is_unavailable = true;
        } else {
            context.slow_key_table = Some(lookup.has_failed.clone());
            self.await_late_answer(hash, lookup, received_at);
        }
        Ok(entry)
    }

    /// Adds to the cache what the snapshot decides about a key.
    fn use_without_table(
        &self,
        hash: KeyHash,
        newest: NewestResult,
        now: Timestamp,
        key_table_is_unavailable: bool,
    ) {
        let NewestResult { result, used_until } = newest;
        let fresh_until = if key_table_is_unavailable {
            used_until
        } else {
            now.plus(SLOW_TABLE_ENTRY_TTL)
        };
        let slot = CacheSlot {
            result,
            fresh_until,
            key_table_is_unavailable,
        };
        self.knowledge
            .with_cache(|cache| cache.insert_without_table(hash, slot, now));
    }

    /// Lets the table go on after the snapshot has decided. Its answer counts from then on.
    fn await_late_answer(&self, hash: KeyHash, lookup: TableLookup, received_at: Timestamp) {
        let knowledge = Arc::clone(&self.knowledge);
        let late_answer = async move {
            if let Ok(found) = lookup.found.await {
                knowledge.with_cache(|cache| cache.insert_late(hash, found, received_at));
            }
        };
        tokio::spawn(late_answer.in_current_span());
    }

    /// Adds what the table answered to the cache.
    fn keep(
        &self,
        hash: KeyHash,
        found: Option<Arc<KeyEntry>>,
        received_at: Timestamp,
    ) -> Option<Arc<KeyEntry>> {
        self.knowledge
            .with_cache(|cache| cache.insert(hash, found.clone(), received_at));
        found
    }

    fn start_table_lookup(
        &self,
        hash: KeyHash,
        received_at: Timestamp,
        deadline: Deadline,
    ) -> TableLookup {
        let knowledge = Arc::clone(&self.knowledge);
        TableLookup::start(self.table.clone(), knowledge, hash, received_at, deadline)
    }
}

fn warn_if_failed(found: &Found) {
    if let Err(error) = found {
        tracing::warn!(%error, "the key table could not be read at the start");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws::dynamodb::{UNRESPONSIVE_TIMEOUT, dynamodb};
    use aws::sdk_config::{connector, defaults};
    use aws::variables::Variables;
    use lambda_http::{Body, Context, Request, RequestExt as _};
    use store::api_keys::ApiKeysTable;

    use super::*;
    use crate::auth::tests::unreachable_bucket;
    use crate::telemetry::log::Log;

    fn authenticator() -> Authenticator {
        // Without a region and credentials, every call fails.
        let connector = connector(&Variables::default(), UNRESPONSIVE_TIMEOUT).unwrap();
        let config = defaults(connector).build();
        let table = ApiKeysTable::new(dynamodb(&config), "keys");
        Authenticator::new(table, unreachable_bucket())
    }

    fn entry() -> Arc<KeyEntry> {
        Arc::new(KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: None,
            revoked_at: None,
            only: None,
        })
    }

    #[tokio::test]
    async fn use_of_a_stale_entry_says_that_the_table_is_unavailable() {
        let (authenticator, entry) = (authenticator(), entry());
        let mut context = RequestContext::from_request(
            &Request::new(Body::Empty).with_lambda_context(Context::default()),
            Timestamp::now(),
            Log::new("test", |_| {}),
        );
        let (hash, inserted_at) = (KeyHash::from_key("k"), context.received_at);
        authenticator.keep(hash, Some(entry.clone()), inserted_at);
        for (seconds, is_unavailable) in [(59, false), (61, true)] {
            context.received_at = inserted_at.plus(Duration::from_secs(seconds));
            assert_eq!(
                authenticator.find(hash, &mut context).await.unwrap(),
                Some(entry.clone())
            );
            assert_eq!(
                context.key_table_is_unavailable, is_unavailable,
                "after {seconds} s"
            );
        }
    }

    #[test]
    fn entry_of_the_snapshot_is_fresh_for_five_seconds_when_the_table_is_only_slow() {
        let authenticator = authenticator();
        let (hash, now) = (KeyHash::from_key("k"), Timestamp::from_millis(0));
        let newest = NewestResult {
            result: LookupResult {
                entry: Some(entry()),
                as_of: now,
            },
            used_until: now.plus(Duration::from_mins(1)),
        };
        authenticator.use_without_table(hash, newest, now, false);
        for (millis, is_fresh) in [(4_999, true), (5_000, false)] {
            let at = now.plus(Duration::from_millis(millis));
            let answer = authenticator
                .knowledge
                .with_cache(|cache| cache.get(&hash, at));
            let found_fresh = matches!(answer, CacheAnswer::Fresh { .. });
            assert_eq!(found_fresh, is_fresh, "after {millis} ms");
        }
    }
}

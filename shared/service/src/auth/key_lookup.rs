//! The look-up of a key (docs/outages.md, The key snapshot): in which order the sources are asked, and
//! what is remembered of their responses.
//!
//! 1. The cache ([`cache`](super::cache)). A fresh entry ends the look-up.
//! 2. The key table ([`table_reader`](super::table_reader)), alone for `TABLE_HEAD_START`. For some seconds
//!    after a look-up without a response of the table, this step is left out. A table that refuses a call has
//!    responded, so each request asks it again.
//! 3. The key snapshot ([`snapshot_reader`](super::snapshot_reader)), beside a stale entry of the cache. A slow table may
//!    still respond while the snapshot is read.
//! 4. If no other source knows the key: the key table again, until the key look-up's part of
//!    [`RequestBudget`] is over.
//!
//! This module must not know which response counts: [`decision`](super::decision) does. The whole look-up is tested in
//! `tests/simulator/tests/scripted/key_lookup`.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::retry::MAX_REQUEST_DURATION;
use tracing::Instrument as _;

use super::cache::{CacheResult, LookupResult};
use super::decision::{Decision, KnownKey, Reason, Responses, decide};
use super::table_reader::{Found, NoResponse, TableLookup, TableResponse};
use super::{Authenticator, lock};
use crate::budget::RequestBudget;
use crate::context::{KeyTableHealth, RequestContext};

impl Authenticator {
    /// Asks for a key that cannot exist, so that the TCP and TLS connections are set up while the
    /// process starts, and the snapshot is read if the table does not respond in time. A failure does
    /// not stop the process. `now` is the time of day.
    pub async fn warm_up(&self, now: Timestamp) {
        let unknown = KeyHash::from_key("");
        let budget = RequestBudget::of(MAX_REQUEST_DURATION);
        let mut lookup = self.table.start_lookup(unknown, now, budget.key_lookup());
        let responses = self.ask(&mut lookup, None).await;
        match responses.table {
            // It may have been late because of the handshake.
            TableResponse::Found(_) => self.table.forget_missing_response(),
            TableResponse::Failed(error) => warn_of_failure(&Err(error)),
            TableResponse::NotYet(_) => {
                let late_response = async move { warn_of_failure(&lookup.response.await) };
                tokio::spawn(late_response);
            }
        }
    }

    /// Finds the entry of a key in the cache, in the table or in the snapshot.
    pub(super) async fn find(&self, hash: KeyHash, context: &mut RequestContext) -> Found {
        let received_at = context.received_at;
        let cached = lock(&self.cache).get(&hash, received_at);
        let stale = match cached {
            CacheResult::Fresh {
                entry,
                key_table_is_unavailable,
            } => {
                if key_table_is_unavailable {
                    context.key_table = KeyTableHealth::Unavailable(None);
                }
                return Ok(entry);
            }
            CacheResult::Stale(result) => Some(result),
            CacheResult::Miss => None,
        };
        let deadline = context.budget.key_lookup();
        let mut lookup = self.table.start_lookup(hash, received_at, deadline);
        let responses = self.ask(&mut lookup, stale.as_ref()).await;
        match decide(responses) {
            Decision::Table(found) => self.remember(hash, found, received_at),
            Decision::AwaitTable => self.remember(hash, lookup.response.await, received_at),
            Decision::WithoutTable(known, reason) => {
                let entry = self.use_without_table(lookup, known, reason, context);
                Ok(Some(entry))
            }
        }
    }

    /// Asks the table and, if it does not respond in time, the snapshot.
    async fn ask(&self, lookup: &mut TableLookup, stale: Option<&LookupResult>) -> Responses {
        let table = self.table.response_in_time(lookup).await;
        match table {
            TableResponse::Found(_) => Responses { table, known: None },
            TableResponse::NotYet(NoResponse::Slow) => self.ask_beside_table(lookup, stale).await,
            TableResponse::NotYet(NoResponse::Unavailable) | TableResponse::Failed(_) => {
                let reading = self.snapshot.current(lookup.now(), lookup.deadline);
                let known = reading.await.newest(lookup.hash, stale);
                Responses { table, known }
            }
        }
    }

    /// Asks the snapshot while the table may still respond. If the table responds first, the snapshot in memory
    /// counts: it may have a revocation.
    async fn ask_beside_table(
        &self,
        lookup: &mut TableLookup,
        stale: Option<&LookupResult>,
    ) -> Responses {
        let hash = lookup.hash;
        let reading = pin!(self.snapshot.current(lookup.now(), lookup.deadline));
        match select(reading, &mut lookup.response).await {
            Either::Left((snapshot, _)) => Responses {
                table: TableResponse::NotYet(NoResponse::Slow),
                known: snapshot.newest(hash, stale),
            },
            Either::Right((Ok(entry), _)) => Responses {
                table: TableResponse::Found(entry),
                known: self.snapshot.in_memory(lookup.now()).newest(hash, stale),
            },
            Either::Right((Err(error), reading)) => Responses {
                table: TableResponse::Failed(error),
                known: reading.await.newest(hash, stale),
            },
        }
    }

    /// Adds the table's response to the cache.
    fn remember(&self, hash: KeyHash, found: Found, received_at: Timestamp) -> Found {
        let entry = found?;
        lock(&self.cache).insert(hash, entry.clone(), received_at);
        Ok(entry)
    }

    /// Adds what another source knows of a key to the cache, and to the context. The look-up in
    /// a slow table may continue after the request: its response counts for later requests.
    fn use_without_table(
        &self,
        lookup: TableLookup,
        known: KnownKey,
        reason: Reason,
        context: &mut RequestContext,
    ) -> Arc<KeyEntry> {
        let now = lookup.now();
        if let Some(slot) = known.cache_slot(reason, now) {
            lock(&self.cache).insert_without_table(lookup.hash, slot, now);
        }
        match reason {
            Reason::Revoked => {}
            Reason::TableIsSlow => {
                context.key_table = KeyTableHealth::Slow(Arc::clone(&lookup.has_failed));
                self.await_late_response(lookup);
            }
            Reason::TableIsUnavailable => {
                context.key_table = KeyTableHealth::Unavailable(None);
            }
            Reason::TableRefuses(fault) => {
                context.key_table = KeyTableHealth::Unavailable(Some(fault));
            }
        }
        known.entry
    }

    fn await_late_response(&self, lookup: TableLookup) {
        let cache = Arc::clone(&self.cache);
        let late_response = async move {
            if let Ok(entry) = lookup.response.await {
                lock(&cache).insert_late(lookup.hash, entry, lookup.received_at);
            }
        };
        tokio::spawn(late_response.in_current_span());
    }
}

fn warn_of_failure(found: &Found) {
    if let Err(error) = found {
        tracing::warn!(%error, "the key table could not be read at the start");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lambda_http::{Body, Context, Request, RequestExt as _};

    use super::*;
    use crate::auth::failing_sources::{failing_table, unreachable_bucket};
    use crate::telemetry::log::Log;

    #[tokio::test]
    async fn use_of_a_stale_entry_says_that_the_table_is_unavailable() {
        let authenticator = Authenticator::new(failing_table(), unreachable_bucket());
        let entry = Some(Arc::new(KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: None,
            revoked_at: None,
            only: None,
        }));
        let mut context = RequestContext::from_request(
            &Request::new(Body::Empty).with_lambda_context(Context::default()),
            Timestamp::now(),
            Log::new("test", |_| {}),
        );
        let (hash, read_at) = (KeyHash::from_key("k"), context.received_at);
        let remembered = authenticator.remember(hash, Ok(entry.clone()), read_at);
        assert_eq!(remembered, Ok(entry.clone()));
        for (seconds, is_unavailable) in [(59, false), (61, true)] {
            context.received_at = read_at.plus(Duration::from_secs(seconds));
            let found = authenticator.find(hash, &mut context).await;
            assert_eq!(found, Ok(entry.clone()));
            let was_unavailable = context.was_key_table_unavailable();
            assert_eq!(was_unavailable, is_unavailable, "after {seconds} s");
        }
    }
}

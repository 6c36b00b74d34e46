//! Decides which record of a key counts, and how long it is cached, from the responses of the sources
//! (docs/outages.md, The key snapshot).
//!
//! This module must not know how a source is asked.

use std::sync::Arc;
use std::time::Duration;

use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::error::OwnFault;

use super::cache::{CacheSlot, LookupResult};
use super::table_reader::{Found, NoResponse, TableResponse};

/// How long a record of another source is used when the table was only slow.
const SLOW_TABLE_ENTRY_TTL: Duration = Duration::from_secs(5);

/// What the sources know about a key.
#[derive(Clone, Debug)]
pub(super) struct Responses {
    pub(super) table: TableResponse,
    /// The newest record of the snapshot and the cache. `None` if neither has the key, or if the table
    /// responded before the snapshot was read.
    pub(super) known: Option<KnownKey>,
}

/// A key in the snapshot or, too old to be used without a look-up, in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownKey {
    pub(super) entry: Arc<KeyEntry>,
    as_of: Timestamp,
    /// When the snapshot is read again.
    used_until: Timestamp,
}

/// What a look-up does with the responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The response of the table counts.
    Table(Found),
    /// The look-up waits for the table, and its response counts: no other source knows the key.
    AwaitTable,
    /// The record of another source counts.
    WithoutTable(KnownKey, Reason),
}

/// Why a record counts that is not the table's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It says that the key was revoked, and the table does not.
    Revoked,
    /// The table may still respond.
    TableIsSlow,
    TableIsUnavailable,
    /// The table refuses to be read, because of a fault of this service.
    TableRefuses(OwnFault),
}

/// Decides which record counts.
pub(super) fn decide(responses: Responses) -> Decision {
    let Responses { table, known } = responses;
    let Some(known) = known else {
        return match table {
            TableResponse::Found(entry) => Decision::Table(Ok(entry)),
            TableResponse::Failed(error) => Decision::Table(Err(error)),
            TableResponse::NotYet(_) => Decision::AwaitTable,
        };
    };
    let reason = match table {
        TableResponse::Found(entry) if known.entry.revoked_at.is_none() => {
            return Decision::Table(Ok(entry));
        }
        TableResponse::Found(_) => Reason::Revoked,
        TableResponse::Failed(error) => match error.own_fault() {
            Some(fault) => Reason::TableRefuses(fault),
            None => Reason::TableIsUnavailable,
        },
        TableResponse::NotYet(NoResponse::Slow) => Reason::TableIsSlow,
        TableResponse::NotYet(NoResponse::Unavailable) => Reason::TableIsUnavailable,
    };
    Decision::WithoutTable(known, reason)
}

/// The newer one of two results for a key, if it has an entry. A revoked entry in either counts,
/// even if it is the older one. The snapshot is used until `used_until`.
pub(super) fn newest(
    of_snapshot: Option<&LookupResult>,
    stale: Option<&LookupResult>,
    used_until: Timestamp,
) -> Option<KnownKey> {
    let both = [of_snapshot, stale];
    let revoked = both
        .into_iter()
        .flatten()
        .find(|result| result.is_revoked());
    // `Last-Modified` is cut to seconds. In the same second, the snapshot decides.
    let is_newer = |stale: &LookupResult, of_snapshot: &LookupResult| {
        stale.as_of >= of_snapshot.as_of.plus(Duration::from_secs(1))
    };
    let newer = match (of_snapshot, stale) {
        (Some(of_snapshot), Some(stale)) if is_newer(stale, of_snapshot) => stale,
        (Some(of_snapshot), _) => of_snapshot,
        (None, stale) => stale?,
    };
    let counts = revoked.unwrap_or(newer);
    Some(KnownKey {
        entry: counts.entry.clone()?,
        as_of: counts.as_of,
        used_until,
    })
}

impl KnownKey {
    /// What the cache holds of the key after a look-up that ended at `now`. `None` if it holds nothing,
    /// so that each request asks the table.
    pub(super) fn cache_slot(&self, reason: Reason, now: Timestamp) -> Option<CacheSlot> {
        let fresh_until = match reason {
            Reason::Revoked | Reason::TableIsSlow => now.plus(SLOW_TABLE_ENTRY_TTL),
            Reason::TableIsUnavailable => self.used_until,
            // Each request asks the table, so the first one after the repair uses it.
            Reason::TableRefuses(_) => return None,
        };
        Some(CacheSlot {
            result: LookupResult {
                entry: Some(Arc::clone(&self.entry)),
                as_of: self.as_of,
            },
            fresh_until,
            key_table_is_unavailable: reason == Reason::TableIsUnavailable,
        })
    }
}

#[cfg(test)]
mod tests {
    use aws::call_error::CallError;
    use store::error::StoreError;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_213_000_009);
    const USED_UNTIL: Timestamp = Timestamp::from_millis(1_795_213_060_009);

    fn entry(name: &str) -> Arc<KeyEntry> {
        Arc::new(KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: name.into(),
            created_at: Timestamp::from_millis(0),
            expires_at: None,
            revoked_at: None,
            only: None,
        })
    }

    fn revoked(name: &str) -> Arc<KeyEntry> {
        Arc::new(KeyEntry {
            revoked_at: Some(NOW),
            ..(*entry(name)).clone()
        })
    }

    fn known(entry: Arc<KeyEntry>) -> KnownKey {
        KnownKey {
            entry,
            as_of: NOW,
            used_until: USED_UNTIL,
        }
    }

    #[test]
    fn response_of_the_table_counts_unless_it_fails_or_another_source_knows_of_a_revocation() {
        let of_table = Some(entry("of the table"));
        let throttled = StoreError::from(CallError::Throttled);
        let denied = StoreError::from(CallError::AccessDenied);
        let valid = known(entry("of the snapshot"));
        let revoked = known(revoked("of the snapshot"));
        let without_table = |reason| Decision::WithoutTable(valid.clone(), reason);
        let revocation = |reason| Decision::WithoutTable(revoked.clone(), reason);
        let refuses = Reason::TableRefuses(OwnFault::Access);
        let cases = [
            (
                TableResponse::Found(of_table.clone()),
                [
                    Decision::Table(Ok(of_table.clone())),
                    Decision::Table(Ok(of_table)),
                    revocation(Reason::Revoked),
                ],
            ),
            (
                TableResponse::Found(None),
                [
                    Decision::Table(Ok(None)),
                    Decision::Table(Ok(None)),
                    revocation(Reason::Revoked),
                ],
            ),
            (
                TableResponse::Failed(throttled.clone()),
                [
                    Decision::Table(Err(throttled)),
                    without_table(Reason::TableIsUnavailable),
                    revocation(Reason::TableIsUnavailable),
                ],
            ),
            (
                TableResponse::Failed(StoreError::Corrupt),
                [
                    Decision::Table(Err(StoreError::Corrupt)),
                    without_table(Reason::TableIsUnavailable),
                    revocation(Reason::TableIsUnavailable),
                ],
            ),
            (
                TableResponse::Failed(denied.clone()),
                [
                    Decision::Table(Err(denied)),
                    without_table(refuses),
                    revocation(refuses),
                ],
            ),
            (
                TableResponse::NotYet(NoResponse::Slow),
                [
                    Decision::AwaitTable,
                    without_table(Reason::TableIsSlow),
                    revocation(Reason::TableIsSlow),
                ],
            ),
            (
                TableResponse::NotYet(NoResponse::Unavailable),
                [
                    Decision::AwaitTable,
                    without_table(Reason::TableIsUnavailable),
                    revocation(Reason::TableIsUnavailable),
                ],
            ),
        ];
        for (table, expected) in cases {
            for (known, expected) in [None, Some(&valid), Some(&revoked)]
                .into_iter()
                .zip(expected)
            {
                let responses = Responses {
                    table: table.clone(),
                    known: known.cloned(),
                };
                assert_eq!(decide(responses), expected, "{table:?}, {known:?}");
            }
        }
    }

    #[test]
    fn newer_record_counts_and_a_revocation_in_either() {
        let result = |entry, seconds| LookupResult {
            entry,
            as_of: NOW.plus(Duration::from_secs(seconds)),
        };
        let snapshot = |seconds| result(Some(entry("of the snapshot")), seconds);
        let stale = |seconds| result(Some(entry("stale")), seconds);
        let unknown = |seconds| result(None, seconds);
        let revoked = |seconds| result(Some(revoked("revoked")), seconds);
        let cases = [
            (None, None, None),
            (Some(snapshot(0)), None, Some("of the snapshot")),
            (None, Some(stale(0)), Some("stale")),
            (Some(unknown(0)), None, None),
            (None, Some(unknown(0)), None),
            (Some(snapshot(0)), Some(stale(0)), Some("of the snapshot")),
            (Some(snapshot(0)), Some(stale(1)), Some("stale")),
            (Some(snapshot(1)), Some(stale(0)), Some("of the snapshot")),
            (Some(snapshot(0)), Some(unknown(1)), None),
            (Some(unknown(1)), Some(stale(0)), None),
            (Some(revoked(0)), Some(stale(1)), Some("revoked")),
            (Some(snapshot(1)), Some(revoked(0)), Some("revoked")),
            (Some(revoked(0)), Some(unknown(1)), Some("revoked")),
            (Some(unknown(1)), Some(revoked(0)), Some("revoked")),
        ];
        for (snapshot, stale, expected) in cases {
            let newest = newest(snapshot.as_ref(), stale.as_ref(), USED_UNTIL);
            let name = newest.as_ref().map(|known| known.entry.name.as_str());
            assert_eq!(name, expected, "{snapshot:?}, {stale:?}");
        }
    }

    #[test]
    fn record_of_another_source_is_cached_as_long_as_the_reason_says() {
        let for_five_seconds = Some((NOW.plus(Duration::from_secs(5)), false));
        let cases = [
            (Reason::Revoked, for_five_seconds),
            (Reason::TableIsSlow, for_five_seconds),
            (Reason::TableIsUnavailable, Some((USED_UNTIL, true))),
            (Reason::TableRefuses(OwnFault::Access), None),
        ];
        for (reason, expected) in cases {
            let slot = known(entry("of the snapshot")).cache_slot(reason, NOW);
            let cached = slot.map(|slot| (slot.fresh_until, slot.key_table_is_unavailable));
            assert_eq!(cached, expected, "{reason:?}");
        }
    }
}

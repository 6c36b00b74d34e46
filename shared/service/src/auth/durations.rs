//! How long an API key is looked up, and how long the answer counts (docs/outages.md, The key
//! snapshot).
//!
//! A look-up asks its sources in this order, and the first that knows the key decides:
//!
//! 1. the cache, while its entry is fresh: for `VALID_KEY_CACHE_TTL` (in `model`), [`NEGATIVE_TTL`],
//!    [`SLOW_TABLE_ENTRY_TTL`] or, of a failing table, until the snapshot is read again. A table that
//!    refuses the call answers at once, and is asked again by each request;
//! 2. the key table, alone for [`TABLE_HEAD_START`], unless it has not answered in the last
//!    [`SNAPSHOT_FIRST_PERIOD`];
//! 3. the key snapshot, for [`SNAPSHOT_TIMEOUT`], with the stale entry of the cache;
//! 4. the key table again, until [`TABLE_TIMEOUT`] is over.

use std::time::Duration;

/// How long the table is asked before the snapshot is read. It is chosen so that an answer of
/// DynamoDB, which takes tens of milliseconds, comes before its end, and that a new process of an
/// outage does not wait long.
pub(super) const TABLE_HEAD_START: Duration = Duration::from_millis(350);

/// After how long a silent table counts as unavailable.
pub(super) const TABLE_SILENCE: Duration = Duration::from_secs(1);

/// How long the table may take for its answer in all: longer than the throttling that a table
/// recovers from by itself.
pub(super) const TABLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long look-ups ask the snapshot before the table, after a look-up that the table did not
/// answer. Otherwise each look-up of an outage would wait for the table.
pub(super) const SNAPSHOT_FIRST_PERIOD: Duration = Duration::from_secs(5);

/// How long an invalid key is rejected without another look-up.
pub(super) const NEGATIVE_TTL: Duration = Duration::from_secs(10);

/// How long an entry of the snapshot is used when the table was only slow.
pub(super) const SLOW_TABLE_ENTRY_TTL: Duration = Duration::from_secs(5);

/// How long a snapshot is used before it is read again.
pub(super) const SNAPSHOT_REFRESH_AFTER: Duration = Duration::from_mins(1);

/// How long look-ups use the snapshot in memory, and wait for no read, after a read that failed or
/// did not end in time.
pub(super) const SNAPSHOT_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// How long one look-up waits for the snapshot.
pub(super) const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long reading the snapshot may take.
pub(super) const SNAPSHOT_READ_TIMEOUT: Duration = Duration::from_secs(20);

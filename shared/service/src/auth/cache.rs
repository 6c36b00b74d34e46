//! Look-ups of API keys, cached: of a valid key for a minute, of an invalid one for ten seconds, each in a bounded map.
//!
//! There are two maps, so that a flood of invalid keys cannot evict valid ones.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use store::api_keys::KeyRecord;

/// How long a valid key is used without another look-up. A revocation takes effect within this time.
pub(crate) const POSITIVE_TTL: Duration = Duration::from_mins(1);

/// How long an invalid key is rejected without another look-up.
pub(crate) const NEGATIVE_TTL: Duration = Duration::from_secs(10);

/// How old a look-up may be to be used while the key table cannot be read (RFC 5861, section 4).
pub(crate) const STALE_IF_ERROR: Duration = Duration::from_mins(15);

/// How long the key table is not asked again after a failed look-up for which a stale one was used: otherwise every request
/// of an outage would wait for the table.
pub(crate) const REVALIDATE_AFTER: Duration = Duration::from_secs(5);

/// Valid keys in the cache: more than one execution environment sees in a minute.
const MAX_VALID_KEYS: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// Invalid keys in the cache: about a megabyte.
const MAX_INVALID_KEYS: NonZeroUsize = NonZeroUsize::new(8_192).unwrap();

/// What the cache has of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CachedKey {
    /// A recent look-up found it. The key may have expired since.
    Fresh(Arc<KeyRecord>),
    /// A recent look-up found it invalid.
    Invalid,
    /// An older look-up found it: usable only while the table cannot be read.
    Stale(Arc<KeyRecord>),
    /// Nothing.
    Miss,
}

#[derive(Debug)]
struct ValidKey {
    record: Arc<KeyRecord>,
    read_at: Timestamp,
    revalidate_at: Timestamp,
}

/// The two maps.
#[derive(Debug)]
pub(crate) struct Cache {
    valid: LruCache<KeyHash, ValidKey>,
    invalid: LruCache<KeyHash, Timestamp>,
}

impl Default for Cache {
    fn default() -> Self {
        // The maps grow with their keys: allocating them whole would slow every cold start.
        let (mut valid, mut invalid) = (LruCache::unbounded(), LruCache::unbounded());
        valid.resize(MAX_VALID_KEYS);
        invalid.resize(MAX_INVALID_KEYS);
        Self { valid, invalid }
    }
}

impl Cache {
    pub(crate) fn get(&mut self, hash: &KeyHash, now: Timestamp) -> CachedKey {
        if let Some(key) = self.valid.get(hash) {
            if now < key.revalidate_at {
                return CachedKey::Fresh(key.record.clone());
            }
            if now.duration_since(key.read_at) < STALE_IF_ERROR {
                return CachedKey::Stale(key.record.clone());
            }
            self.valid.pop(hash);
        }
        match self.invalid.get(hash) {
            Some(read_at) if now.duration_since(*read_at) < NEGATIVE_TTL => CachedKey::Invalid,
            _ => CachedKey::Miss,
        }
    }

    pub(crate) fn insert_valid(&mut self, hash: KeyHash, record: Arc<KeyRecord>, now: Timestamp) {
        self.invalid.pop(&hash);
        self.valid.put(hash, ValidKey { record, read_at: now, revalidate_at: now.plus(POSITIVE_TTL) });
    }

    pub(crate) fn insert_invalid(&mut self, hash: KeyHash, now: Timestamp) {
        self.valid.pop(&hash);
        self.invalid.put(hash, now);
    }

    /// Uses a stale look-up for a while longer, but never beyond [`STALE_IF_ERROR`].
    pub(crate) fn extend_stale(&mut self, hash: &KeyHash, now: Timestamp) {
        if let Some(key) = self.valid.get_mut(hash) {
            key.revalidate_at = now.plus(REVALIDATE_AFTER).min(key.read_at.plus(STALE_IF_ERROR));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Arc<KeyRecord> {
        Arc::new(KeyRecord {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: None,
            revoked_at: None,
        })
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn valid_key_is_fresh_for_a_minute_and_stale_for_fifteen() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.insert_valid(hash, record(), at(0));
        assert_eq!(cache.get(&hash, at(59)), CachedKey::Fresh(record()));
        assert_eq!(cache.get(&hash, at(60)), CachedKey::Stale(record()));
        assert_eq!(cache.get(&hash, at(899)), CachedKey::Stale(record()));
        assert_eq!(cache.get(&hash, at(900)), CachedKey::Miss);
    }

    #[test]
    fn invalid_key_is_cached_for_ten_seconds() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.insert_invalid(hash, at(0));
        assert_eq!(cache.get(&hash, at(9)), CachedKey::Invalid);
        assert_eq!(cache.get(&hash, at(10)), CachedKey::Miss);
    }

    #[test]
    fn stale_key_is_extended_but_never_beyond_fifteen_minutes() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.insert_valid(hash, record(), at(0));
        cache.extend_stale(&hash, at(100));
        assert_eq!(cache.get(&hash, at(104)), CachedKey::Fresh(record()));
        assert_eq!(cache.get(&hash, at(105)), CachedKey::Stale(record()));
        cache.extend_stale(&hash, at(898));
        assert_eq!(cache.get(&hash, at(899)), CachedKey::Fresh(record()));
        assert_eq!(cache.get(&hash, at(900)), CachedKey::Miss);
    }

    #[test]
    fn flood_of_invalid_keys_is_bounded_and_evicts_no_valid_key() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("valid"));
        cache.insert_valid(hash, record(), at(0));
        for invalid in 0..20_000_u32 {
            cache.insert_invalid(KeyHash::of(invalid.to_be_bytes()), at(1));
        }
        assert_eq!(cache.invalid.len(), MAX_INVALID_KEYS.get());
        assert_eq!(cache.get(&hash, at(2)), CachedKey::Fresh(record()));
    }

    #[test]
    fn later_invalid_look_up_replaces_a_valid_one() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.insert_valid(hash, record(), at(0));
        cache.insert_invalid(hash, at(61));
        assert_eq!(cache.get(&hash, at(62)), CachedKey::Invalid);
    }
}

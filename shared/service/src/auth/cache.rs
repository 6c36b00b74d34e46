//! Look-ups of API keys, cached: of a valid key for a minute, of an invalid one for ten seconds,
//! each in a bounded map.
//!
//! There are two maps, so that a flood of invalid keys cannot evict valid ones.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::api_keys::VALID_KEY_CACHE_TTL;

/// How long an invalid key is rejected without another look-up.
const NEGATIVE_TTL: Duration = Duration::from_secs(10);

/// Valid keys in the cache: more than one execution environment sees in a minute.
const MAX_VALID_KEYS: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// Invalid keys in the cache: about a megabyte.
const MAX_INVALID_KEYS: NonZeroUsize = NonZeroUsize::new(8_192).unwrap();

/// What the cache has of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CacheResult {
    /// It is used without a look-up. A valid key may have expired since.
    Fresh {
        /// `None` for an unknown key.
        entry: Option<Arc<KeyEntry>>,
        /// Whether the key table could not be read, so that the entry is of the snapshot or an
        /// older one.
        key_table_is_unavailable: bool,
    },
    /// It is too old for that: it is used only while the table cannot be read.
    Stale(LookupResult),
    /// The key was not looked up, or was evicted.
    Miss,
}

/// What the table or the snapshot had of a key, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LookupResult {
    /// `None` for an unknown key.
    pub(crate) entry: Option<Arc<KeyEntry>>,
    pub(crate) as_of: Timestamp,
}

impl LookupResult {
    /// Whether the key was revoked. Such a result counts whatever another source says later.
    pub(crate) fn is_revoked(&self) -> bool {
        let entry = self.entry.as_ref();
        entry.is_some_and(|entry| entry.revoked_at.is_some())
    }
}

/// What the cache holds of one key.
#[derive(Debug)]
pub(crate) struct CacheSlot {
    pub(crate) result: LookupResult,
    /// When the slot becomes stale.
    pub(crate) fresh_until: Timestamp,
    pub(crate) key_table_is_unavailable: bool,
}

#[derive(Debug)]
pub(crate) struct Cache {
    valid: LruCache<KeyHash, CacheSlot>,
    /// Unknown, expired and revoked keys.
    invalid: LruCache<KeyHash, CacheSlot>,
}

impl Default for Cache {
    fn default() -> Self {
        // The maps grow with their keys: allocating them whole would slow every cold start.
        let mut valid = LruCache::unbounded();
        valid.resize(MAX_VALID_KEYS);
        let mut invalid = LruCache::unbounded();
        invalid.resize(MAX_INVALID_KEYS);
        Self { valid, invalid }
    }
}

impl Cache {
    pub(crate) fn get(&mut self, hash: &KeyHash, now: Timestamp) -> CacheResult {
        match self.valid.get(hash).or_else(|| self.invalid.get(hash)) {
            Some(slot) if now < slot.fresh_until => CacheResult::Fresh {
                entry: slot.result.entry.clone(),
                key_table_is_unavailable: slot.key_table_is_unavailable,
            },
            Some(slot) => CacheResult::Stale(slot.result.clone()),
            None => CacheResult::Miss,
        }
    }

    /// Adds the table's late result of a look-up of `now`, which another source has decided since. A revocation
    /// stays, even if only the key snapshot has it.
    pub(crate) fn insert_late(
        &mut self,
        hash: KeyHash,
        entry: Option<Arc<KeyEntry>>,
        now: Timestamp,
    ) {
        let earlier = self.invalid.peek(&hash);
        if !earlier.is_some_and(|slot| slot.result.is_revoked()) {
            self.insert(hash, entry, now);
        }
    }

    /// Adds the table's result of `now`.
    pub(crate) fn insert(&mut self, hash: KeyHash, entry: Option<Arc<KeyEntry>>, now: Timestamp) {
        let is_valid = entry.as_ref().is_some_and(|entry| entry.is_active(now));
        let ttl = if is_valid {
            VALID_KEY_CACHE_TTL
        } else {
            NEGATIVE_TTL
        };
        let slot = CacheSlot {
            result: LookupResult { entry, as_of: now },
            fresh_until: now.plus(ttl),
            key_table_is_unavailable: false,
        };
        self.put(hash, slot, is_valid);
    }

    /// Adds what is used at `now` because the table has not responded.
    pub(crate) fn insert_without_table(&mut self, hash: KeyHash, slot: CacheSlot, now: Timestamp) {
        let entry = slot.result.entry.as_ref();
        let is_valid = entry.is_some_and(|entry| entry.is_active(now));
        self.put(hash, slot, is_valid);
    }

    fn put(&mut self, hash: KeyHash, slot: CacheSlot, is_valid: bool) {
        self.valid.pop(&hash);
        self.invalid.pop(&hash);
        let map = if is_valid {
            &mut self.valid
        } else {
            &mut self.invalid
        };
        map.put(hash, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_213_000_009);

    fn valid_key() -> KeyEntry {
        KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: NOW,
            expires_at: None,
            revoked_at: None,
            only: None,
        }
    }

    #[test]
    fn flood_of_invalid_keys_evicts_the_oldest_of_them_and_no_valid_one() {
        let mut cache = Cache::default();
        let valid = KeyHash::from_key("valid");
        cache.insert(valid, Some(Arc::new(valid_key())), NOW);
        let invalid = |n: usize| KeyHash::from_key(n.to_string());
        let limit = MAX_INVALID_KEYS.get();
        for n in 0..2 * limit {
            cache.insert(invalid(n), None, NOW);
        }
        assert_eq!(cache.invalid.len(), limit);
        assert!(matches!(cache.get(&valid, NOW), CacheResult::Fresh { .. }));
        assert_eq!(cache.get(&invalid(limit - 1), NOW), CacheResult::Miss);
        assert!(matches!(
            cache.get(&invalid(limit), NOW),
            CacheResult::Fresh { .. }
        ));
    }

    #[test]
    fn flood_of_valid_keys_is_bounded_too() {
        let mut cache = Cache::default();
        let entry = Arc::new(valid_key());
        for n in 0..2 * MAX_VALID_KEYS.get() {
            let hash = KeyHash::from_key(n.to_string());
            cache.insert(hash, Some(entry.clone()), NOW);
        }
        assert_eq!(cache.valid.len(), MAX_VALID_KEYS.get());
    }

    #[test]
    fn late_response_of_the_table_replaces_an_entry_of_the_snapshot_unless_that_is_revoked() {
        let revoked = KeyEntry {
            revoked_at: Some(NOW),
            ..valid_key()
        };
        let cases = [
            (valid_key(), None, None),
            (valid_key(), Some(revoked.clone()), Some(revoked.clone())),
            (revoked.clone(), Some(valid_key()), Some(revoked)),
        ];
        for (of_snapshot, of_table, expected) in cases {
            let mut cache = Cache::default();
            let hash = KeyHash::from_key("k");
            let slot = CacheSlot {
                result: LookupResult {
                    entry: Some(Arc::new(of_snapshot)),
                    as_of: NOW,
                },
                fresh_until: NOW.plus(Duration::from_secs(5)),
                key_table_is_unavailable: false,
            };
            cache.insert_without_table(hash, slot, NOW);
            cache.insert_late(hash, of_table.map(Arc::new), NOW);
            let fresh = CacheResult::Fresh {
                entry: expected.map(Arc::new),
                key_table_is_unavailable: false,
            };
            assert_eq!(cache.get(&hash, NOW), fresh);
        }
    }

    #[test]
    fn key_that_is_found_revoked_is_no_longer_a_valid_one() {
        let mut cache = Cache::default();
        let hash = KeyHash::from_key("k");
        cache.insert(hash, Some(Arc::new(valid_key())), NOW);
        let revoked = Arc::new(KeyEntry {
            revoked_at: Some(NOW),
            ..valid_key()
        });
        let later = NOW.plus(VALID_KEY_CACHE_TTL);
        cache.insert(hash, Some(revoked.clone()), later);
        assert_eq!(
            cache.get(&hash, later),
            CacheResult::Fresh {
                entry: Some(revoked),
                key_table_is_unavailable: false,
            }
        );
    }
}

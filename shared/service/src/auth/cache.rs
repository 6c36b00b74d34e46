//! What is remembered of keys: yes for a minute, no for ten seconds, each in a bounded map (SPEC 2.7).
//!
//! Two maps, so that a flood of wrong keys cannot push out the right ones.

use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;

use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use store::api_keys::KeyRecord;

/// How long a yes holds without asking again: as long as a revocation takes.
pub(crate) const YES_HOLDS: Duration = Duration::from_mins(1);

/// How long a no holds without asking again.
pub(crate) const NO_HOLDS: Duration = Duration::from_secs(10);

/// How old a yes may be to stand in while the key table cannot be read.
pub(crate) const FALLBACK_HOLDS: Duration = Duration::from_mins(15);

/// How long the key table is left alone after it could not be read, where there is a fallback: otherwise every request
/// of an outage would wait for it.
pub(crate) const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Keys remembered with a yes: more than one function instance sees in a minute.
const YES_ENTRIES: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// Keys remembered with a no: about a megabyte.
const NO_ENTRIES: NonZeroUsize = NonZeroUsize::new(8_192).unwrap();

/// What is remembered of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was found lately. Whether it has expired since is for the asker to see.
    Yes(KeyRecord),
    /// It was found to open nothing lately.
    No,
    /// It was found some while ago: good enough only while the table cannot be read.
    Formerly(KeyRecord),
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
struct Yes {
    record: KeyRecord,
    read_at: Timestamp,
    ask_again_at: Timestamp,
}

/// The two maps.
#[derive(Debug)]
pub(crate) struct Cache {
    yes: LruCache<KeyHash, Yes>,
    no: LruCache<KeyHash, Timestamp>,
}

impl Default for Cache {
    fn default() -> Self {
        // Grown as keys come, not ahead.
        let (mut yes, mut no) = (LruCache::unbounded(), LruCache::unbounded());
        yes.resize(YES_ENTRIES);
        no.resize(NO_ENTRIES);
        Self { yes, no }
    }
}

impl Cache {
    pub(crate) fn look_up(&mut self, hash: &KeyHash, now: Timestamp) -> Known {
        if let Some(yes) = self.yes.get(hash) {
            if now < yes.ask_again_at {
                return Known::Yes(yes.record.clone());
            }
            if now.since(yes.read_at) < FALLBACK_HOLDS {
                return Known::Formerly(yes.record.clone());
            }
            self.yes.pop(hash);
        }
        match self.no.get(hash) {
            Some(read_at) if now.since(*read_at) < NO_HOLDS => Known::No,
            _ => Known::Nothing,
        }
    }

    pub(crate) fn remember_yes(&mut self, hash: KeyHash, record: KeyRecord, now: Timestamp) {
        self.no.pop(&hash);
        self.yes.put(hash, Yes { record, read_at: now, ask_again_at: now.after(YES_HOLDS) });
    }

    pub(crate) fn remember_no(&mut self, hash: KeyHash, now: Timestamp) {
        self.yes.pop(&hash);
        self.no.put(hash, now);
    }

    /// Leaves the table alone for a while, but never beyond what the fallback holds.
    pub(crate) fn postpone(&mut self, hash: &KeyHash, now: Timestamp) {
        if let Some(yes) = self.yes.get_mut(hash) {
            yes.ask_again_at = now.after(ASK_AGAIN_AFTER).min(yes.read_at.after(FALLBACK_HOLDS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> KeyRecord {
        KeyRecord {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: None,
            revoked_at: None,
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0).after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_yes_holds_a_minute_and_falls_back_for_fifteen() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.remember_yes(hash, record(), at(0));
        assert_eq!(cache.look_up(&hash, at(59)), Known::Yes(record()));
        assert_eq!(cache.look_up(&hash, at(60)), Known::Formerly(record()));
        assert_eq!(cache.look_up(&hash, at(899)), Known::Formerly(record()));
        assert_eq!(cache.look_up(&hash, at(900)), Known::Nothing);
    }

    #[test]
    fn a_no_holds_ten_seconds() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.remember_no(hash, at(0));
        assert_eq!(cache.look_up(&hash, at(9)), Known::No);
        assert_eq!(cache.look_up(&hash, at(10)), Known::Nothing);
    }

    #[test]
    fn an_unreadable_table_is_left_alone_for_a_while_but_not_beyond_the_fallback() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.remember_yes(hash, record(), at(0));
        cache.postpone(&hash, at(100));
        assert_eq!(cache.look_up(&hash, at(104)), Known::Yes(record()));
        assert_eq!(cache.look_up(&hash, at(105)), Known::Formerly(record()));
        cache.postpone(&hash, at(898));
        assert_eq!(cache.look_up(&hash, at(899)), Known::Yes(record()));
        assert_eq!(cache.look_up(&hash, at(900)), Known::Nothing);
    }

    #[test]
    fn a_flood_of_wrong_keys_is_bounded_and_leaves_the_right_ones() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("right"));
        cache.remember_yes(hash, record(), at(0));
        for wrong in 0..20_000_u32 {
            cache.remember_no(KeyHash::of(wrong.to_be_bytes()), at(1));
        }
        assert_eq!(cache.no.len(), NO_ENTRIES.get());
        assert_eq!(cache.look_up(&hash, at(2)), Known::Yes(record()));
    }

    #[test]
    fn a_later_no_takes_back_a_yes() {
        let (mut cache, hash) = (Cache::default(), KeyHash::of("k"));
        cache.remember_yes(hash, record(), at(0));
        cache.remember_no(hash, at(61));
        assert_eq!(cache.look_up(&hash, at(62)), Known::No);
    }
}

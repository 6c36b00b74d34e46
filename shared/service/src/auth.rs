//! Whose a request is: from the Authorization header to an account (SPEC 2.7).
//!
//! It says "no" apart from "cannot tell". It reads no meaning into a key, never compares one (keys are found by their
//! hash), and has no way of printing one. It knows nothing of routes and bodies.

mod cache;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lambda_http::http::HeaderMap;
use lambda_http::http::header::AUTHORIZATION;
use model::account::AccountId;
use model::api_key::KeyHash;
use model::deadline::Deadline;
use store::StoreError;
use store::api_keys::{ApiKeysTable, KeyRecord};

use crate::auth::cache::{Cache, CachedKey};
use crate::invocation::Invocation;

/// How long the key table may take when there is an older yes to fall back on.
const STALE_LOOKUP_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long the key table may take otherwise: longer than the throttling that a table recovers from by itself.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the key table may take at the start of the process.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(4);

/// Whose request it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whose data it may touch.
    pub account_id: AccountId,
    /// By which key, for the log.
    pub key_id: String,
}

/// Why nobody knows whose request it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It is nobody's: no, an ill-formed, an unknown, an expired or a revoked key.
    No {
        /// Whether a key was sent at all.
        key_sent: bool,
    },
    /// The key table cannot be read.
    CannotTell(StoreError),
}

/// Tells whose requests are, and remembers it for a while.
#[derive(Debug)]
pub struct Authenticator {
    keys: ApiKeysTable,
    cache: Mutex<Cache>,
}

impl Authenticator {
    /// An authenticator that remembers nothing yet.
    #[must_use]
    pub fn new(keys: ApiKeysTable) -> Self {
        Self { keys, cache: Mutex::default() }
    }

    /// Asks for a key that nobody has, for the sake of the asking: the connection to DynamoDB and its handshake then
    /// belong to the start of the process, which nobody waits for as they do for an answer. Whether it works makes no
    /// difference.
    pub async fn warm_up(&self) {
        let nobody = KeyHash::of("");
        if let Err(error) = self.keys.find(&nobody, Deadline::after(WARM_UP_TIMEOUT)).await {
            tracing::warn!(%error, "the key table could not be read at the start");
        }
    }

    /// Whose request it is that has these headers.
    ///
    /// # Errors
    /// [`Denied`], which says whether that is a no.
    pub async fn authenticate(&self, headers: &HeaderMap, invocation: &Invocation) -> Result<Caller, Denied> {
        let hash = bearer(headers).map_err(|key_sent| Denied::No { key_sent })?;
        let now = invocation.received_at;
        let no = Denied::No { key_sent: true };
        let known = self.with_cache(|cache| cache.get(&hash, now));
        let deadline = match &known {
            CachedKey::Fresh(record) => return record.is_active(now).then(|| Caller::of(record)).ok_or(no),
            CachedKey::Invalid => return Err(no),
            CachedKey::Stale(_) => invocation.deadline.min(STALE_LOOKUP_TIMEOUT),
            CachedKey::Miss => invocation.deadline.min(LOOKUP_TIMEOUT),
        };
        match (self.keys.find(&hash, deadline).await, known) {
            (Ok(Some(record)), _) if record.is_active(now) => {
                let caller = Caller::of(&record);
                self.with_cache(|cache| cache.insert_valid(hash, record, now));
                Ok(caller)
            }
            (Ok(_), _) => {
                self.with_cache(|cache| cache.insert_invalid(hash, now));
                Err(no)
            }
            (Err(_), CachedKey::Stale(record)) => {
                self.with_cache(|cache| cache.extend_stale(&hash, now));
                record.is_active(now).then(|| Caller::of(&record)).ok_or(no)
            }
            (Err(error), _) => Err(Denied::CannotTell(error)),
        }
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        // Nothing in the cache panics half-way, so what a poisoned lock guards is whole.
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Caller {
    fn of(record: &KeyRecord) -> Self {
        Self { account_id: record.account_id.clone(), key_id: record.key_id.clone() }
    }
}

/// The hash of the key in `Authorization: Bearer <key>` (RFC 6750, section 2.1), or whether one was sent at all.
fn bearer(headers: &HeaderMap) -> Result<KeyHash, bool> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(false)?.as_bytes();
    let (scheme, key) = value.split_at_checked("Bearer ".len()).ok_or(false)?;
    let key = key.trim_ascii();
    if !scheme.eq_ignore_ascii_case(b"Bearer ") || key.is_empty() {
        return Err(false);
    }
    // Visible ASCII and one header: anything else can be no key, and need not be looked for.
    let well_formed = key.iter().all(u8::is_ascii_graphic) && values.next().is_none();
    if well_formed { Ok(KeyHash::of(key)) } else { Err(true) }
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;

    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap())).collect()
    }

    #[test]
    fn a_key_follows_the_word_bearer_in_any_case() {
        for value in ["Bearer k", "bearer k", "BEARER  k "] {
            assert_eq!(bearer(&headers(&[value])), Ok(KeyHash::of("k")), "{value}");
        }
    }

    #[test]
    fn whether_a_key_was_sent_is_told_apart() {
        for none in [vec![], vec![""], vec!["Bearer"], vec!["Bearer "], vec!["Basic a2V5"], vec!["k"]] {
            assert_eq!(bearer(&headers(&none)), Err(false), "{none:?}");
        }
        for ill_formed in
            [vec!["Bearer a b"], vec!["Bearer a,Bearer b"], vec!["Bearer a", "Bearer b"], vec!["Bearer ä"]]
        {
            assert_eq!(bearer(&headers(&ill_formed)), Err(true), "{ill_formed:?}");
        }
    }
}

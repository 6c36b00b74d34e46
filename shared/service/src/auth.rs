//! Authentication: from the Authorization header to the record of an API key (docs/api.md, API keys).
//!
//! A key is found by its hash: it is never compared, interpreted or printed. An invalid key and an unreadable key table are
//! different errors. This module must not know routes and bodies.

mod cache;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lambda_http::http::HeaderMap;
use lambda_http::http::header::AUTHORIZATION;
use model::api_key::KeyHash;
use model::deadline::Deadline;
use store::api_keys::{ApiKeysTable, KeyRecord};
use store::error::StoreError;

use crate::auth::cache::{Cache, CachedKey};
use crate::context::RequestContext;

/// How long the look-up of a key may take when there is a stale one in the cache.
const STALE_LOOKUP_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long the look-up of a key may take otherwise: longer than the throttling that a table recovers from by itself.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the look-up at the start of the process may take.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(4);

/// Why authentication failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The request has no API key.
    #[error("no API key")]
    MissingKey,
    /// The API key is malformed, unknown, expired or revoked.
    #[error("invalid API key")]
    InvalidKey,
    /// The key table cannot be read.
    #[error(transparent)]
    Unavailable(#[from] StoreError),
}

/// Authenticates requests and caches the look-ups.
#[derive(Debug)]
pub struct Authenticator {
    keys: ApiKeysTable,
    cache: Mutex<Cache>,
}

impl Authenticator {
    /// An authenticator with an empty cache.
    pub fn new(keys: ApiKeysTable) -> Self {
        Self { keys, cache: Mutex::default() }
    }

    /// Looks up a key that cannot exist, so that TCP and TLS set-up happen during init. A failure changes nothing.
    pub async fn warm_up(&self) {
        let unknown = KeyHash::of("");
        if let Err(error) = self.keys.find(&unknown, Deadline::after(WARM_UP_TIMEOUT)).await {
            tracing::warn!(%error, "the key table could not be read at the start");
        }
    }

    /// Authenticates the request with these headers.
    ///
    /// # Errors
    /// [`AuthError`]
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        context: &mut RequestContext,
    ) -> Result<Arc<KeyRecord>, AuthError> {
        let hash = bearer_key(headers)?;
        let record = self.find(hash, context).await?;
        if !record.is_active(context.received_at) {
            return Err(AuthError::InvalidKey);
        }
        context.key = Some(record.clone());
        Ok(record)
    }

    /// The record of a key, which may have expired since it was cached.
    async fn find(&self, hash: KeyHash, context: &RequestContext) -> Result<Arc<KeyRecord>, AuthError> {
        let now = context.received_at;
        let cached = self.with_cache(|cache| cache.get(&hash, now));
        let timeout = match &cached {
            CachedKey::Fresh(record) => return Ok(record.clone()),
            CachedKey::Invalid => return Err(AuthError::InvalidKey),
            CachedKey::Stale(_) => STALE_LOOKUP_TIMEOUT,
            CachedKey::Miss => LOOKUP_TIMEOUT,
        };
        match (self.keys.find(&hash, context.deadline.min(timeout)).await, cached) {
            (Ok(Some(record)), _) if record.is_active(now) => {
                let record = Arc::new(record);
                self.with_cache(|cache| cache.insert_valid(hash, record.clone(), now));
                Ok(record)
            }
            (Ok(_), _) => {
                self.with_cache(|cache| cache.insert_invalid(hash, now));
                Err(AuthError::InvalidKey)
            }
            (Err(_), CachedKey::Stale(record)) => {
                self.with_cache(|cache| cache.extend_stale(&hash, now));
                Ok(record)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        // No method of the cache panics half-way, so the cache behind a poisoned lock is intact.
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The hash of the key in `Authorization: Bearer <key>` (RFC 6750, section 2.1).
fn bearer_key(headers: &HeaderMap) -> Result<KeyHash, AuthError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(AuthError::MissingKey)?.as_bytes();
    let (scheme, key) = value.split_at_checked("Bearer ".len()).ok_or(AuthError::MissingKey)?;
    let key = key.trim_ascii();
    if !scheme.eq_ignore_ascii_case(b"Bearer ") || key.is_empty() {
        return Err(AuthError::MissingKey);
    }
    // A key is visible ASCII, in one header: anything else needs no look-up.
    let is_well_formed = key.iter().all(u8::is_ascii_graphic) && values.next().is_none();
    if is_well_formed { Ok(KeyHash::of(key)) } else { Err(AuthError::InvalidKey) }
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;

    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap())).collect()
    }

    #[test]
    fn key_follows_the_bearer_scheme_in_any_case() {
        for value in ["Bearer k", "bearer k", "BEARER  k "] {
            assert_eq!(bearer_key(&headers(&[value])), Ok(KeyHash::of("k")), "{value}");
        }
    }

    #[test]
    fn missing_and_malformed_keys_are_different_errors() {
        for missing in [vec![], vec![""], vec!["Bearer"], vec!["Bearer "], vec!["Basic a2V5"], vec!["k"]] {
            assert_eq!(bearer_key(&headers(&missing)), Err(AuthError::MissingKey), "{missing:?}");
        }
        for malformed in [vec!["Bearer a b"], vec!["Bearer a,Bearer b"], vec!["Bearer a", "Bearer b"], vec!["Bearer ä"]]
        {
            assert_eq!(bearer_key(&headers(&malformed)), Err(AuthError::InvalidKey), "{malformed:?}");
        }
    }
}

//! Authentication: from the Authorization header to the record of an API key (docs/api.md, API keys).
//!
//! A key is found by its hash: it is never compared, interpreted or printed. An invalid key and an unreadable key table are
//! different errors. This module must not know routes and bodies.

mod cache;
mod lookup;
mod snapshot;

use std::sync::Arc;

use lambda_http::http::HeaderMap;
use lambda_http::http::header::AUTHORIZATION;
use model::api_key::{Endpoint, KeyHash};
use store::api_keys::{ApiKeysTable, KeyRecord, KeyStatus};
use store::environment::{self, optional_env_var};
use store::error::StoreError;
use store::key_snapshot::BUCKET_VARIABLE;
use store::s3::Bucket;

use self::lookup::KeyLookup;
use crate::config::ConfigError;
use crate::context::RequestContext;

/// Why a request may not do what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The request has no valid API key.
    #[error("no valid API key: {}", .0.as_str())]
    Unauthorized(UnauthorizedReason),
    /// The API key is restricted to another endpoint.
    #[error("the API key is restricted to another endpoint")]
    Forbidden,
    /// The key table cannot be read.
    #[error(transparent)]
    Unavailable(#[from] StoreError),
}

/// Why a request has no valid API key. The log says it and the response does not (docs/api.md, Errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnauthorizedReason {
    /// No `Authorization: Bearer <key>`.
    Missing,
    /// Not one word of visible ASCII.
    Malformed,
    /// Not in the key table.
    Unknown,
    /// Its end has passed.
    Expired,
    /// It was revoked.
    Revoked,
}

impl UnauthorizedReason {
    /// As the log shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Expired => KeyStatus::Expired.as_str(),
            Self::Revoked => KeyStatus::Revoked.as_str(),
        }
    }
}

impl From<UnauthorizedReason> for AuthError {
    fn from(reason: UnauthorizedReason) -> Self {
        Self::Unauthorized(reason)
    }
}

/// Checks that the key may be used for `endpoint`.
///
/// # Errors
/// [`AuthError::Forbidden`]
pub fn authorize(key: &KeyRecord, endpoint: Endpoint) -> Result<(), AuthError> {
    if key.only.is_none_or(|only| only == endpoint) { Ok(()) } else { Err(AuthError::Forbidden) }
}

/// Authenticates requests and caches the look-ups.
#[derive(Debug)]
pub struct Authenticator(KeyLookup);

impl Authenticator {
    /// An authenticator with the bucket of the key snapshot that the environment variables name, if they do.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_environment(keys: ApiKeysTable) -> Result<Self, ConfigError> {
        let connection = |name| Ok::<_, ConfigError>(Bucket::new(name, environment::s3()?));
        Ok(Self::new(keys, optional_env_var(BUCKET_VARIABLE).map(connection).transpose()?))
    }

    /// An authenticator with an empty cache. The key snapshot is in this bucket, if there is one.
    pub fn new(keys: ApiKeysTable, snapshot: Option<Bucket>) -> Self {
        Self(KeyLookup::new(keys, snapshot))
    }

    /// Prepares for the first request: connections, and the key snapshot if the key table does not answer. A failure changes
    /// nothing.
    pub async fn warm_up(&self) {
        self.0.warm_up().await;
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
        let found = self.0.find(hash, context).await?;
        let record = found.filter(|record| hash.is_accepted_for(&record.account_id));
        let record = record.ok_or(UnauthorizedReason::Unknown)?;
        // The log names the key also when it is no longer valid.
        context.key = Some(record.clone());
        match record.status(context.received_at) {
            KeyStatus::Active => Ok(record),
            KeyStatus::Expired => Err(UnauthorizedReason::Expired.into()),
            KeyStatus::Revoked => Err(UnauthorizedReason::Revoked.into()),
        }
    }
}

/// The hash of the key in `Authorization: Bearer <key>` (RFC 6750, section 2.1).
fn bearer_key(headers: &HeaderMap) -> Result<KeyHash, UnauthorizedReason> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(UnauthorizedReason::Missing)?.as_bytes();
    let (scheme, key) = value.split_at_checked("Bearer ".len()).ok_or(UnauthorizedReason::Missing)?;
    let key = key.trim_ascii();
    if !scheme.eq_ignore_ascii_case(b"Bearer ") || key.is_empty() {
        return Err(UnauthorizedReason::Missing);
    }
    // A key is visible ASCII, in one header: anything else needs no look-up.
    let is_well_formed = key.iter().all(u8::is_ascii_graphic) && values.next().is_none();
    if is_well_formed { Ok(KeyHash::of(key)) } else { Err(UnauthorizedReason::Malformed) }
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
            assert_eq!(bearer_key(&headers(&missing)), Err(UnauthorizedReason::Missing), "{missing:?}");
        }
        for malformed in [vec!["Bearer a b"], vec!["Bearer a,Bearer b"], vec!["Bearer a", "Bearer b"], vec!["Bearer ä"]]
        {
            assert_eq!(bearer_key(&headers(&malformed)), Err(UnauthorizedReason::Malformed), "{malformed:?}");
        }
    }
}

//! Authentication: from the Authorization header to the entry of an API key (docs/api.md, API
//! keys).
//!
//! A key is found by its hash: it is never compared, interpreted or printed. An invalid key and an
//! unreadable key table are different errors. This module must not know routes and bodies.

mod cache;
mod durations;
mod knowledge;
mod lookup;
mod snapshot;
mod table_lookup;

use std::sync::Arc;

use aws::s3::Bucket;
use aws::sdk_config;
use aws::variables::{ConfigError, Variables};
use lambda_http::http::HeaderMap;
use lambda_http::http::header::AUTHORIZATION;
use model::api_key::{Endpoint, KeyHash};
use model::key_entry::{KeyEntry, KeyStatus};
use store::api_keys::ApiKeysTable;
use store::key_snapshot::BUCKET_VARIABLE;

use self::knowledge::Knowledge;
use self::snapshot::SnapshotReader;
use crate::context::RequestContext;
use crate::problem::{Problem, UnauthorizedReason};

/// Checks that the key may be used for `endpoint`.
///
/// # Errors
/// [`Problem::Forbidden`]
pub fn authorize(key: &KeyEntry, endpoint: Endpoint) -> Result<(), Problem> {
    if key.only.is_none_or(|only| only == endpoint) {
        Ok(())
    } else {
        Err(Problem::Forbidden)
    }
}

/// Authenticates requests by the entries of their API keys.
#[derive(Debug)]
pub struct Authenticator {
    table: ApiKeysTable,
    snapshot: Option<SnapshotReader>,
    /// Shared with look-ups that go on after their request.
    knowledge: Arc<Knowledge>,
}

impl Authenticator {
    /// An authenticator with the bucket of the key snapshot that the variables name, if they do. The
    /// bucket has connections of its own: those to DynamoDB are abandoned when one of them does not
    /// answer, and S3 may be slower.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_variables(table: ApiKeysTable, variables: &Variables) -> Result<Self, ConfigError> {
        let snapshot = match variables.optional(BUCKET_VARIABLE) {
            Some(bucket) => {
                let connector = sdk_config::connector(variables)?;
                let connection = sdk_config::s3(variables, &connector)?;
                Some(Bucket::new(bucket, connection))
            }
            None => None,
        };
        Ok(Self::new(table, snapshot))
    }

    /// An authenticator with an empty cache. The key snapshot is in this bucket, if there is one.
    pub fn new(table: ApiKeysTable, snapshot: Option<Bucket>) -> Self {
        Self {
            table,
            snapshot: snapshot.map(SnapshotReader::new),
            knowledge: Arc::default(),
        }
    }

    /// Authenticates the request with these headers.
    ///
    /// # Errors
    /// [`Problem::Unauthorized`]; [`Problem::StorageUnavailable`] when the key cannot be checked,
    /// for any reason.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        context: &mut RequestContext,
    ) -> Result<Arc<KeyEntry>, Problem> {
        let hash = bearer_key(headers).map_err(Problem::Unauthorized)?;
        let unavailable = |error| Problem::StorageUnavailable {
            error,
            retry_identifier: None,
        };
        let found = self.find(hash, context).await.map_err(unavailable)?;
        let entry = found.filter(|entry| hash.is_accepted_for(&entry.account_id));
        let entry = entry.ok_or(Problem::Unauthorized(UnauthorizedReason::Unknown))?;
        // The log names the key also when it is no longer valid.
        context.key = Some(entry.clone());
        match entry.status(context.received_at) {
            KeyStatus::Active => Ok(entry),
            KeyStatus::Expired => Err(Problem::Unauthorized(UnauthorizedReason::Expired)),
            KeyStatus::Revoked => Err(Problem::Unauthorized(UnauthorizedReason::Revoked)),
        }
    }
}

/// The hash of the key in `Authorization: Bearer <key>` (RFC 6750, section 2.1).
fn bearer_key(headers: &HeaderMap) -> Result<KeyHash, UnauthorizedReason> {
    let value = headers
        .get(AUTHORIZATION)
        .ok_or(UnauthorizedReason::Missing)?
        .as_bytes();
    let (scheme, key) = value
        .split_at_checked("Bearer ".len())
        .ok_or(UnauthorizedReason::Missing)?;
    let key = key.trim_ascii();
    if !scheme.eq_ignore_ascii_case(b"Bearer ") || key.is_empty() {
        return Err(UnauthorizedReason::Missing);
    }
    // A key is visible ASCII: anything else needs no look-up.
    if key.iter().all(u8::is_ascii_graphic) {
        Ok(KeyHash::from_key(key))
    } else {
        Err(UnauthorizedReason::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;

    use super::*;

    fn key_of(value: &str) -> Result<KeyHash, UnauthorizedReason> {
        bearer_key(&HeaderMap::from_iter([(
            AUTHORIZATION,
            HeaderValue::from_str(value).unwrap(),
        )]))
    }

    #[test]
    fn key_follows_the_bearer_scheme_in_any_case() {
        for value in ["Bearer k", "bearer k", "BEARER  k "] {
            assert_eq!(key_of(value), Ok(KeyHash::from_key("k")), "{value}");
        }
    }

    #[test]
    fn missing_and_malformed_keys_are_different_errors() {
        assert_eq!(
            bearer_key(&HeaderMap::new()),
            Err(UnauthorizedReason::Missing)
        );
        for missing in ["", "Bearer", "Bearer ", "Basic a2V5", "k"] {
            assert_eq!(
                key_of(missing),
                Err(UnauthorizedReason::Missing),
                "{missing}"
            );
        }
        for malformed in ["Bearer a b", "Bearer a,Bearer b", "Bearer ä"] {
            assert_eq!(
                key_of(malformed),
                Err(UnauthorizedReason::Malformed),
                "{malformed}"
            );
        }
    }
}

//! Authentication: from the Authorization header to the entry of an API key (docs/api.md, API
//! keys).
//!
//! A key is found by its hash: it is never compared, interpreted or printed. An invalid key and an
//! unreadable key table are different errors. This module must not know routes and bodies.

mod cache;
mod credentials;
mod decision;
mod key_lookup;
mod snapshot_reader;
mod table_reader;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws::connectors::Connectors;
use aws::s3::Bucket;
use aws::sdk_config;
use aws::variables::{ConfigError, Variables};
use lambda_http::http::HeaderMap;
use model::api_key::Endpoint;
use model::key_entry::{KeyEntry, KeyStatus};
use store::api_keys::ApiKeysTable;
use store::error::UnstoredReason;
use store::key_snapshot::BUCKET_VARIABLE;

use self::cache::Cache;
use self::credentials::Credentials;
use self::snapshot_reader::SnapshotReader;
use self::table_reader::TableReader;
use crate::context::RequestContext;
use crate::problem::{Problem, Unauthorized, UnauthorizedReason};

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
    /// Shared with look-ups that go on after their request.
    cache: Arc<Mutex<Cache>>,
    table: TableReader,
    snapshot: SnapshotReader,
}

impl Authenticator {
    /// An authenticator with the bucket of the key snapshot that the variables name.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn from_variables(
        table: ApiKeysTable,
        variables: &Variables,
        connectors: &Connectors,
    ) -> Result<Self, ConfigError> {
        let bucket = variables.required(BUCKET_VARIABLE)?;
        let connection = sdk_config::s3(variables, &connectors.s3)?;
        Ok(Self::new(table, Bucket::new(bucket, connection)))
    }

    /// An authenticator with an empty cache, and the bucket of the key snapshot.
    pub fn new(table: ApiKeysTable, snapshot: Bucket) -> Self {
        Self {
            cache: Arc::default(),
            table: TableReader::new(table),
            snapshot: SnapshotReader::new(snapshot),
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
        let credentials = Credentials::read(headers).map_err(|fault| {
            Problem::Unauthorized(Unauthorized {
                reason: fault.reason(),
                fault: Some(fault),
            })
        })?;
        // The same response for every invalid key, so that it does not reveal which keys exist.
        let refused = |reason| {
            Problem::Unauthorized(Unauthorized {
                reason,
                fault: credentials.probable_fault(),
            })
        };
        let hash = credentials.hash();
        let unavailable = |error| Problem::StorageUnavailable {
            reason: UnstoredReason::Store(error),
            retry_identifier: None,
        };
        let found = self.find(hash, context).await.map_err(unavailable)?;
        let entry = found.filter(|entry| hash.is_accepted_for(&entry.account_id));
        let entry = entry.ok_or_else(|| refused(UnauthorizedReason::Unknown))?;
        // The log names the key also when it is no longer valid.
        context.key = Some(entry.clone());
        match entry.status(context.received_at) {
            KeyStatus::Active => Ok(entry),
            KeyStatus::Expired => Err(refused(UnauthorizedReason::Expired)),
            KeyStatus::Revoked => Err(refused(UnauthorizedReason::Revoked)),
        }
    }
}

// Nothing panics half-way while it holds a lock, so what is behind a poisoned one is intact.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod failing_sources {
    use aws::dynamodb::{UNRESPONSIVE_TIMEOUT, dynamodb};
    use aws::s3;
    use aws::sdk_config::{connector, defaults};

    use super::*;

    /// A key table whose calls all fail, because it has no region and no credentials.
    pub(crate) fn failing_table() -> ApiKeysTable {
        let connector = connector(&Variables::default(), UNRESPONSIVE_TIMEOUT).unwrap();
        let config = defaults(connector).build();
        ApiKeysTable::new(dynamodb(&config), "keys")
    }

    /// A bucket in an S3 that cannot be reached.
    pub(crate) fn unreachable_bucket() -> Bucket {
        let variables = [
            ("AWS_REGION", "local"),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = Variables::from_iter(variables);
        let connector = connector(&variables, s3::UNRESPONSIVE_TIMEOUT).unwrap();
        Bucket::new("keys", sdk_config::s3(&variables, &connector).unwrap())
    }
}

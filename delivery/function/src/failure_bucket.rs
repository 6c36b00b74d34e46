//! The bucket for records that cannot be delivered. Must not know why one cannot.
//!
//! A request that is not answered is not tried again: Lambda delivers its record again.

use store::deadline::Deadline;
use store::environment;
use store::environment::ConfigError;
use store::s3::{Bucket, Replaces, S3Error};

use crate::clients::{ATTEMPT_TIMEOUT, Cause};

/// The bucket.
#[derive(Debug)]
pub(crate) struct FailureBucket(Bucket);

impl FailureBucket {
    /// The bucket with this name.
    pub(crate) fn from_environment(name: String) -> Result<Self, ConfigError> {
        Ok(Self(Bucket::new(name, environment::s3()?)))
    }

    /// The URL of an object, as tools of AWS take it.
    pub(crate) fn s3_url(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.0.name())
    }

    /// Writes an object, whose key consists of unreserved characters and slashes.
    pub(crate) async fn put(&self, key: &str, body: String, deadline: Deadline) -> Result<(), Cause> {
        let deadline = deadline.at_most(ATTEMPT_TIMEOUT);
        let put = self.0.put(key, body.into_bytes(), "application/json", Replaces::Anything, deadline).await;
        put.map_err(|error| match error {
            S3Error::Unavailable(cause) => cause.into(),
            error => Cause::Bucket(error),
        })
    }
}

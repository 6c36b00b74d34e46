//! Where events go, as the environment variables say, and the bucket for records that cannot be delivered. Must not know what is
//! sent there, in which order, or why a record cannot be delivered.

use store::deadline::Deadline;
use store::environment::{self, ConfigError, env_var, optional_env_var};
use store::s3::{Bucket, Replaces, S3Error};

use crate::bus::Bus;
use crate::clients::{ATTEMPT_TIMEOUT, Cause};
use crate::lake::Lake;

/// The variables of the targets, for the error when both are missing.
const TARGETS: &str = "EVENT_BUS_NAME or DELIVERY_STREAM_NAME";

/// The targets, of which one may be missing, and the bucket for what cannot be delivered.
#[derive(Debug)]
pub(crate) struct Targets {
    pub(crate) bus: Option<Bus>,
    pub(crate) lake: Option<Lake>,
    /// Whether the lake gets the events that it can have: by this function, or by another.
    pub(crate) has_lake: bool,
    pub(crate) failures: FailureBucket,
}

impl Targets {
    /// The targets that the environment variables name.
    ///
    /// # Errors
    /// When both targets or the failure bucket are missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub(crate) fn from_environment() -> Result<Self, ConfigError> {
        let failures = FailureBucket(Bucket::new(env_var("FAILURE_BUCKET_NAME")?, environment::s3()?));
        let (bus, lake) = (optional_env_var("EVENT_BUS_NAME"), optional_env_var("DELIVERY_STREAM_NAME"));
        if bus.is_none() && lake.is_none() {
            return Err(ConfigError::Missing(TARGETS));
        }
        let (bus, lake) = (bus.map(Bus::from_environment).transpose()?, lake.map(Lake::from_environment).transpose()?);
        let has_lake = lake.is_some() || optional_env_var("LAKE_BUCKET_NAME").is_some();
        Ok(Self { bus, lake, has_lake, failures })
    }
}

/// The bucket for records that cannot be delivered. A request that fails is not repeated: Lambda delivers its record again.
#[derive(Debug)]
pub(crate) struct FailureBucket(Bucket);

impl FailureBucket {
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

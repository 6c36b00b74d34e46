//! Where events go, as the environment variables say, and the bucket for records that cannot be
//! delivered. Must not know what is sent there, in which order, or why a record cannot be
//! delivered.

use aws::environment::{self, ConfigError, env_var, optional_env_var};
use aws::s3::Bucket;

use crate::bus::Bus;
use crate::lake::Lake;

/// The targets, of which one may be missing, and the bucket for what cannot be delivered.
#[derive(Debug)]
pub(crate) struct Targets {
    pub(crate) bus: Option<Bus>,
    pub(crate) lake: Option<Lake>,
    /// Whether the lake gets the events that it can have: by this function, or by another.
    pub(crate) has_lake: bool,
    pub(crate) failures: Bucket,
}

impl Targets {
    /// The targets that the environment variables name.
    ///
    /// # Errors
    /// When both targets or the failure bucket are missing, or `AWS_CA_BUNDLE` names a file that
    /// cannot be used.
    pub(crate) fn from_environment() -> Result<Self, ConfigError> {
        let failures = Bucket::new(env_var("FAILURE_BUCKET_NAME")?, environment::s3()?);
        let (bus, lake) = (
            optional_env_var("EVENT_BUS_NAME"),
            optional_env_var("DELIVERY_STREAM_NAME"),
        );
        if bus.is_none() && lake.is_none() {
            return Err(ConfigError::Missing(
                "EVENT_BUS_NAME or DELIVERY_STREAM_NAME",
            ));
        }
        let (bus, lake) = (
            bus.map(Bus::from_environment).transpose()?,
            lake.map(Lake::from_environment).transpose()?,
        );
        let has_lake = lake.is_some() || optional_env_var("LAKE_BUCKET_NAME").is_some();
        Ok(Self {
            bus,
            lake,
            has_lake,
            failures,
        })
    }
}

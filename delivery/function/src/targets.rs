//! Where CloudEvents go, as the environment variables say, and the bucket for records that cannot
//! be delivered. This module must not know what is sent there, in which order, or why a record
//! cannot be delivered.

use aws::s3::Bucket;
use aws::sdk_config;
use aws::variables::{ConfigError, Variables};

use crate::bus::Bus;
use crate::clients;
use crate::lake::Lake;

/// The targets, of which one may be missing, and the bucket for what cannot be delivered. A deployed
/// function has one of both targets.
#[derive(Debug)]
pub(crate) struct Targets {
    /// `BusFunction` has it.
    pub(crate) bus: Option<Bus>,
    /// `LakeFunction` has it.
    pub(crate) lake: Option<Lake>,
    /// Whether the lake gets the CloudEvents that it can have: from this function or, if this is
    /// `BusFunction`, from `LakeFunction`. Then the bus can get a reference to the lake.
    pub(crate) has_lake: bool,
    pub(crate) failures: Bucket,
}

impl Targets {
    /// The targets that the variables name.
    ///
    /// # Errors
    /// When both targets or the failure bucket are missing, or `AWS_CA_BUNDLE` names a file that
    /// cannot be used.
    pub(crate) fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let bucket = variables.required("FAILURE_BUCKET_NAME")?;
        let failures = Bucket::new(bucket, sdk_config::s3(variables)?);
        let bus = variables.optional("EVENT_BUS_NAME");
        let lake = variables.optional("DELIVERY_STREAM_NAME");
        if bus.is_none() && lake.is_none() {
            return Err(ConfigError::Missing(
                "EVENT_BUS_NAME or DELIVERY_STREAM_NAME",
            ));
        }
        let config = clients::config(variables)?;
        let lake = lake.map(|stream| Lake::new(&config, stream));
        let has_lake = lake.is_some() || variables.optional("LAKE_BUCKET_NAME").is_some();
        Ok(Self {
            bus: bus.map(|name| Bus::new(&config, name)),
            lake,
            has_lake,
            failures,
        })
    }
}

//! The configuration that all clients of AWS share: built from the variables that Lambda sets, and
//! not discovered.
//!
//! `aws-config`'s loader would also look for profiles, single sign-on and a metadata service, which
//! a function must not have. A configuration that is built reads no variable, so those that the
//! SDKs define for endpoints are read here, and nowhere else ("Service-specific endpoints" in the
//! AWS SDKs and Tools Reference Guide). Must not know which service is called for what.

use std::fmt;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{SharedCredentialsProvider, SharedHttpClient};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use aws_types::sdk_config;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use crate::http;
use crate::s3::{self, S3Connection};
use crate::tls::{self, CaBundleError};

/// How long connecting may take. Inside a region it takes a few milliseconds, or never succeeds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// Why a function cannot start.
#[derive(thiserror::Error)]
pub enum ConfigError {
    /// A variable that Lambda sets is missing.
    #[error(
        "the environment variable {0} is missing: Lambda sets it, and `cargo dev` provides it locally"
    )]
    MissingFromLambda(&'static str),
    /// A variable that `template.yaml` sets is missing or empty.
    #[error(
        "the environment variable {0} is missing: the template sets it on AWS, and `cargo dev` provides it locally"
    )]
    Missing(&'static str),
    /// A variable is set to something else than a whole number.
    #[error("the environment variable {0} is malformed: it must be a whole number")]
    NotANumber(&'static str),
    /// The file of certificate authorities cannot be used.
    #[error(transparent)]
    CaBundle(#[from] CaBundleError),
}

/// As displayed: this is what the runtime logs when an invocation ends in an error.
impl fmt::Debug for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The configuration of a function. The credentials are those of its role.
///
/// # Errors
/// When a variable is missing, or [`http_client`] fails.
pub fn sdk_config() -> Result<SdkConfig, ConfigError> {
    let is_true =
        |name| optional_env_var(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let config = defaults(CONNECT_TIMEOUT)?
        .region(Region::new(region()?))
        .credentials_provider(credentials()?)
        .use_fips(is_true("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_true("AWS_USE_DUALSTACK_ENDPOINT"))
        .service_config(EndpointVariables);
    Ok(config.build())
}

/// How S3 is reached.
///
/// # Errors
/// As [`sdk_config()`].
pub fn s3() -> Result<S3Connection, ConfigError> {
    Ok(S3Connection {
        endpoint: configured_endpoint(s3::ENDPOINT_VARIABLE)
            .ok_or(ConfigError::Missing(s3::ENDPOINT_VARIABLE))?,
        region: region()?,
        credentials: credentials()?,
        connector: http_connector(CONNECT_TIMEOUT)?,
    })
}

fn credentials() -> Result<SharedCredentialsProvider, ConfigError> {
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        optional_env_var(name).ok_or(ConfigError::MissingFromLambda(name))?;
    }
    Ok(SharedCredentialsProvider::new(
        EnvironmentVariableCredentialsProvider::new(),
    ))
}

fn region() -> Result<String, ConfigError> {
    ["AWS_REGION", "AWS_DEFAULT_REGION"]
        .into_iter()
        .find_map(optional_env_var)
        .ok_or(ConfigError::MissingFromLambda("AWS_REGION"))
}

/// What every configuration has, whosever credentials it gets: the behavior version and an HTTP
/// client.
///
/// # Errors
/// When [`http_client`] fails.
pub fn defaults(connect_timeout: Duration) -> Result<sdk_config::Builder, CaBundleError> {
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http_client(connect_timeout)?)
        // It detects slow bodies after 5 s; here the timeout of an attempt covers the body.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Ok(config)
}

/// The endpoint that the operator set for a service, by its variable, or for all services.
pub fn configured_endpoint(endpoint_variable: &str) -> Option<String> {
    [endpoint_variable, "AWS_ENDPOINT_URL"]
        .into_iter()
        .find_map(optional_env_var)
}

/// Finds the endpoint of a service in the variables. The clients ask for nothing else.
#[derive(Debug)]
struct EndpointVariables;

impl LoadServiceConfig for EndpointVariables {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        configured_endpoint(&format!(
            "{}_{}",
            key.env(),
            key.service_id().to_uppercase().replace(' ', "_")
        ))
    }
}

/// The variable `name`; `None` when it is not set or empty.
pub fn optional_env_var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The variable `name`.
///
/// # Errors
/// [`ConfigError::Missing`] when it is not set or empty.
pub fn env_var(name: &'static str) -> Result<String, ConfigError> {
    optional_env_var(name).ok_or(ConfigError::Missing(name))
}

/// The variable `name` as a whole number.
///
/// # Errors
/// [`ConfigError::Missing`] when it is not set or empty, [`ConfigError::NotANumber`] when it is not
/// a whole number.
pub fn env_u64(name: &'static str) -> Result<u64, ConfigError> {
    env_var(name)?
        .parse()
        .map_err(|_| ConfigError::NotANumber(name))
}

/// The HTTP client of this service, which waits at most `connect_timeout` for a connection.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_client(connect_timeout: Duration) -> Result<SharedHttpClient, CaBundleError> {
    Ok(http::client(http_connector(connect_timeout)?))
}

/// The connections of such a client, for a request that no SDK makes.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_connector(connect_timeout: Duration) -> Result<SharedHttpConnector, CaBundleError> {
    Ok(http::connector(tls::client_config()?, connect_timeout))
}

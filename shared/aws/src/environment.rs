//! The configuration that all clients of AWS share. It is built from the variables that Lambda
//! sets. The caller hands them in, so that several functions can run in one process.
//!
//! `aws-config`'s loader is not used, because it would also look for profiles, single sign-on and a
//! metadata service, which a function must not have. Without the loader, the SDKs read no variable,
//! so this module also reads those that the SDKs define for endpoints ("Service-specific endpoints"
//! in the AWS SDKs and Tools Reference Guide). This module must not know which service is called
//! for what.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider, SharedHttpClient};
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

/// The same text as `Display`: the runtime logs an error of an invocation by its `Debug`.
impl fmt::Debug for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The variables that a function is made from.
#[derive(Clone, Default)]
pub struct Variables(Arc<HashMap<String, String>>);

/// Shows the names without the values, because credentials are among the values.
impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

impl Variables {
    /// The variables of this process. A variable that is not UTF-8 counts as not set.
    pub fn from_process() -> Self {
        let variables = std::env::vars_os();
        variables
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The variable `name`; `None` when it is not set or empty.
    pub fn optional(&self, name: &str) -> Option<String> {
        let value = self.0.get(name)?;
        (!value.is_empty()).then(|| value.clone())
    }

    /// The variable `name`.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] when it is not set or empty.
    pub fn required(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name).ok_or(ConfigError::Missing(name))
    }

    /// The variable `name` as a whole number.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] when it is not set or empty, [`ConfigError::NotANumber`] when it is
    /// not a whole number.
    pub fn whole_number(&self, name: &'static str) -> Result<u64, ConfigError> {
        let value = self.required(name)?;
        value.parse().map_err(|_| ConfigError::NotANumber(name))
    }

    /// The endpoint that the operator set for a service, by its variable, or for all services.
    pub fn endpoint(&self, endpoint_variable: &str) -> Option<String> {
        self.optional(endpoint_variable)
            .or_else(|| self.optional("AWS_ENDPOINT_URL"))
    }

    fn required_from_lambda(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name)
            .ok_or(ConfigError::MissingFromLambda(name))
    }

    fn region(&self) -> Result<String, ConfigError> {
        self.optional("AWS_REGION")
            .or_else(|| self.optional("AWS_DEFAULT_REGION"))
            .ok_or(ConfigError::MissingFromLambda("AWS_REGION"))
    }

    fn credentials(&self) -> Result<SharedCredentialsProvider, ConfigError> {
        let credentials = Credentials::new(
            self.required_from_lambda("AWS_ACCESS_KEY_ID")?,
            self.required_from_lambda("AWS_SECRET_ACCESS_KEY")?,
            self.optional("AWS_SESSION_TOKEN"),
            None,
            "Variables",
        );
        Ok(SharedCredentialsProvider::new(credentials))
    }
}

/// The configuration of a function. The credentials belong to the role of the function.
///
/// # Errors
/// When a variable is missing, or [`http_client`] fails.
pub fn sdk_config(variables: &Variables) -> Result<SdkConfig, ConfigError> {
    let is_true = |name| {
        variables
            .optional(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    };
    let config = defaults(variables, CONNECT_TIMEOUT)?
        .region(Region::new(variables.region()?))
        .credentials_provider(variables.credentials()?)
        .use_fips(is_true("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_true("AWS_USE_DUALSTACK_ENDPOINT"))
        .service_config(EndpointVariables(variables.clone()));
    Ok(config.build())
}

/// How S3 is reached.
///
/// # Errors
/// As [`sdk_config()`].
pub fn s3(variables: &Variables) -> Result<S3Connection, ConfigError> {
    Ok(S3Connection {
        endpoint: variables
            .endpoint(s3::ENDPOINT_VARIABLE)
            .ok_or(ConfigError::Missing(s3::ENDPOINT_VARIABLE))?,
        region: variables.region()?,
        credentials: variables.credentials()?,
        connector: http_connector(variables, CONNECT_TIMEOUT)?,
    })
}

/// What every configuration has, whichever credentials it gets: the behavior version and an HTTP
/// client.
///
/// # Errors
/// When [`http_client`] fails.
pub fn defaults(
    variables: &Variables,
    connect_timeout: Duration,
) -> Result<sdk_config::Builder, CaBundleError> {
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http_client(variables, connect_timeout)?)
        // It detects slow bodies after 5 s; here the timeout of an attempt covers the body.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Ok(config)
}

/// Finds the endpoint of a service in the variables. The clients ask for nothing else.
#[derive(Debug)]
struct EndpointVariables(Variables);

impl LoadServiceConfig for EndpointVariables {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        self.0.endpoint(&format!("{}_{service}", key.env()))
    }
}

/// The HTTP client of this service, which waits at most `connect_timeout` for a connection.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_client(
    variables: &Variables,
    connect_timeout: Duration,
) -> Result<SharedHttpClient, CaBundleError> {
    Ok(http::client(http_connector(variables, connect_timeout)?))
}

/// The connections of the HTTP client, for requests that no SDK makes.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_connector(
    variables: &Variables,
    connect_timeout: Duration,
) -> Result<SharedHttpConnector, CaBundleError> {
    let ca_bundle = variables.optional(tls::CA_BUNDLE_VARIABLE);
    let tls = tls::client_config(ca_bundle.as_deref())?;
    Ok(http::connector(tls, connect_timeout))
}

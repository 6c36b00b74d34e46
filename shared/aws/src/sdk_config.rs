//! The configuration of a client of AWS, built from the variables of a function and from the connector to
//! the service.
//!
//! `aws-config`'s loader is not used, because it would also look for profiles, single sign-on and a
//! metadata service, which a function must not have. Without the loader, the SDKs read no variable.
//! So this module also reads the variables for endpoints ("Service-specific endpoints" in the AWS SDKs
//! and Tools Reference Guide). This module must not know which service is called for what.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use aws_types::sdk_config::Builder;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use crate::http_client;
use crate::s3::{self, S3Connection};
use crate::tls::{self, CaBundleError};
use crate::variables::{ConfigError, Variables};

/// How long connecting may take. Inside a region it takes a few milliseconds, or never succeeds.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// The bound of the SDK's first wait between attempts, where the SDK repeats calls. Its default of
/// one second delays a retry, which usually succeeds, by half a second.
const INITIAL_BACKOFF: Duration = Duration::from_millis(25);

/// The highest bound that a wait between attempts can have.
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The configuration of a function whose calls go through `connector`. The credentials belong to the
/// role of the function.
///
/// # Errors
/// When a variable is missing.
pub fn sdk_config(
    variables: &Variables,
    connector: &SharedHttpConnector,
) -> Result<SdkConfig, ConfigError> {
    let is_true = |name| {
        variables
            .optional(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    };
    let config = defaults(connector.clone())
        .region(Region::new(region(variables)?))
        .credentials_provider(credentials(variables)?)
        .use_fips(is_true("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_true("AWS_USE_DUALSTACK_ENDPOINT"))
        .service_config(EndpointVariables(variables.clone()));
    Ok(config.build())
}

/// How S3 is reached, through `connector`.
///
/// # Errors
/// As [`sdk_config()`].
pub fn s3(
    variables: &Variables,
    connector: &SharedHttpConnector,
) -> Result<S3Connection, ConfigError> {
    Ok(S3Connection {
        endpoint: endpoint(variables, s3::ENDPOINT_VARIABLE)
            .ok_or(ConfigError::Missing(s3::ENDPOINT_VARIABLE))?,
        region: region(variables)?,
        credentials: credentials(variables)?,
        connector: connector.clone(),
    })
}

/// What every configuration has, whichever credentials it gets: the behavior version and an HTTP
/// client that makes its calls through `connector`.
pub fn defaults(connector: SharedHttpConnector) -> Builder {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http_client::client(connector))
        // It detects slow bodies after 5 s; here the timeout of an attempt covers the body.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// Finds the endpoint of a service in the variables. The clients ask for nothing else.
#[derive(Debug)]
pub struct EndpointVariables(pub Variables);

impl LoadServiceConfig for EndpointVariables {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        endpoint(&self.0, &format!("{}_{service}", key.env()))
    }
}

/// The endpoint that the operator set for a service, by its variable, or for all services.
pub fn endpoint(variables: &Variables, endpoint_variable: &str) -> Option<String> {
    variables
        .optional(endpoint_variable)
        .or_else(|| variables.optional("AWS_ENDPOINT_URL"))
}

fn region(variables: &Variables) -> Result<String, ConfigError> {
    variables
        .optional("AWS_REGION")
        .or_else(|| variables.optional("AWS_DEFAULT_REGION"))
        .ok_or(ConfigError::MissingFromLambda("AWS_REGION"))
}

fn credentials(variables: &Variables) -> Result<SharedCredentialsProvider, ConfigError> {
    let credentials = Credentials::new(
        variables.required_from_lambda("AWS_ACCESS_KEY_ID")?,
        variables.required_from_lambda("AWS_SECRET_ACCESS_KEY")?,
        variables.optional("AWS_SESSION_TOKEN"),
        None,
        "Variables",
    );
    Ok(SharedCredentialsProvider::new(credentials))
}

/// What makes the connections and the calls of a process to a service. After
/// `unresponsive_timeout` without a response, all of them are abandoned: so each service has its own.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn connector(
    variables: &Variables,
    unresponsive_timeout: Duration,
) -> Result<SharedHttpConnector, CaBundleError> {
    let ca_bundle = variables.optional(tls::CA_BUNDLE_VARIABLE);
    let tls = tls::client_config(ca_bundle.as_deref())?;
    let connector = http_client::connector(tls, CONNECT_TIMEOUT, unresponsive_timeout);
    Ok(connector)
}

/// Lets the SDK make up to `max_attempts` attempts, with waits that suit a service in the same
/// region.
pub fn retries(max_attempts: u32) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(max_attempts)
        .with_initial_backoff(INITIAL_BACKOFF)
        .with_max_backoff(MAX_BACKOFF)
}

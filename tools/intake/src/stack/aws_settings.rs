//! What the operator's environment and profile say about calls to AWS. The SDK reads it. This module checks the
//! values that the SDK would ignore silently, or at which it would panic. Must not know which calls are made.

mod credentials;

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use aws_config::SdkConfig;
use aws_config::profile::{self, ProfileSet};
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_types::os_shim_internal::{Env, Fs};
use aws_types::service_config::ServiceConfigKey;
use operator::error::causes;

use super::network::is_http_url;

const NO_REGION: &str =
    "No AWS region. Set AWS_REGION, or choose a profile that has one with AWS_PROFILE.";

/// The variables that name a profile. The AWS command line reads both in this order. The SDK knows only
/// the second one.
const PROFILE_VARIABLES: [&str; 2] = ["AWS_DEFAULT_PROFILE", "AWS_PROFILE"];

/// The settings that choose the hosts of calls, each as a variable and as a key of a profile. The SDK ignores a
/// value that is neither true nor false, and calls another host than the operator means.
const BOOLEAN_SETTINGS: [(&str, &str); 3] = [
    ("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
    ("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"),
    (
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "ignore_configured_endpoint_urls",
    ),
];

/// The services that a command may call, as the SDK names them.
const SERVICES: [&str; 11] = [
    "CloudFormation",
    "CloudWatch",
    "CloudWatch Logs",
    "DynamoDB",
    "Lambda",
    "S3",
    "SQS",
    "SSO",
    "SSO OIDC",
    "STS",
    "Signin",
];

/// The settings of the operator.
pub(super) struct AwsSettings {
    profiles: ProfileSet,
}

impl AwsSettings {
    /// Reads the profiles, and checks the chosen one.
    ///
    /// # Errors
    /// A file of profiles is ill-formed, the chosen profile does not exist, or a setting has a value that the SDK
    /// would ignore.
    pub(super) async fn read() -> Result<Self> {
        ensure_variables_are_clean()?;
        // The SDK would use an empty `AWS_PROFILE` as a name.
        let variable = PROFILE_VARIABLES
            .into_iter()
            .find(|variable| environment(variable).is_some());
        let name = variable
            .and_then(environment)
            .unwrap_or_else(|| "default".to_owned());
        // AWS calls the crates of these types internal, but they are the parameters of its own reader of profiles.
        let files = EnvConfigFiles::default();
        let read = profile::load(
            &Fs::default(),
            &Env::default(),
            &files,
            Some(Cow::Owned(name)),
        )
        .await;
        let profiles =
            read.map_err(|error| anyhow!("Cannot read the AWS profiles: {}.", causes(&error)))?;
        let settings = Self { profiles };
        if let Some(variable) = variable {
            settings.ensure_profile_exists(variable)?;
        }
        settings.ensure_booleans_are_known()?;
        Ok(settings)
    }

    /// The name of the chosen profile.
    pub(super) fn profile_name(&self) -> &str {
        self.profiles.selected_profile()
    }

    fn ensure_profile_exists(&self, variable: &str) -> Result<()> {
        let name = self.profile_name();
        let mut known: Vec<&str> = self.profiles.profiles().collect();
        known.sort_unstable();
        ensure!(
            known.contains(&name),
            "The AWS profile {name} does not exist. Check {variable}. The AWS SDK found these profiles: {}.",
            known.join(", ")
        );
        Ok(())
    }

    fn ensure_booleans_are_known(&self) -> Result<()> {
        for (variable, key) in BOOLEAN_SETTINGS {
            let value = self.find(variable, key).unwrap_or_default();
            let is_known = ["", "true", "false"]
                .iter()
                .any(|known| value.eq_ignore_ascii_case(known));
            ensure!(
                is_known,
                "{variable} or {key} of the AWS profile {} is {value:?}. Set it to true or false.",
                self.profile_name()
            );
        }
        Ok(())
    }

    /// The value of a variable or, if it is not set, of a key of the profile.
    fn find(&self, variable: &str, key: &str) -> Option<String> {
        environment(variable).or_else(|| self.profiles.get(key).map(ToOwned::to_owned))
    }

    /// The file of certificate authorities that replaces those of the system.
    pub(super) fn ca_bundle(&self) -> Option<PathBuf> {
        let bundle = self.find("AWS_CA_BUNDLE", "ca_bundle")?;
        (!bundle.is_empty()).then(|| PathBuf::from(bundle))
    }
}

/// # Errors
/// The configuration has no region, or one whose name has a character that no region has.
pub(super) fn ensure_region(config: &SdkConfig) -> Result<()> {
    let region = config.region().map(AsRef::as_ref).unwrap_or_default();
    ensure!(!region.trim().is_empty(), NO_REGION);
    let is_name = region
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    ensure!(
        is_name,
        "The AWS region {region:?} is not a name such as eu-central-1. Check AWS_REGION, AWS_DEFAULT_REGION and region of \
         the AWS profile."
    );
    Ok(())
}

/// # Errors
/// The endpoint of a service is not a URL. The SDK would panic, ignore it, or print the whole request.
pub(super) fn ensure_endpoints_are_urls(config: &SdkConfig) -> Result<()> {
    for service in SERVICES {
        let endpoint = config.service_config().and_then(|settings| {
            let key = ServiceConfigKey::builder()
                .service_id(service)
                .env("AWS_ENDPOINT_URL")
                .profile("endpoint_url")
                .build();
            settings.load_config(key.ok()?)
        });
        let is_usable = endpoint.as_deref().is_none_or(is_http_url);
        ensure!(
            is_usable,
            "The endpoint of {service} is {:?}, which is not a URL such as https://dynamodb.example.com. Check the variables \
             AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_*, and endpoint_url of the AWS profile.",
            endpoint.unwrap_or_default()
        );
    }
    Ok(())
}

/// # Errors
/// A variable of AWS's tools is not text, or has a control character. The SDK would panic, or ignore it. The error
/// does not show the value, which may be a secret.
fn ensure_variables_are_clean() -> Result<()> {
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("AWS_")) else {
            continue;
        };
        let is_clean = value
            .to_str()
            .is_some_and(|value| !value.contains(char::is_control));
        ensure!(
            is_clean,
            "{name} has a line end, another control character, or bytes that are not UTF-8. Remove them."
        );
    }
    Ok(())
}

/// The value of a variable that is set to something.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

//! What the operator's environment and profile say about calls to AWS, where the SDK would panic at a
//! value that it does not know, or ignore it silently. Must not know which calls are made.

mod credentials;
mod profile_chain;
mod profile_files;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use aws_config::meta::region::ProvideRegion as _;
use aws_config::profile::{self, ProfileFileRegionProvider, ProfileSet};
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::{RetryConfig, RetryMode};
use aws_config::{Region, imds};
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_runtime::env_config::property::PropertiesKey;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::os_shim_internal::{Env, Fs};

use self::profile_chain::chosen_profile;
use self::profile_files::ProfileFiles;
use super::network::is_http_url;
use crate::output::note;
use operator::error::causes;

const NO_REGION: &str =
    "No AWS region. Set AWS_REGION, or choose a profile that has one with AWS_PROFILE.";

/// How long the metadata service of a machine may take. It answers within milliseconds.
const METADATA_TIMEOUT: Duration = Duration::from_secs(1);

/// A setting of AWS's tools ("Settings reference" in the AWS SDKs and Tools Reference Guide).
struct Setting {
    variable: &'static str,
    /// Its name in a profile.
    key: &'static str,
}

const RETRY_MODE: Setting = setting("AWS_RETRY_MODE", "retry_mode");
const MAX_ATTEMPTS: Setting = setting("AWS_MAX_ATTEMPTS", "max_attempts");
const CA_BUNDLE: Setting = setting("AWS_CA_BUNDLE", "ca_bundle");
const ENDPOINT_URL: Setting = setting("AWS_ENDPOINT_URL", "endpoint_url");

/// The settings with a fixed set of values. The SDK would ignore another value, and call another
/// endpoint than the operator means.
const CHOICES: [(Setting, &[&str]); 6] = [
    (
        setting("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
        BOOLEAN,
    ),
    (
        setting("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"),
        BOOLEAN,
    ),
    (
        setting(
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
            "ignore_configured_endpoint_urls",
        ),
        BOOLEAN,
    ),
    (
        setting("AWS_ACCOUNT_ID_ENDPOINT_MODE", "account_id_endpoint_mode"),
        &["preferred", "disabled", "required"],
    ),
    (
        setting(
            "AWS_REQUEST_CHECKSUM_CALCULATION",
            "request_checksum_calculation",
        ),
        CHECKSUM,
    ),
    (
        setting(
            "AWS_RESPONSE_CHECKSUM_VALIDATION",
            "response_checksum_validation",
        ),
        CHECKSUM,
    ),
];

/// The section of endpoints of services, and the setting of a profile that names one.
const SERVICES_SECTION: &str = "services";

/// The variables of keys and tokens, each with its name in a profile. They are sent in headers.
const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "aws_access_key_id"),
    ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key"),
    ("AWS_SESSION_TOKEN", "aws_session_token"),
];

/// The services that a command may call, as the section `services` names them.
const SERVICES: [&str; 11] = [
    "cloudformation",
    "cloudwatch",
    "cloudwatch_logs",
    "dynamodb",
    "lambda",
    "s3",
    "signin",
    "sqs",
    "sso",
    "sso_oidc",
    "sts",
];

const BOOLEAN: &[&str] = &["true", "false"];
const CHECKSUM: &[&str] = &["when_supported", "when_required"];

const fn setting(variable: &'static str, key: &'static str) -> Setting {
    Setting { variable, key }
}

/// A value that the operator has set, and where.
struct SetValue {
    value: String,
    /// Where it stands, with its name, for a sentence.
    place: String,
}

impl fmt::Display for SetValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {:?}", self.place, self.value)
    }
}

/// The settings of the operator.
pub(super) struct AwsSettings {
    profiles: ProfileSet,
    files: ProfileFiles,
}

impl AwsSettings {
    /// Reads the profiles, and checks the chosen one.
    ///
    /// # Errors
    /// A file of profiles cannot be read; the chosen profile, or one that it names as its source, does
    /// not exist; or a setting has a value that the SDK does not know.
    pub(super) async fn read() -> Result<Self> {
        ensure_variables_are_clean()?;
        let profile_files = ProfileFiles::read()?;
        // AWS calls the crates of these types internal, but its own reader of profiles takes them.
        let files = EnvConfigFiles::default();
        let chosen = chosen_profile().map(Cow::Owned);
        let read = profile::load(&Fs::default(), &Env::default(), &files, chosen).await;
        let profiles = read.map_err(|error| {
            let reason = causes(&error);
            let hint = hint_about_line(&reason);
            anyhow!("This program cannot read the AWS profiles: {reason}{hint}.")
        })?;
        let settings = Self {
            profiles,
            files: profile_files,
        };
        settings.ensure_profiles_exist()?;
        let chain = settings.profile_chain();
        let names: Vec<&str> = chain.iter().map(|profile| profile.name()).collect();
        settings.files.ensure_values_are_clean(&names)?;
        settings.ensure_values_are_known()?;
        Ok(settings)
    }

    /// The name of the chosen profile.
    pub(super) fn profile_name(&self) -> &str {
        self.profiles.selected_profile()
    }

    fn ensure_values_are_known(&self) -> Result<()> {
        for (setting, known) in &CHOICES {
            let Some(set) = self.find(setting) else {
                continue;
            };
            let is_known = known
                .iter()
                .any(|known| set.value.eq_ignore_ascii_case(known));
            if !is_known {
                bail!(
                    "{set}, which the AWS SDK does not know: write {}.",
                    known.join(" or ")
                );
            }
        }
        // The SDK panics at an empty one.
        let from_environment = std::env::vars_os().filter_map(|(name, value)| {
            let place = name.into_string().ok()?;
            let value = value.into_string().ok()?;
            let is_endpoint = place.starts_with(ENDPOINT_URL.variable);
            is_endpoint.then_some(SetValue { value, place })
        });
        let from_profile = self.in_profile(ENDPOINT_URL.key);
        let of_services = self.endpoints_of_services();
        if of_services.is_empty()
            && let Some(set) = self.in_profile(SERVICES_SECTION)
        {
            // The SDK would call AWS where the operator may mean another endpoint.
            note(&format!(
                "{set}, and no section [{SERVICES_SECTION} NAME] of that name has an endpoint_url of a service that this command \
                 line calls."
            ));
        }
        for set in from_environment.chain(from_profile).chain(of_services) {
            // The SDK would show the whole request in its error.
            if !is_http_url(&set.value) {
                bail!("{set}, which is no URL such as https://dynamodb.example.com.");
            }
        }
        Ok(())
    }

    /// The endpoints that the profile has for single services.
    fn endpoints_of_services(&self) -> Vec<SetValue> {
        let Some(section) = self.profiles.get(SERVICES_SECTION) else {
            return Vec::new();
        };
        let endpoint_of = |service: &str| {
            let key = PropertiesKey::builder()
                .section_key(SERVICES_SECTION)
                .section_name(section)
                .property_name(service)
                .sub_property_name(ENDPOINT_URL.key)
                .build();
            let value = self.profiles.other_sections().get(&key.ok()?)?;
            Some(SetValue {
                value: value.clone(),
                place: format!(
                    "{} of {service} in the AWS services {section}",
                    ENDPOINT_URL.key
                ),
            })
        };
        SERVICES.iter().copied().filter_map(endpoint_of).collect()
    }

    /// The value of a setting: that of the environment or, without one, that of the profile.
    fn find(&self, setting: &Setting) -> Option<SetValue> {
        if let Some(value) = environment(setting.variable) {
            let place = setting.variable.to_owned();
            return Some(SetValue { value, place });
        }
        self.in_profile(setting.key)
    }

    fn in_profile(&self, key: &str) -> Option<SetValue> {
        let value = self.profiles.get(key).filter(|value| !value.is_empty())?;
        Some(SetValue {
            value: value.to_owned(),
            place: format!("{key} of the AWS profile {}", self.profile_name()),
        })
    }

    /// The file of certificate authorities that replaces those of the system.
    pub(super) fn ca_bundle(&self) -> Option<PathBuf> {
        Some(PathBuf::from(self.find(&CA_BUNDLE)?.value))
    }

    /// How the SDK repeats calls. A value that it does not know, such as the mode `legacy` of the AWS
    /// command line, is told, and is no reason to refuse a command.
    pub(super) fn retry_config(&self) -> RetryConfig {
        let mut retries = RetryConfig::standard();
        if let Some(set) = self.find(&RETRY_MODE) {
            match set.value.parse::<RetryMode>() {
                Ok(mode) => retries = retries.with_retry_mode(mode),
                Err(_) => note(&format!(
                    "{set}, which the AWS SDK does not know: it takes standard. Write standard or adaptive."
                )),
            }
        }
        if let Some(set) = self.find(&MAX_ATTEMPTS) {
            match set.value.parse() {
                Ok(attempts @ 1..) => retries = retries.with_max_attempts(attempts),
                _ => note(&format!(
                    "{set}, which is no number of attempts: the AWS SDK makes {}.",
                    retries.max_attempts()
                )),
            }
        }
        retries
    }

    /// The region: that of the environment, of the profile or, on a machine of AWS, that of the machine.
    ///
    /// # Errors
    /// There is none, or its name has a character that no region has, such as a quotation mark.
    pub(super) async fn region(&self, http_client: SharedHttpClient) -> Result<Region> {
        for variable in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
            if let Some(region) = environment(variable).filter(|name| !is_blank(name)) {
                return named_region(region, variable);
            }
        }
        let of_profile = ProfileFileRegionProvider::builder()
            .profile_name(self.profile_name())
            .build();
        let of_profile = of_profile.region().await;
        if let Some(region) = of_profile.filter(|region| !is_blank(region.as_ref())) {
            let place = format!("region of the AWS profile {}", self.profile_name());
            return named_region(region.to_string(), &place);
        }
        let is_disabled = environment("AWS_EC2_METADATA_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"));
        ensure!(!is_disabled, NO_REGION);
        let provider = ProviderConfig::without_region().with_http_client(http_client);
        let metadata = imds::Client::builder()
            .configure(&provider)
            .max_attempts(1)
            .operation_timeout(METADATA_TIMEOUT)
            .build();
        match metadata.get("/latest/meta-data/placement/region").await {
            Ok(region) => Ok(Region::new(String::from(region))),
            Err(error) => bail!("{NO_REGION} (the metadata service: {})", causes(&error)),
        }
    }
}

/// # Errors
/// A variable of AWS's tools is no text, or has a control character: the SDK would panic, pass over it, or say
/// that it cannot reach AWS. The error does not show the value, which may be a secret.
fn ensure_variables_are_clean() -> Result<()> {
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("AWS_")) else {
            continue;
        };
        let Some(value) = value.to_str() else {
            bail!("{name} is no text in UTF-8.");
        };
        ensure!(
            !value.contains(char::is_control),
            "{name} has a line end or another control character. Set it without."
        );
        let is_key = KEYS.iter().any(|(variable, _)| *variable == name);
        ensure!(
            !is_key || value.bytes().all(|byte| byte.is_ascii_graphic()),
            "{name} has a blank, or a character that no key has. Set it without."
        );
    }
    Ok(())
}

/// What the SDK's message about a line of a file leaves out.
fn hint_about_line(reason: &str) -> &'static str {
    if reason.contains("found continuation") {
        " (a blank stands before the first setting of a section)"
    } else if reason.contains("must end with ']'") {
        " (only a comment, which begins with # or ;, may follow the bracket)"
    } else {
        ""
    }
}

/// The region with this name, which stands at `place`.
fn named_region(name: String, place: &str) -> Result<Region> {
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    ensure!(
        is_name,
        "{place} is {name:?}, which is no name of a region such as eu-central-1."
    );
    Ok(Region::new(name))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The value of a variable that is set to something.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

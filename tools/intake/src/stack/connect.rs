//! Finds the stack that the operator names, and loads the configuration for calls to it. The credentials
//! are asked for once, before the first call, so that the operator hears why there are none, and again when
//! they end. Must not know which calls are made.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use aws::sdk_config::EndpointVariables;
use aws_config::identity::IdentityCache;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};
use aws_sdk_cloudformation::types::Stack as CloudFormationStack;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use clap::Args;
use operator::NOTE_INTERVAL;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::aws_settings::{AwsSettings, ensure_endpoints_are_urls, ensure_region};
use super::network::Network;
use super::variables::{
    API_KEYS_TABLE, BASE_URL, CUSTOMERS_TABLE, DEAD_LETTER_QUEUE_URL, DEFAULT_FILE,
    DELETION_PROTECTION, IDEMPOTENCY_TABLE, INTAKE_STACK, INTAKE_VERSION, KEY_SNAPSHOT_BUCKET,
    OVERFLOW_FUNCTION, OVERFLOW_QUEUE_URL, REJECTED_SIGNALS_TABLE, SIGNAL_RETENTION_DAYS,
    SIGNALS_TABLE, StackVariables, describe, state_of,
};
use super::{ATTEMPT_TIMEOUT, DELIVERY, Stack};
use crate::output::note;

/// The outputs and the parameters of template.yaml that the tool needs, each with the variable that
/// it stands for.
const OUTPUTS_AND_PARAMETERS: [(&str, &str); 13] = [
    ("ApiKeysTableName", API_KEYS_TABLE),
    ("CustomersTableName", CUSTOMERS_TABLE),
    ("SignalsTableName", SIGNALS_TABLE),
    ("RejectedSignalsTableName", REJECTED_SIGNALS_TABLE),
    ("IdempotencyTableName", IDEMPOTENCY_TABLE),
    ("OverflowQueueUrl", OVERFLOW_QUEUE_URL),
    ("OverflowDeadLetterQueueUrl", DEAD_LETTER_QUEUE_URL),
    ("OverflowFunctionName", OVERFLOW_FUNCTION),
    ("KeySnapshotBucket", KEY_SNAPSHOT_BUCKET),
    ("SignalRetentionDays", SIGNAL_RETENTION_DAYS),
    ("BaseUrl", BASE_URL),
    ("DeletionProtection", DELETION_PROTECTION),
    ("Version", INTAKE_VERSION),
];

/// The SDK's variable for the address of DynamoDB.
const DYNAMODB_ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";

/// The advice for a file of `cargo dev` that lacks a variable.
pub(super) const START_AGAIN: &str = "Start `cargo dev` again.";

/// The timeout of a connection. An operator may be far from the region, on a slow line.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take to get credentials.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_mins(1);

/// Which stack a command works on.
#[derive(Args, Debug)]
pub(crate) struct StackArgs {
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "local")]
    #[arg(help = "The CloudFormation stack whose outputs name the tables [default: INTAKE_STACK]")]
    stack: Option<String>,

    /// Use the stack that `cargo dev` runs, and its account unless one is given [FILE: the --env-file of
    /// `cargo dev`]
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = DEFAULT_FILE)]
    local: Option<PathBuf>,
}

/// The account of the local stack that these arguments name, if they name one. After `--`, there are no
/// options.
pub(crate) fn local_account(arguments: &[OsString]) -> Option<Result<String>> {
    let mut options = arguments.iter().take_while(|argument| *argument != "--");
    let file = options.find_map(local_file)?;
    Some(account_in_file(Path::new(file)))
}

/// The file that this argument names, if it is `--local` or `--local=FILE`.
fn local_file(argument: &OsString) -> Option<&str> {
    let value = argument.to_str()?.strip_prefix("--local")?;
    if value.is_empty() {
        return Some(DEFAULT_FILE);
    }
    value.strip_prefix('=')
}

fn account_in_file(file: &Path) -> Result<String> {
    let variables = StackVariables::read_file(file)?;
    let account = variables.get("ACCOUNT_ID", "Give --account NAME.")?;
    Ok(account.to_owned())
}

impl StackArgs {
    pub(crate) fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// The options of the command line that name the stack, after a blank.
    pub(crate) fn as_typed(&self) -> String {
        match (&self.local, self.name()) {
            (Some(file), _) if file == Path::new(DEFAULT_FILE) => " --local".to_owned(),
            (Some(file), _) => format!(" --local='{}'", file.display()),
            (None, Some(name)) => format!(" --stack {name}"),
            (None, None) => String::new(),
        }
    }

    /// Finds the stack and checks that there are a region and credentials for it.
    pub(crate) async fn connect(&self) -> Result<Stack> {
        match &self.local {
            Some(file) => connect_to_local(file),
            None => self.connect_to_aws().await,
        }
    }

    async fn connect_to_aws(&self) -> Result<Stack> {
        let config = sdk_config().await?;
        let Some(given) = self.name() else {
            let variables = StackVariables::from_environment();
            return Ok(Stack::new(&config, variables, false));
        };
        let described = describe(&config, &given).await?;
        let mut variables = StackVariables::of_stack(&described, &OUTPUTS_AND_PARAMETERS);
        if variables.advice.is_none() {
            variables.advice = Some(advice_about_missing_outputs(&described));
        }
        Ok(Stack {
            state: Some(state_of(&described)),
            // The operator may have given the ARN.
            name: described.stack_name,
            ..Stack::new(&config, variables, false)
        })
    }

    /// The name of the CloudFormation stack, if the operator gives one.
    fn name(&self) -> Option<String> {
        if self.stack.is_some() {
            return self.stack.clone();
        }
        let name = std::env::var(INTAKE_STACK).ok()?;
        Some(name).filter(|name| !name.is_empty())
    }
}

/// What to do about outputs that a stack lacks although it is deployed.
fn advice_about_missing_outputs(described: &CloudFormationStack) -> String {
    let name = described.stack_name().unwrap_or_default();
    match name.strip_suffix(DELIVERY) {
        Some(service) => {
            format!(
                "It is the stack of a delivery. Give the stack of the service: --stack {service}."
            )
        }
        None => "It is not a stack of Intake, or its version is not the one of this command line."
            .to_owned(),
    }
}

fn connect_to_local(file: &Path) -> Result<Stack> {
    let variables = StackVariables::read_file(file)?;
    let config = local_config(&variables)?;
    ensure_local_stack_runs(&variables)?;
    Ok(Stack::new(&config, variables, true))
}

/// Checks that the local stack listens. One that was killed leaves its env file.
fn ensure_local_stack_runs(variables: &StackVariables) -> Result<()> {
    let endpoint = variables.get(DYNAMODB_ENDPOINT, START_AGAIN)?;
    let address = endpoint.trim_start_matches("http://");
    let is_refused = |error: &io::Error| error.kind() == ErrorKind::ConnectionRefused;
    let connected = TcpStream::connect(address);
    ensure!(
        !connected.is_err_and(|error| is_refused(&error)),
        "The local stack of {} is not running: nothing listens at {address}. Start it with `cargo dev` or `./dev`.",
        variables.source
    );
    Ok(())
}

/// The configuration for calls to AWS: the one of the SDK, with everything that environment and profile say.
/// The credentials are requested here, and again when they expire.
async fn sdk_config() -> Result<SdkConfig> {
    let settings = AwsSettings::read().await?;
    let network = match settings.ca_bundle() {
        Some(ca_bundle) => Network::trusting(&ca_bundle)?,
        None => Network::trusting_system()?,
    };
    // Only one of the clients requests new credentials, and the others wait for them.
    let identity_cache = IdentityCache::lazy()
        .load_timeout(CREDENTIALS_TIMEOUT * 2)
        .build();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(network.client())
        .profile_name(settings.profile_name())
        .timeout_config(timeouts())
        // The SDK would panic at a retry mode of a profile that it does not know.
        .retry_config(RetryConfig::standard())
        .identity_cache(identity_cache)
        // With a wrong clock, the SDK's clients would sign with AWS's time, as those that request credentials do.
        // The commands would then write and compare times of this clock.
        .disable_clock_skew_correction(true)
        .load()
        .await;
    ensure_region(&config)?;
    ensure_endpoints_are_urls(&config)?;
    let credentials = first_credentials(&config)
        .await
        .map_err(|error| settings.explain(&error))?;
    let config = config.into_builder().credentials_provider(credentials);
    Ok(config.build())
}

/// A configuration with everything from the file and nothing from the operator's profile and environment,
/// so that `--local` can never mean AWS.
fn local_config(variables: &StackVariables) -> Result<SdkConfig> {
    let get = |name| variables.get(name, START_AGAIN);
    let credentials = Credentials::new(
        get("AWS_ACCESS_KEY_ID")?,
        get("AWS_SECRET_ACCESS_KEY")?,
        None,
        None,
        "cargo dev",
    );
    let region = get("AWS_REGION")?.to_owned();
    let endpoint = get(DYNAMODB_ENDPOINT)?;
    let config = loopback_config(credentials, Region::new(region), endpoint)?;
    let endpoints = EndpointVariables(variables.values.clone().into_iter().collect());
    Ok(config.into_builder().service_config(endpoints).build())
}

/// The configuration for calls to servers on this machine.
pub(super) fn loopback_config(
    credentials: Credentials,
    region: Region,
    endpoint: impl Into<String>,
) -> Result<SdkConfig> {
    let network = Network::loopback()?;
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(network.client())
        .timeout_config(timeouts())
        .retry_config(RetryConfig::standard())
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .region(region)
        .endpoint_url(endpoint);
    Ok(config.build())
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build()
}

/// New credentials are asked for this long before the old ones end.
const NOTICE: Duration = Duration::from_mins(1);

/// The last credentials of a provider. The identity cache of the SDK would ask the provider again at the
/// first call.
#[derive(Debug)]
struct CachedCredentials {
    provider: SharedCredentialsProvider,
    cached: Mutex<Credentials>,
}

/// Asks the provider of `config` for credentials. Returns a provider that caches them until they expire.
pub(super) async fn first_credentials(
    config: &SdkConfig,
) -> Result<SharedCredentialsProvider, CredentialsError> {
    let provider = config
        .credentials_provider()
        .ok_or_else(|| CredentialsError::not_loaded("there is no provider"))?;
    let first = ask(&provider).await?;
    Ok(SharedCredentialsProvider::new(CachedCredentials {
        provider,
        cached: Mutex::new(first),
    }))
}

/// Asks for credentials that can be sent in headers: with others, the SDK would panic.
async fn ask(provider: &SharedCredentialsProvider) -> provider::Result {
    let given = ask_provider(provider, NOTE_INTERVAL, CREDENTIALS_TIMEOUT).await?;
    let values = [
        given.access_key_id(),
        given.secret_access_key(),
        given.session_token().unwrap_or_default(),
    ];
    let is_clean = |value: &&str| value.bytes().all(|byte| byte.is_ascii_graphic());
    if values.iter().all(is_clean) {
        return Ok(given);
    }
    Err(CredentialsError::invalid_configuration(
        "a key or a token has a line end, a blank or another character that no key has",
    ))
}

/// Asks for credentials until `limit` is over. Tells the operator when that takes longer than `note_interval`: someone
/// may have to sign in.
async fn ask_provider(
    provider: &SharedCredentialsProvider,
    note_interval: Duration,
    limit: Duration,
) -> provider::Result {
    let mut given = provider.provide_credentials();
    if let Ok(given) = timeout(note_interval, &mut given).await {
        return given;
    }
    let left = limit.saturating_sub(note_interval);
    note(&format!(
        "The provider of the AWS credentials has not responded yet. Waiting for up to {} s. Ctrl-C ends the command.",
        left.as_secs()
    ));
    let given = timeout(left, given).await;
    given.unwrap_or_else(|_| Err(CredentialsError::provider_timed_out(limit)))
}

impl CachedCredentials {
    async fn credentials(&self) -> provider::Result {
        let mut cached = self.cached.lock().await;
        let soon = SystemTime::now() + NOTICE;
        if cached.expiry().is_some_and(|end| end <= soon) {
            *cached = ask(&self.provider).await?;
        }
        Ok(cached.clone())
    }
}

impl ProvideCredentials for CachedCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        self.provider.fallback_on_interrupt()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Instant;

    use super::*;

    /// A process that hangs, or a person who does not sign in.
    #[derive(Debug)]
    struct HangingProvider;

    impl ProvideCredentials for HangingProvider {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            future::ProvideCredentials::new(pending())
        }
    }

    #[tokio::test]
    async fn provider_that_does_not_respond_is_asked_until_the_limit() {
        let provider = SharedCredentialsProvider::new(HangingProvider);
        let (note_interval, limit) = (Duration::from_millis(10), Duration::from_millis(30));
        let began = Instant::now();
        let asked = ask_provider(&provider, note_interval, limit).await;
        assert!(matches!(asked, Err(CredentialsError::ProviderTimedOut(_))));
        assert!(began.elapsed() >= limit);
    }

    #[test]
    fn outputs_and_parameters_that_the_tool_reads_are_in_the_template() {
        let template = include_str!("../../../../template.yaml");
        let (_, from_parameters) = template.split_once("\nParameters:\n").unwrap();
        let (parameters, _) = from_parameters.split_once("\nResources:\n").unwrap();
        let (_, outputs) = template.split_once("\nOutputs:\n").unwrap();
        for (name, _) in OUTPUTS_AND_PARAMETERS {
            let entry = format!("  {name}:\n");
            assert!(
                parameters.contains(&entry) || outputs.contains(&entry),
                "template.yaml has no parameter and no output {name}"
            );
        }
    }
}

//! Which stack: its tables by name, and a client with the operator's credentials.

mod cloudformation;
mod env_file;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryPartition;
use aws_sdk_dynamodb::config::{Builder, Credentials, ProvideCredentials as _};
use clap::Args;
use store::client::{http_client, tuned};

/// How long a connection may take, and one attempt of a call. An operator may be far from the region and on a slow line.
const CONNECT: Duration = Duration::from_secs(5);
const ATTEMPT: Duration = Duration::from_secs(20);

/// How long a write may take with all its attempts: nobody waits at the other end of a connection, as with a function.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// Where the tables are said to be.
#[derive(Args, Debug)]
pub(crate) struct StackArgs {
    /// The CloudFormation stack whose outputs name the tables
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "local")]
    stack: Option<String>,

    /// The stack that `cargo dev` runs, or the one that wrote FILE
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = env_file::USUAL)]
    local: Option<PathBuf>,
}

/// A table of the service.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    ApiKeys,
    Customers,
    Signals,
    RejectedSignals,
}

impl Table {
    /// The variable that names it, in the environment and in `target/dev.env`.
    fn variable(self) -> &'static str {
        match self {
            Self::ApiKeys => "API_KEYS_TABLE",
            Self::Customers => "CUSTOMERS_TABLE",
            Self::Signals => "SIGNALS_TABLE",
            Self::RejectedSignals => "REJECTED_SIGNALS_TABLE",
        }
    }
}

/// A stack that can be worked on.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) client: Client,
    variables: HashMap<String, String>,
    source: String,
}

impl StackArgs {
    /// Finds the stack and checks that there are a region and credentials for it.
    ///
    /// # Errors
    /// There is no such stack, no region or no credentials.
    pub(crate) async fn connect(&self) -> Result<Stack> {
        if let Some(file) = &self.local {
            let (file, variables) = env_file::read(file)?;
            let config = local_config(&file, &variables)?.load().await;
            return Ok(Stack { client: client(&config), variables, source: file });
        }
        let config = loader()?.load().await;
        check(&config).await?;
        let (variables, source) = match &self.stack {
            Some(name) => (cloudformation::variables(&config, name).await?, format!("the stack {name}")),
            None => (std::env::vars_os().filter_map(text).collect(), "the environment".to_owned()),
        };
        Ok(Stack { client: client(&config), variables, source })
    }
}

impl Stack {
    /// The name of a table.
    ///
    /// # Errors
    /// Nothing says it.
    pub(crate) fn table(&self, table: Table) -> Result<&str> {
        let variable = table.variable();
        self.variables.get(variable).map(String::as_str).filter(|name| !name.is_empty()).ok_or_else(|| {
            anyhow!(
                "Which table? {} does not say {variable}: give --stack NAME or --local, or set the variable.",
                self.source
            )
        })
    }
}

impl Stack {
    /// How long signals are kept, as the functions of this stack have it; `None`: for good.
    ///
    /// # Errors
    /// Nothing says it. A signal written without knowing would stay for good, or not as long as the others.
    pub(crate) fn retention(&self) -> Result<Option<Duration>> {
        let days: u64 =
            self.variables.get("SIGNAL_RETENTION_DAYS").and_then(|days| days.parse().ok()).ok_or_else(|| {
                anyhow!(
                    "How long are signals kept? {} does not say SIGNAL_RETENTION_DAYS: give --stack NAME or --local, or \
                     set the variable to that of the functions (0: for good).",
                    self.source
                )
            })?;
        Ok((days > 0).then(|| Duration::from_hours(days.saturating_mul(24))))
    }
}

fn text((name, value): (std::ffi::OsString, std::ffi::OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

fn loader() -> Result<ConfigLoader> {
    let http_client = http_client(CONNECT).map_err(|error| anyhow!("{error}."))?;
    Ok(aws_config::defaults(BehaviorVersion::latest()).http_client(http_client))
}

/// Everything from the file and nothing from the operator's profile, so that `--local` can never mean AWS.
fn local_config(file: &str, variables: &HashMap<String, String>) -> Result<ConfigLoader> {
    let variable = |name: &str| {
        variables.get(name).cloned().ok_or_else(|| anyhow!("{file} does not say {name}: start `cargo dev` again."))
    };
    let (id, secret) = (variable("AWS_ACCESS_KEY_ID")?, variable("AWS_SECRET_ACCESS_KEY")?);
    Ok(loader()?
        .endpoint_url(variable("AWS_ENDPOINT_URL_DYNAMODB")?)
        .region(Region::new(variable("AWS_REGION")?))
        .credentials_provider(Credentials::new(id, secret, None, None, "cargo dev")))
}

async fn check(config: &SdkConfig) -> Result<()> {
    if config.region().is_none() {
        bail!("No AWS region: set AWS_REGION, or choose a profile that has one with AWS_PROFILE.");
    }
    let no_credentials = || {
        anyhow!(
            "No AWS credentials: sign in (`aws sso login`), choose a profile with AWS_PROFILE, or set AWS_ACCESS_KEY_ID.",
        )
    };
    let provider = config.credentials_provider().ok_or_else(no_credentials)?;
    provider.provide_credentials().await.map(|_| ()).map_err(|_| no_credentials())
}

fn client(config: &SdkConfig) -> Client {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).build();
    // With the SDK's own, larger bound on retries: that of a function is there for a service with many processes.
    let config = tuned(Builder::from(config)).timeout_config(timeouts).retry_partition(RetryPartition::new("operator"));
    Client::from_conf(config.build())
}

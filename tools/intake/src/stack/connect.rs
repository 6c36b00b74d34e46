//! Finds the stack that the operator names, and loads the configuration for calls to it. Must not
//! know which calls are made.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use aws::sdk_config::http_client;
use aws::variables::Variables;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials as _};
use clap::Args;

use super::variable_names::{
    API_KEYS_TABLE, BASE_URL, CUSTOMERS_TABLE, DEAD_LETTER_QUEUE_URL, DELETION_PROTECTION,
    IDEMPOTENCY_TABLE, INTAKE_STACK, INTAKE_VERSION, KEY_SNAPSHOT_BUCKET, OVERFLOW_FUNCTION,
    OVERFLOW_QUEUE_URL, REJECTED_SIGNALS_TABLE, SIGNAL_RETENTION_DAYS, SIGNALS_TABLE,
};
use super::variables::{DEFAULT_FILE, StackVariables};
use super::{ATTEMPT_TIMEOUT, Stack};
use crate::http::CONNECT_TIMEOUT;

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

const NO_REGION: &str =
    "No AWS region. Set AWS_REGION, or choose a profile that has one with AWS_PROFILE.";
const NO_CREDENTIALS: &str = "No AWS credentials. Sign in (`aws sso login`), choose a profile with AWS_PROFILE, or set AWS_ACCESS_KEY_ID.";

/// Which stack a command works on.
#[derive(Args, Debug)]
pub(crate) struct StackArgs {
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "local")]
    #[arg(help = "The CloudFormation stack whose outputs name the tables [default: INTAKE_STACK]")]
    stack: Option<String>,

    /// The stack that `cargo dev` runs, and its account where none is given [FILE: the --env-file
    /// that it was given]
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = DEFAULT_FILE)]
    local: Option<PathBuf>,
}

/// The account of the local stack that these arguments name, if they name one.
pub(crate) fn local_account(arguments: &[OsString]) -> Option<Result<String>> {
    let file = arguments.iter().find_map(local_file)?;
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
    /// Finds the stack and checks that there are a region and credentials for it.
    pub(crate) async fn connect(&self) -> Result<Stack> {
        match &self.local {
            Some(file) => connect_to_local(file).await,
            None => self.connect_to_aws().await,
        }
    }

    async fn connect_to_aws(&self) -> Result<Stack> {
        let config = loader()?.load().await;
        ensure_region_and_credentials(&config).await?;
        let Some(name) = self.name() else {
            return Ok(Stack::new(
                &config,
                StackVariables::from_environment(),
                false,
            ));
        };
        let variables = StackVariables::read_stack(&config, &name, &OUTPUTS_AND_PARAMETERS).await?;
        Ok(Stack {
            arguments: format!(" --stack {name}"),
            name: Some(name),
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

async fn connect_to_local(file: &Path) -> Result<Stack> {
    let variables = StackVariables::read_file(file)?;
    let config = local_config(&variables)?.load().await;
    Ok(Stack {
        arguments: format!(" --local='{}'", file.display()),
        ..Stack::new(&config, variables, true)
    })
}

pub(super) fn loader() -> Result<ConfigLoader> {
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build();
    let http_client = http_client(&Variables::from_process(), CONNECT_TIMEOUT)?;
    Ok(aws_config::defaults(BehaviorVersion::latest())
        .http_client(http_client)
        .timeout_config(timeouts))
}

/// A configuration with everything from the file and nothing from the operator's profile, so that
/// `--local` can never mean AWS.
fn local_config(variables: &StackVariables) -> Result<ConfigLoader> {
    let get = |name| variables.get(name, "Start `cargo dev` again.");
    let credentials = Credentials::new(
        get("AWS_ACCESS_KEY_ID")?,
        get("AWS_SECRET_ACCESS_KEY")?,
        None,
        None,
        "cargo dev",
    );
    Ok(loader()?
        .endpoint_url(get("AWS_ENDPOINT_URL_DYNAMODB")?)
        .region(Region::new(get("AWS_REGION")?.to_owned()))
        .credentials_provider(credentials))
}

async fn ensure_region_and_credentials(config: &SdkConfig) -> Result<()> {
    config.region().context(NO_REGION)?;
    let provider = config.credentials_provider().context(NO_CREDENTIALS)?;
    let credentials = provider.provide_credentials().await;
    // The error of the SDK names each provider that it asked. The advice says more.
    credentials.ok().context(NO_CREDENTIALS)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::OUTPUTS_AND_PARAMETERS;

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

//! The stack that a command works on: its tables and queues, and clients with the operator's
//! credentials.

mod variables;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use aws::client::{dynamodb_with, retries};
use aws::environment::http_client;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials as _};
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;

use self::variables::{DEFAULT_FILE, Variables};
use crate::error::call_error;
use crate::http::CONNECT_TIMEOUT;

/// The timeout of one attempt of a call. An operator may be far from the region, on a slow line.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);

/// An item, as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Attempts per call to DynamoDB, including the first.
const MAX_ATTEMPTS: u32 = 4;

/// The timeout of a write with all its attempts. No client waits for it, as one waits for a
/// function.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// The variables that name the tables, in the environment and in `target/dev.env`.
pub(crate) const API_KEYS: &str = "API_KEYS_TABLE";
pub(crate) const CUSTOMERS: &str = "CUSTOMERS_TABLE";
pub(crate) const SIGNALS: &str = "SIGNALS_TABLE";
pub(crate) const REJECTED_SIGNALS: &str = "REJECTED_SIGNALS_TABLE";
pub(crate) const IDEMPOTENCY: &str = "IDEMPOTENCY_TABLE";

/// The variables that hold the URLs of the overflow queue and of its dead-letter queue. A stack may
/// have neither.
pub(crate) const OVERFLOW_QUEUE: &str = "OVERFLOW_QUEUE_URL";
pub(crate) const DEAD_LETTER_QUEUE: &str = "DEAD_LETTER_QUEUE_URL";

/// The variable that holds the name of the overflow function, which its metrics have.
pub(crate) const OVERFLOW_FUNCTION: &str = "OVERFLOW_FUNCTION";

/// The variable that holds the name of the bucket of the key snapshot. A stack may have none.
pub(crate) const KEY_SNAPSHOT_BUCKET: &str = store::key_snapshot::BUCKET_VARIABLE;

/// The variable that holds the address of the API.
pub(crate) const BASE_URL: &str = "BASE_URL";

/// The variable that says whether the tables have deletion protection.
pub(crate) const DELETION_PROTECTION: &str = "DELETION_PROTECTION";

/// The version of this command line, which is compared with the deployed one.
pub(crate) const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The variable that holds the version of Intake that is deployed.
pub(crate) const VERSION: &str = "INTAKE_VERSION";

/// The variable that says for how many days signals are kept; 0 keeps them forever.
const RETENTION: &str = "SIGNAL_RETENTION_DAYS";

/// The variable that names the CloudFormation stack in place of `--stack`.
const STACK: &str = "INTAKE_STACK";

/// The outputs and the parameters of template.yaml that the tool needs, and the variable that each
/// stands for.
const OUTPUTS: [(&str, &str); 13] = [
    ("ApiKeysTableName", API_KEYS),
    ("CustomersTableName", CUSTOMERS),
    ("SignalsTableName", SIGNALS),
    ("RejectedSignalsTableName", REJECTED_SIGNALS),
    ("IdempotencyTableName", IDEMPOTENCY),
    ("OverflowQueueUrl", OVERFLOW_QUEUE),
    ("OverflowDeadLetterQueueUrl", DEAD_LETTER_QUEUE),
    ("OverflowFunctionName", OVERFLOW_FUNCTION),
    ("KeySnapshotBucket", KEY_SNAPSHOT_BUCKET),
    ("SignalRetentionDays", RETENTION),
    ("BaseUrl", BASE_URL),
    ("DeletionProtection", DELETION_PROTECTION),
    ("Version", VERSION),
];

const NO_REGION: &str =
    "No AWS region. Set AWS_REGION, or choose a profile that has one with AWS_PROFILE.";
const NO_CREDENTIALS: &str = "No AWS credentials. Sign in (`aws sso login`), choose a profile with AWS_PROFILE, or set AWS_ACCESS_KEY_ID.";

/// Which stack a command works on.
#[derive(Args, Debug)]
pub(crate) struct StackArgs {
    /// The CloudFormation stack whose outputs name the tables
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "local")]
    #[arg(help = "The CloudFormation stack whose outputs name the tables [default: INTAKE_STACK]")]
    stack: Option<String>,

    /// The stack that `cargo dev` runs, and its account where none is given [FILE: the --env-file
    /// that it was given]
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = DEFAULT_FILE)]
    local: Option<PathBuf>,
}

/// A stack to work on.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) client: Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    /// Whether it is the stack of `cargo dev`.
    pub(crate) is_local: bool,
    /// The name of the CloudFormation stack, if one was given.
    pub(crate) name: Option<String>,
    /// What names the stack on a command line, after a blank.
    pub(crate) arguments: String,
    /// For calls to services for which there is no client here.
    pub(crate) config: SdkConfig,
    variables: Variables,
}

/// The account of the local stack that these arguments name, if they name one.
pub(crate) fn local_account(arguments: &[OsString]) -> Option<Result<String>> {
    let file =
        arguments.iter().find_map(
            |argument| match argument.to_str()?.strip_prefix("--local")? {
                "" => Some(DEFAULT_FILE),
                file => file.strip_prefix('='),
            },
        );
    let variables = Variables::of_file(Path::new(file?));
    Some(variables.and_then(|variables| {
        let account = variables.get("ACCOUNT_ID", "Give --account NAME.")?;
        Ok(account.to_owned())
    }))
}

impl StackArgs {
    /// Finds the stack and checks that there are a region and credentials for it.
    pub(crate) async fn connect(&self) -> Result<Stack> {
        if let Some(file) = &self.local {
            let variables = Variables::of_file(file)?;
            let config = local_config(&variables)?.load().await;
            let arguments = format!(" --local='{}'", file.display());
            return Ok(Stack {
                arguments,
                ..Stack::new(&config, variables, true)
            });
        }
        let config = loader()?.load().await;
        check(&config).await?;
        let name = self
            .stack
            .clone()
            .or_else(|| std::env::var(STACK).ok().filter(|name| !name.is_empty()));
        let variables = match &name {
            Some(name) => Variables::of_stack(&config, name, &OUTPUTS).await?,
            None => Variables::of_environment(),
        };
        let arguments = name
            .as_ref()
            .map(|name| format!(" --stack {name}"))
            .unwrap_or_default();
        Ok(Stack {
            name,
            arguments,
            ..Stack::new(&config, variables, false)
        })
    }
}

impl Stack {
    fn new(config: &SdkConfig, variables: Variables, is_local: bool) -> Self {
        let client = dynamodb_with(config, ATTEMPT_TIMEOUT, retries(MAX_ATTEMPTS));
        let mut sqs = aws_sdk_sqs::config::Builder::from(config);
        if is_local {
            sqs.set_endpoint_url(variables.find("AWS_ENDPOINT_URL_SQS").map(str::to_owned));
        }
        let sqs = aws_sdk_sqs::Client::from_conf(sqs.build());
        Self {
            client,
            sqs,
            is_local,
            name: None,
            arguments: String::new(),
            config: config.clone(),
            variables,
        }
    }

    /// The same stack, with this much time for each call to DynamoDB with all its attempts.
    pub(crate) fn with_call_timeout(&self, timeout: Duration) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(timeout)
            // A connection that hangs leaves time for another one.
            .operation_attempt_timeout(timeout / 2)
            .build();
        let config = self.client.config().to_builder().timeout_config(timeouts);
        Self {
            client: Client::from_conf(config.build()),
            ..self.clone()
        }
    }

    /// The name of the table that `variable` holds.
    pub(crate) fn table(&self, variable: &str) -> Result<&str> {
        self.variables.get(
            variable,
            "Give --stack NAME or --local, or set the variable.",
        )
    }

    /// The address of the API, without a slash at its end.
    pub(crate) fn base_url(&self) -> Result<&str> {
        let url = self.variables.get(
            BASE_URL,
            "Give --stack NAME, --local or --base-url URL, or set the variable.",
        )?;
        Ok(url.trim_end_matches('/'))
    }

    /// The value of a variable that a stack may not have.
    pub(crate) fn optional(&self, variable: &str) -> Option<&str> {
        self.variables.find(variable)
    }

    /// The URLs of the overflow queue and of its dead-letter queue; `None` when there is no
    /// overflow queue.
    ///
    /// # Errors
    /// Only one of the two is known: an erasure must count the messages of both.
    pub(crate) fn queue_urls(&self) -> Result<Option<[&str; 2]>> {
        let names = [OVERFLOW_QUEUE, DEAD_LETTER_QUEUE];
        if names.iter().all(|name| self.variables.find(name).is_none()) {
            return Ok(None);
        }
        let [overflow, dead_letters] = names.map(|name| {
            self.variables.get(
                name,
                "Give --stack NAME, or set the variables of both queues.",
            )
        });
        Ok(Some([overflow?, dead_letters?]))
    }

    /// Says that there is no overflow queue.
    pub(crate) fn without_queues(&self) -> String {
        if self.is_local {
            return "The stack of `cargo dev` runs without an overflow queue (--no-queue)."
                .to_owned();
        }
        format!(
            "{} defines no overflow queue: neither {OVERFLOW_QUEUE} nor {DEAD_LETTER_QUEUE}.",
            self.variables.source
        )
    }

    /// How long signals are kept; `None`: forever. There is no default: a signal written with
    /// another one than the functions' would stay forever, or not as long as the others.
    pub(crate) fn retention(&self) -> Result<Option<Duration>> {
        let advice = "Give --stack NAME or --local, or set the variable as the functions have it (0: forever).";
        let days = self.variables.get(RETENTION, advice)?;
        let days: u64 = days
            .parse()
            .with_context(|| format!("{RETENTION} must be a number of days"))?;
        Ok((days > 0).then(|| Duration::from_hours(days.saturating_mul(24))))
    }

    /// The item with this key, as it is now.
    pub(crate) async fn get(&self, table: &str, key: Item) -> Result<Option<Item>> {
        let get = self
            .client
            .get_item()
            .table_name(table)
            .set_key(Some(key))
            .consistent_read(true);
        Ok(get
            .send()
            .await
            .map_err(|error| call_error(table, error))?
            .item)
    }

    /// A query for the items of one partition of `table`.
    pub(crate) fn query(&self, table: &str, partition: String) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", AttributeValue::S(partition))
            .consistent_read(true)
    }
}

fn loader() -> Result<ConfigLoader> {
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build();
    let http_client = http_client(CONNECT_TIMEOUT)?;
    Ok(aws_config::defaults(BehaviorVersion::latest())
        .http_client(http_client)
        .timeout_config(timeouts))
}

/// Everything from the file and nothing from the operator's profile, so that `--local` can never
/// mean AWS.
fn local_config(variables: &Variables) -> Result<ConfigLoader> {
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

async fn check(config: &SdkConfig) -> Result<()> {
    config.region().context(NO_REGION)?;
    let provider = config.credentials_provider().context(NO_CREDENTIALS)?;
    provider
        .provide_credentials()
        .await
        .ok()
        .map(drop)
        .context(NO_CREDENTIALS)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    impl Stack {
        /// The stack of a test.
        pub(crate) async fn of(app: &testkit::TestApp) -> Self {
            let credentials = Credentials::new("local", "local", None, None, "test");
            let config = loader()
                .unwrap()
                .credentials_provider(credentials)
                .region(Region::new("eu-central-1"))
                .endpoint_url(app.emulator.endpoint());
            let name = |variable: &str, table| {
                (variable.to_owned(), testkit::Tables::name(table).to_owned())
            };
            let values = HashMap::from([name(API_KEYS, "ApiKeysTable")]);
            Self::new(
                &config.load().await,
                Variables {
                    values,
                    source: "The test".to_owned(),
                },
                true,
            )
        }
    }
}

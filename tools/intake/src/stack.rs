//! The stack that a command works on: its tables and queues, and clients with the operator's
//! credentials. Must not know what a command does with them.

mod aws_settings;
mod connect;
pub(crate) mod network;
mod state;
pub(crate) mod variables;

use std::time::Duration;

use anyhow::{Context as _, Result};
use aws::dynamodb::dynamodb_with_retries;
use aws::http_client::refuse_empty_responses;
use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use operator::Tables;
use operator::rejected::RejectedTable;

use self::connect::START_AGAIN;
pub(crate) use self::connect::{StackArgs, local_account};
use self::state::StackState;
use self::variables::StackVariables;
use self::variables::{
    BASE_URL, CUSTOMERS_TABLE, DEAD_LETTER_QUEUE_URL, KEY_SNAPSHOT_BUCKET, OVERFLOW_QUEUE_URL,
    REJECTED_SIGNALS_TABLE, SIGNAL_RETENTION_DAYS, SIGNALS_TABLE,
};
use crate::output::note;

/// The timeout of one attempt of a call. An operator may be far from the region, on a slow line.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);

/// The advice for a variable of a deployed stack.
const NAME_THE_STACK: &str = "Give --stack NAME or --local, or set the variable.";

/// The version of this command line, which is compared with the deployed one.
pub(crate) const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A stack to work on.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) dynamodb: Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    /// Whether it is the stack of `cargo dev`.
    pub(crate) is_local: bool,
    /// The name of the CloudFormation stack, if one was given.
    pub(crate) name: Option<String>,
    /// The state of that stack.
    pub(crate) state: Option<StackState>,
    /// The configuration, for the clients of other services.
    pub(crate) config: SdkConfig,
    variables: StackVariables,
}

/// The URLs of the queues of a stack.
pub(crate) struct QueueUrls<'a> {
    pub(crate) overflow: &'a str,
    pub(crate) dead_letters: &'a str,
}

impl Stack {
    fn new(config: &SdkConfig, variables: StackVariables, is_local: bool) -> Self {
        let http_client = config.http_client().map(refuse_empty_responses);
        let mut sqs = aws_sdk_sqs::config::Builder::from(config);
        sqs.set_http_client(http_client);
        Self {
            dynamodb: dynamodb_with_retries(config),
            sqs: aws_sdk_sqs::Client::from_conf(sqs.build()),
            is_local,
            name: None,
            state: None,
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
        let config = self.dynamodb.config().to_builder().timeout_config(timeouts);
        Self {
            dynamodb: Client::from_conf(config.build()),
            ..self.clone()
        }
    }

    /// # Errors
    /// The stack is being deleted, or was.
    pub(crate) fn ensure_not_deleted(&self) -> Result<()> {
        self.state
            .as_ref()
            .map_or(Ok(()), StackState::ensure_not_deleted)
    }

    /// The name of the table that `variable` holds.
    pub(crate) fn table_name(&self, variable: &str) -> Result<&str> {
        self.variables.get(variable, NAME_THE_STACK)
    }

    /// The tables that an import and a redrive need.
    pub(crate) fn tables(&self) -> Result<Tables> {
        Ok(Tables {
            dynamodb: self.dynamodb.clone(),
            customers: self.table_name(CUSTOMERS_TABLE)?.to_owned(),
            signals: self.table_name(SIGNALS_TABLE)?.to_owned(),
            rejected_signals: self.table_name(REJECTED_SIGNALS_TABLE)?.to_owned(),
            retention: self.retention()?,
            note,
        })
    }

    /// The table of the rejected signals.
    pub(crate) fn rejected_table(&self) -> Result<RejectedTable> {
        let table_name = self.table_name(REJECTED_SIGNALS_TABLE)?;
        Ok(RejectedTable::new(self.dynamodb.clone(), table_name, note))
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

    /// The name of the bucket of the key snapshot.
    ///
    /// # Errors
    /// It is unknown: a command must not change a key that the snapshot has.
    pub(crate) fn key_snapshot_bucket(&self) -> Result<&str> {
        self.variables.get(KEY_SNAPSHOT_BUCKET, self.advice())
    }

    /// What to do about a variable that is not set or empty.
    fn advice(&self) -> &'static str {
        if self.is_local {
            START_AGAIN
        } else {
            NAME_THE_STACK
        }
    }

    /// Whether there is a stack of the delivery beside this one. A stack without a name is taken for one
    /// without a delivery.
    ///
    /// # Errors
    /// CloudFormation does not say.
    pub(crate) async fn has_delivery(&self) -> Result<bool> {
        let Some(name) = &self.name else {
            return Ok(false);
        };
        variables::exists(&self.config, &delivery_of(name)).await
    }

    /// An output of the stack of the delivery.
    ///
    /// # Errors
    /// This stack has no name, or there is no such stack or output.
    pub(crate) async fn output_of_delivery(&self, output: &str) -> Result<String> {
        let name = self
            .name
            .as_deref()
            .context("No lake: give --bucket NAME, or the stack of the service by --stack NAME.")?;
        let delivery = delivery_of(name);
        let names = [(output, output)];
        let described = variables::describe(&self.config, &delivery).await?;
        let variables = StackVariables::of_stack(&described, &names);
        let value = variables.get(output, "Give --bucket NAME.")?;
        Ok(value.to_owned())
    }

    /// The URLs of the overflow queue and of its dead-letter queue.
    ///
    /// # Errors
    /// One of them is unknown.
    pub(crate) fn queue_urls(&self) -> Result<QueueUrls<'_>> {
        Ok(QueueUrls {
            overflow: self.variables.get(OVERFLOW_QUEUE_URL, self.advice())?,
            dead_letters: self.variables.get(DEAD_LETTER_QUEUE_URL, self.advice())?,
        })
    }

    /// How long signals are kept. `None` means forever. There is no default: a signal that is written
    /// with another retention than the functions' would be kept longer than the others, or not as
    /// long.
    pub(crate) fn retention(&self) -> Result<Option<Duration>> {
        let advice = "Give --stack NAME or --local, or set the variable as the functions have it (0: forever).";
        let days = self.variables.get(SIGNAL_RETENTION_DAYS, advice)?;
        let days: u64 = days
            .parse()
            .with_context(|| format!("{SIGNAL_RETENTION_DAYS} must be a number of days"))?;
        if days == 0 {
            return Ok(None);
        }
        Ok(Some(Duration::from_secs(days.saturating_mul(24 * 60 * 60))))
    }
}

/// What follows the name of a stack in that of the stack of its delivery.
const DELIVERY: &str = "-delivery";

/// The name of the stack of the delivery (delivery/README.md).
fn delivery_of(stack: &str) -> String {
    format!("{stack}{DELIVERY}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aws_config::Region;
    use aws_sdk_dynamodb::config::Credentials;

    use super::connect::loopback_config;
    use super::*;

    impl Stack {
        /// The stack of a test.
        pub(crate) fn from_app(app: &harness::TestApp) -> Self {
            let credentials = Credentials::new("local", "local", None, None, "test");
            let region = Region::new("eu-central-1");
            let endpoint = app.emulator.endpoint();
            let config = loopback_config(credentials, region, endpoint).unwrap();
            let table = harness::table_name("ApiKeysTable");
            let variables = StackVariables {
                values: HashMap::from([(variables::API_KEYS_TABLE.to_owned(), table.to_owned())]),
                source: "The test".to_owned(),
                advice: None,
            };
            Self::new(&config, variables, true)
        }
    }
}

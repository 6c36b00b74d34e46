//! The variables that describe a stack: those of the environment, those in the file that `cargo
//! dev` writes, or what CloudFormation knows of a deployed stack. Each name is a constant of the same
//! name. Must not know what they are for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_cloudformation::operation::describe_stacks::DescribeStacksError;
use aws_sdk_cloudformation::types::Stack;
use operator::error::service_error;
use operator::read_retries::{RETRY_TIMEOUT, retry_read};
use store::api_keys::ApiKeysTable;
use store::customers::CustomersTable;
use store::idempotency::IdempotencyTable;
use store::overflow_messages;
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

use super::state::StackState;
use crate::output::note;

/// The variable that names the CloudFormation stack in place of `--stack`.
pub(crate) const INTAKE_STACK: &str = "INTAKE_STACK";

/// The variables that name the tables, in the environment and in `target/dev.env`.
pub(crate) const API_KEYS_TABLE: &str = ApiKeysTable::VARIABLE;
pub(crate) const CUSTOMERS_TABLE: &str = CustomersTable::VARIABLE;
pub(crate) const SIGNALS_TABLE: &str = SignalsTable::VARIABLE;
pub(crate) const REJECTED_SIGNALS_TABLE: &str = RejectedSignalsTable::VARIABLE;
pub(crate) const IDEMPOTENCY_TABLE: &str = IdempotencyTable::VARIABLE;

/// The variables that hold the URLs of the overflow queue and of its dead-letter queue.
pub(crate) const OVERFLOW_QUEUE_URL: &str = overflow_messages::QUEUE_VARIABLE;
pub(crate) const DEAD_LETTER_QUEUE_URL: &str = overflow_messages::DEAD_LETTER_QUEUE_VARIABLE;

/// The variable that holds the name of the overflow function, which its metrics have.
pub(crate) const OVERFLOW_FUNCTION: &str = "OVERFLOW_FUNCTION";

/// The variable that holds the name of the bucket of the key snapshot.
pub(crate) const KEY_SNAPSHOT_BUCKET: &str = store::key_snapshot::BUCKET_VARIABLE;

/// The variable that holds the address of the API.
pub(crate) const BASE_URL: &str = "BASE_URL";

/// The variable that says whether the tables have deletion protection.
pub(crate) const DELETION_PROTECTION: &str = "DELETION_PROTECTION";

/// The variable that holds the version of Intake that is deployed.
pub(crate) const INTAKE_VERSION: &str = "INTAKE_VERSION";

/// The variable that says for how many days signals are kept; 0 keeps them forever.
pub(crate) const SIGNAL_RETENTION_DAYS: &str = SignalsTable::RETENTION_VARIABLE;

/// The file that `cargo dev` writes by default, from the root of the workspace.
pub(super) const DEFAULT_FILE: &str = "target/dev.env";

/// The variables that describe a stack, and where they come from.
#[derive(Clone, Debug)]
pub(super) struct StackVariables {
    pub(super) values: HashMap<String, String>,
    pub(super) source: String,
    /// What to do about any variable that is missing, if that is known.
    pub(super) advice: Option<String>,
}

impl StackVariables {
    pub(super) fn from_environment() -> Self {
        let mut values = HashMap::new();
        for (name, value) in std::env::vars_os() {
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                values.insert(name, value);
            }
        }
        Self {
            values,
            source: "The environment".to_owned(),
            advice: None,
        }
    }

    /// The variables in `file`. The default file may also be in a folder above the current one, or
    /// where a release writes it: in the current folder itself.
    pub(super) fn read_file(file: &Path) -> Result<Self> {
        let is_default = file == Path::new(DEFAULT_FILE);
        let file = if is_default {
            find_default()?
        } else {
            file.to_owned()
        };
        let source = file.display().to_string();
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("Cannot read {source} (is `cargo dev` running?)"))?;
        let values = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Ok(Self {
            values,
            source,
            advice: None,
        })
    }

    /// The outputs and the parameters of a stack, under the variables that `names` has for them.
    pub(super) fn of_stack(described: &Stack, names: &[(&str, &str)]) -> Self {
        let outputs = described.outputs().iter();
        let outputs = outputs.map(|output| (output.output_key(), output.output_value()));
        let parameters = described.parameters().iter();
        let parameters =
            parameters.map(|parameter| (parameter.parameter_key(), parameter.parameter_value()));
        let mut values = HashMap::new();
        for (key, value) in outputs.chain(parameters) {
            let (Some(key), Some(value)) = (key, value) else {
                continue;
            };
            if let Some((_, variable)) = names.iter().find(|(output, _)| key == *output) {
                values.insert((*variable).to_owned(), value.to_owned());
            }
        }
        let state = state_of(described);
        Self {
            values,
            source: format!("The stack {}", described.stack_name().unwrap_or_default()),
            advice: (state.is_unusable())
                .then(|| format!("It is in the state {}.", state.explain())),
        }
    }

    /// The value of a variable that is set to something.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a variable. The error says which variable is missing where, and `advice`.
    pub(super) fn get(&self, name: &str, advice: &str) -> Result<&str> {
        let advice = self.advice.as_deref().unwrap_or(advice);
        self.find(name)
            .with_context(|| format!("{} does not define {name}. {advice}", self.source))
    }
}

fn find_default() -> Result<PathBuf> {
    let current = std::env::current_dir().unwrap_or_default();
    let in_workspace = current.ancestors().map(|folder| folder.join(DEFAULT_FILE));
    let of_release = current.join("dev.env");
    in_workspace
        .chain([of_release])
        .find(|file| file.is_file())
        .with_context(|| format!("No local stack is running: neither {DEFAULT_FILE} nor dev.env exists. Start one with `cargo dev` or `./dev`."))
}

/// The code with which CloudFormation refuses a call for a stack that does not exist.
const NO_SUCH_STACK: &str = "ValidationError";

/// Describes one stack.
///
/// # Errors
/// There is no such stack, or CloudFormation does not respond.
pub(super) async fn describe(config: &SdkConfig, name: &str) -> Result<Stack> {
    let described = find(config, name).await?;
    described.with_context(|| {
        let region = region(config);
        format!(
            "The stack {name} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE."
        )
    })
}

/// The state of a stack.
pub(super) fn state_of(described: &Stack) -> StackState {
    let name = described.stack_name().unwrap_or_default().to_owned();
    let status = described.stack_status();
    StackState::new(name, status.cloned().unwrap_or_else(|| "".into()))
}

/// Whether there is a stack with this name.
///
/// # Errors
/// CloudFormation does not respond.
pub(super) async fn exists(config: &SdkConfig, name: &str) -> Result<bool> {
    let found = find(config, name).await?;
    Ok(found.is_some())
}

async fn find(config: &SdkConfig, name: &str) -> Result<Option<Stack>> {
    let call = Client::new(config).describe_stacks().stack_name(name);
    let described = retry_read("CloudFormation", note, RETRY_TIMEOUT, || {
        call.clone().send()
    })
    .await;
    let described = match described {
        Ok(described) => described,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => {
            let context = format!("Cannot read the stack {name} in {}", region(config));
            return Err(service_error("CloudFormation", &error).context(context));
        }
    };
    Ok(described.stacks.into_iter().flatten().next())
}

fn region(config: &SdkConfig) -> String {
    config.region().map(ToString::to_string).unwrap_or_default()
}

fn is_missing<R>(error: &SdkError<DescribeStacksError, R>) -> bool {
    let refused = error.as_service_error();
    refused.is_some_and(|refused| refused.code() == Some(NO_SUCH_STACK))
}

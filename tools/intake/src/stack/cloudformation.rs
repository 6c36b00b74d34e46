//! The tables that a deployed stack says it has.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;

/// Which variable each output of template.yaml is for.
const OUTPUTS: [(&str, &str); 5] = [
    ("ApiKeysTableName", "API_KEYS_TABLE"),
    ("CustomersTableName", "CUSTOMERS_TABLE"),
    ("SignalsTableName", "SIGNALS_TABLE"),
    ("RequestsTableName", "REQUESTS_TABLE"),
    ("RejectedSignalsTableName", "REJECTED_SIGNALS_TABLE"),
];

/// The parameter of template.yaml that says how long signals are kept, and its variable.
const RETENTION: (&str, &str) = ("SignalRetentionDays", "SIGNAL_RETENTION_DAYS");

/// What the functions of the stack have as variables, as far as an operator needs it.
///
/// # Errors
/// There is no such stack, or it cannot be read.
pub(super) async fn variables(config: &SdkConfig, name: &str) -> Result<HashMap<String, String>> {
    let answer = Client::new(config).describe_stacks().stack_name(name).send().await.map_err(|error| {
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        match (error.code(), error.message()) {
            (Some("ValidationError"), _) => {
                anyhow!("There is no stack {name} in {region}: check its name, AWS_REGION and AWS_PROFILE.")
            }
            (Some(code), message) => anyhow!(
                "Cannot read the stack {name} in {region}: {code}: {}",
                message.unwrap_or("no reason was given.")
            ),
            (None, _) => {
                anyhow!("Cannot reach CloudFormation in {region} for the stack {name}: check the network.")
            }
        }
    })?;
    let mut variables = HashMap::new();
    for stack in answer.stacks() {
        for output in stack.outputs() {
            let known = OUTPUTS.iter().find(|(key, _)| Some(*key) == output.output_key());
            if let (Some((_, variable)), Some(value)) = (known, output.output_value()) {
                variables.insert((*variable).to_owned(), value.to_owned());
            }
        }
        let retention = stack.parameters().iter().find(|parameter| parameter.parameter_key() == Some(RETENTION.0));
        if let Some(days) = retention.and_then(|parameter| parameter.parameter_value()) {
            variables.insert(RETENTION.1.to_owned(), days.to_owned());
        }
    }
    Ok(variables)
}

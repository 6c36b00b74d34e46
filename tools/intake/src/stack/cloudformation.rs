//! The tables and queues of a deployed stack, by its outputs.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::ProvideErrorMetadata;

use super::{
    API_KEYS, BASE_URL, CUSTOMERS, DEAD_LETTER_QUEUE, DELETION_PROTECTION, IDEMPOTENCY, OVERFLOW_QUEUE,
    REJECTED_SIGNALS, RETENTION, SIGNALS, THROTTLE_RATE, VERSION,
};

/// The outputs and the parameters of template.yaml that the tool needs, and the variable that each stands for.
const VARIABLES: [(&str, &str); 12] = [
    ("ApiKeysTableName", API_KEYS),
    ("CustomersTableName", CUSTOMERS),
    ("SignalsTableName", SIGNALS),
    ("RejectedSignalsTableName", REJECTED_SIGNALS),
    ("IdempotencyTableName", IDEMPOTENCY),
    ("OverflowQueueUrl", OVERFLOW_QUEUE),
    ("OverflowDeadLetterQueueUrl", DEAD_LETTER_QUEUE),
    ("SignalRetentionDays", RETENTION),
    ("BaseUrl", BASE_URL),
    ("DeletionProtection", DELETION_PROTECTION),
    ("ThrottleRate", THROTTLE_RATE),
    ("Version", VERSION),
];

/// The variables that the stack's functions have, as far as the tool needs them.
pub(super) async fn variables(config: &SdkConfig, name: &str) -> Result<HashMap<String, String>> {
    let region = config.region().map(ToString::to_string).unwrap_or_default();
    let described = Client::new(config).describe_stacks().stack_name(name).send().await;
    let described = described.map_err(|error| explain(&error, name, &region))?;
    let stack = described.stacks().first().context("CloudFormation described no stack")?;
    let outputs = stack.outputs().iter().map(|output| (output.output_key(), output.output_value()));
    let parameters = stack.parameters().iter().map(|one| (one.parameter_key(), one.parameter_value()));
    let mut variables = HashMap::new();
    for (key, value) in outputs.chain(parameters) {
        let known = VARIABLES.iter().find(|(name, _)| Some(*name) == key);
        if let (Some((_, variable)), Some(value)) = (known, value) {
            variables.insert((*variable).to_owned(), value.to_owned());
        }
    }
    Ok(variables)
}

fn explain(error: &impl ProvideErrorMetadata, stack: &str, region: &str) -> Error {
    match (error.code(), error.message()) {
        (Some("ValidationError"), _) => {
            anyhow!("The stack {stack} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE.")
        }
        (Some(code), message) => {
            anyhow!("Cannot read the stack {stack} in {region}: {code}: {}", message.unwrap_or_default())
        }
        (None, _) => anyhow!("Cannot reach CloudFormation in {region} for the stack {stack}. Check the network."),
    }
}

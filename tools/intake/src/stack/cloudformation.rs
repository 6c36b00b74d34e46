//! The tables and queues of a deployed stack, by its outputs.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow};
use aws_config::SdkConfig;
use roxmltree::Document;

use super::{
    API_KEYS, BASE_URL, CUSTOMERS, DEAD_LETTER_QUEUE, DELETION_PROTECTION, IDEMPOTENCY, KEY_SNAPSHOT_BUCKET,
    OVERFLOW_QUEUE, REJECTED_SIGNALS, RETENTION, SIGNALS, VERSION,
};
use crate::aws_call::{AwsClient, CLOUDFORMATION, Refusal};

/// The outputs and the parameters of template.yaml that the tool needs, and the variable that each stands for.
const VARIABLES: [(&str, &str); 12] = [
    ("ApiKeysTableName", API_KEYS),
    ("CustomersTableName", CUSTOMERS),
    ("SignalsTableName", SIGNALS),
    ("RejectedSignalsTableName", REJECTED_SIGNALS),
    ("IdempotencyTableName", IDEMPOTENCY),
    ("OverflowQueueUrl", OVERFLOW_QUEUE),
    ("OverflowDeadLetterQueueUrl", DEAD_LETTER_QUEUE),
    ("KeySnapshotBucket", KEY_SNAPSHOT_BUCKET),
    ("SignalRetentionDays", RETENTION),
    ("BaseUrl", BASE_URL),
    ("DeletionProtection", DELETION_PROTECTION),
    ("Version", VERSION),
];

/// The variables that the stack's functions have, as far as the tool needs them.
pub(super) async fn variables(config: &SdkConfig, name: &str) -> Result<HashMap<String, String>> {
    // The SDK's client for this one call would be the largest crate of the tool.
    let form = [("Action", "DescribeStacks"), ("Version", "2010-05-15"), ("StackName", name)];
    let described = AwsClient::new(config)?.query(CLOUDFORMATION, &form).await;
    let xml = described.map_err(|error| explain(&error, name, config))?;
    let document = Document::parse(&xml).context("CloudFormation's answer is no XML")?;
    let mut variables = HashMap::new();
    for node in document.descendants() {
        let text = |names: [&str; 2]| {
            let child = node.children().find(|child| names.contains(&child.tag_name().name()));
            child.and_then(|child| child.text())
        };
        let known = VARIABLES.iter().find(|(name, _)| text(["OutputKey", "ParameterKey"]) == Some(name));
        if let (Some((_, variable)), Some(value)) = (known, text(["OutputValue", "ParameterValue"])) {
            variables.insert((*variable).to_owned(), value.to_owned());
        }
    }
    Ok(variables)
}

fn explain(error: &Error, stack: &str, config: &SdkConfig) -> Error {
    let region = config.region().map(ToString::to_string).unwrap_or_default();
    match error.downcast_ref() {
        Some(Refusal { code, .. }) if code == "ValidationError" => {
            anyhow!("The stack {stack} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE.")
        }
        Some(Refusal { code, message, .. }) => anyhow!("Cannot read the stack {stack} in {region}: {code}: {message}"),
        None => anyhow!("Cannot reach CloudFormation in {region} for the stack {stack}. Check the network."),
    }
}

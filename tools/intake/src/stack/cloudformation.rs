//! What CloudFormation knows of a deployed stack. Must not know what its outputs are for.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow};
use aws_config::SdkConfig;
use roxmltree::Document;

use crate::aws_call::{AwsClient, CLOUDFORMATION, Refusal};

/// The outputs and the parameters of a stack, by name.
pub(super) async fn values(config: &SdkConfig, name: &str) -> Result<HashMap<String, String>> {
    // The SDK's client for this one call would be the largest crate of the tool.
    let form = [("Action", "DescribeStacks"), ("Version", "2010-05-15"), ("StackName", name)];
    let described = AwsClient::new(config)?.query(CLOUDFORMATION, &form).await;
    let xml = described.map_err(|error| explain(&error, name, config))?;
    let document = Document::parse(&xml).context("CloudFormation's answer is no XML")?;
    let values = document.descendants().filter_map(|node| {
        let text = |names: [&str; 2]| {
            let child = node.children().find(|child| names.contains(&child.tag_name().name()))?;
            child.text().map(ToOwned::to_owned)
        };
        Some((text(["OutputKey", "ParameterKey"])?, text(["OutputValue", "ParameterValue"])?))
    });
    Ok(values.collect())
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

//! What CloudFormation knows of a deployed stack. Must not know what its outputs are for.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;
use aws_sdk_cloudformation::types::Stack;

/// The outputs and the parameters of a stack, by name.
pub(super) async fn values(config: &SdkConfig, name: &str) -> Result<HashMap<String, String>> {
    let described = Client::new(config).describe_stacks().stack_name(name).send().await;
    let described = described.map_err(|error| {
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        match (error.code(), error.message().unwrap_or_default()) {
            (Some("ValidationError"), _) => {
                anyhow!("The stack {name} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE.")
            }
            (Some(code), message) => anyhow!("Cannot read the stack {name} in {region}: {code}: {message}"),
            (None, _) => anyhow!("Cannot reach CloudFormation in {region} for the stack {name}. Check the network."),
        }
    })?;
    let stacks = || described.stacks().iter();
    let outputs = stacks().flat_map(Stack::outputs).map(|output| (output.output_key(), output.output_value()));
    let parameters = stacks().flat_map(Stack::parameters);
    let parameters = parameters.map(|parameter| (parameter.parameter_key(), parameter.parameter_value()));
    let values = outputs.chain(parameters).filter_map(|(name, value)| Some((name?.to_owned(), value?.to_owned())));
    Ok(values.collect())
}

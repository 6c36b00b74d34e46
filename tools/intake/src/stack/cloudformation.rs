//! What CloudFormation says of a stack. Must not know what its outputs are for.

use anyhow::{Context as _, Result, anyhow};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_cloudformation::operation::describe_stacks::DescribeStacksError;
use aws_sdk_cloudformation::types::Stack;

use operator::error::service_error;

/// The code with which CloudFormation refuses a call for a stack that does not exist.
const NO_SUCH_STACK: &str = "ValidationError";

/// Describes one stack.
pub(super) async fn describe(config: &SdkConfig, name: &str) -> Result<Stack> {
    let region = config.region().map(ToString::to_string).unwrap_or_default();
    let missing = || {
        format!(
            "The stack {name} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE."
        )
    };
    let described = Client::new(config)
        .describe_stacks()
        .stack_name(name)
        .send()
        .await;
    let described = described.map_err(|error| {
        if is_missing(&error) {
            return anyhow!(missing());
        }
        let context = format!("Cannot read the stack {name} in {region}");
        service_error("CloudFormation", &error).context(context)
    })?;
    let stack = described.stacks.into_iter().flatten().next();
    stack.with_context(missing)
}

fn is_missing<R>(error: &SdkError<DescribeStacksError, R>) -> bool {
    let refused = error.as_service_error();
    refused.is_some_and(|refused| refused.code() == Some(NO_SUCH_STACK))
}

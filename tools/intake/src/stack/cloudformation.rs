//! What CloudFormation says of a stack. Must not know what its outputs are for.

use anyhow::{Context as _, Result};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_cloudformation::operation::describe_stacks::DescribeStacksError;
use aws_sdk_cloudformation::types::Stack;

use operator::error::service_error;

/// The code with which CloudFormation refuses a call for a stack that does not exist.
const NO_SUCH_STACK: &str = "ValidationError";

/// Describes one stack.
///
/// # Errors
/// There is no such stack, or CloudFormation does not answer.
pub(super) async fn describe(config: &SdkConfig, name: &str) -> Result<Stack> {
    let described = find(config, name).await?;
    described.with_context(|| {
        let region = region(config);
        format!(
            "The stack {name} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE."
        )
    })
}

/// Whether there is a stack with this name.
///
/// # Errors
/// CloudFormation does not answer.
pub(super) async fn exists(config: &SdkConfig, name: &str) -> Result<bool> {
    let found = find(config, name).await?;
    Ok(found.is_some())
}

async fn find(config: &SdkConfig, name: &str) -> Result<Option<Stack>> {
    let described = Client::new(config)
        .describe_stacks()
        .stack_name(name)
        .send()
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

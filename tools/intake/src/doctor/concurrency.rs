//! How many invocations Lambda runs at once for the AWS account, and how many the stack may need
//! ("Concurrency" in docs/operate.md). Must not know how results are printed.

use anyhow::{Context as _, Result};
use aws_sdk_lambda::Client;

use crate::check_result::CheckOutcome;
use crate::stack::Stack;
use operator::error::service_error;

/// The most drains at once: `MaximumConcurrency` of the overflow function in template.yaml.
const DRAINS: i32 = 2;

/// What a delivery holds while a target does not answer: two functions, each for two streams with the four
/// shards of a new table (delivery/README.md).
const DELIVERY: i32 = 16;

/// Checks that the quota leaves the API something beside the drains and a delivery, if there is one.
pub(super) async fn check(stack: &Stack) -> Result<CheckOutcome> {
    if stack.is_local {
        return Ok(CheckOutcome::skipped("only an AWS account has a quota"));
    }
    let settings = Client::new(&stack.config)
        .get_account_settings()
        .send()
        .await
        .map_err(|error| service_error("Lambda", &error))?;
    let limit = settings
        .account_limit
        .context("Lambda did not say what the quota is")?;
    let quota = limit.concurrent_executions;
    let unreserved = limit.unreserved_concurrent_executions.unwrap_or(quota);
    let has_delivery = stack.has_delivery().await?;
    let held = if has_delivery {
        DRAINS + DELIVERY
    } else {
        DRAINS
    };
    let without_delivery = if has_delivery {
        ""
    } else {
        ", a delivery 16 more"
    };
    let seen = format!(
        "{quota} concurrent executions in this account and region, {unreserved} of them not reserved. Drains and delivery hold up \
         to {held} of these{without_delivery}; the API has the rest"
    );
    if unreserved <= held {
        return Ok(CheckOutcome::failed(format!(
            "{seen}: raise the quota in Service Quotas, AWS Lambda, \"Concurrent executions\""
        )));
    }
    Ok(CheckOutcome::held(seen))
}

#[cfg(test)]
mod tests {
    use super::DRAINS;

    #[test]
    fn drains_are_as_many_as_the_template_permits() {
        let template = include_str!("../../../../template.yaml");
        let setting = format!("MaximumConcurrency: {DRAINS}}}");
        assert!(template.contains(&setting));
    }
}

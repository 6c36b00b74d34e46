//! Whether an alarm fires. Must not know how results are printed.

use anyhow::Result;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::types::StateValue;

use crate::check_result::CheckOutcome;
use crate::stack::Stack;
use operator::error::service_error;

/// What follows the name of the stack and `-` in the name of an alarm: `DefectsAlarm` of
/// template.yaml, and the stack nested in it. An alarm of another stack, such as `intake-dev`
/// beside `intake`, has the rest of that stack's name there.
const OWN_ALARMS: [&str; 2] = ["DefectsAlarm-", "Monitoring-"];

/// Checks that no alarm of the stack, or of the stack nested in it, fires. There are fewer alarms
/// than one page has.
pub(super) async fn check(stack: &Stack, client: &Client) -> Result<CheckOutcome> {
    let Some(stack) = &stack.name else {
        return Ok(CheckOutcome::skipped(
            "only a deployed stack (--stack) has them",
        ));
    };
    let mut faults = Vec::new();
    let mut unknown = 0;
    let mut count = 0;
    let mut notifying = 0;
    for own in OWN_ALARMS {
        let page = client
            .describe_alarms()
            .alarm_name_prefix(format!("{stack}-{own}"))
            .max_records(100)
            .send()
            .await
            .map_err(|error| service_error("CloudWatch", &error))?;
        for alarm in page.metric_alarms() {
            count += 1;
            if !alarm.alarm_actions().is_empty() {
                notifying += 1;
            }
            match alarm.state_value() {
                Some(StateValue::Ok) => {}
                Some(StateValue::Alarm) => {
                    let name = alarm.alarm_name().unwrap_or_default();
                    faults.push(format!("{name} fires"));
                }
                _ => unknown += 1,
            }
        }
    }
    if count == 0 {
        faults.push("the stack has no alarms".to_owned());
    }
    let told = if notifying == 0 {
        "; they tell no one: give PageTopicArn and TicketTopicArn, SNS topics"
    } else {
        ""
    };
    let seen = format!("{count} alarms, none fires, {unknown} without data{told}");
    Ok(CheckOutcome::from_faults(&faults, seen))
}

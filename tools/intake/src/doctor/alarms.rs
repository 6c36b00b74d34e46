//! Whether an alarm fires. Must not know how results are printed.

use anyhow::Result;
use serde_json::{Value, json};

use crate::check_result::CheckOutcome;
use crate::signed_calls::{CLOUDWATCH, SigningClient};
use crate::stack::Stack;

/// What follows the name of the stack and `-` in the name of an alarm: `DefectsAlarm` of
/// template.yaml, and the stack nested in it. An alarm of another stack, such as `intake-dev`
/// beside `intake`, has the rest of that stack's name there.
const OWN_ALARMS: [&str; 2] = ["DefectsAlarm-", "Monitoring-"];

/// Checks that no alarm of the stack, or of the stack nested in it, fires. There are fewer alarms
/// than one page has.
pub(super) async fn check(stack: &Stack, client: &SigningClient<'_>) -> Result<CheckOutcome> {
    let Some(stack) = &stack.name else {
        return Ok(CheckOutcome::skipped(
            "only a deployed stack (--stack) has them",
        ));
    };
    let mut faults = Vec::new();
    let mut unknown = 0;
    let mut count = 0;
    for own in OWN_ALARMS {
        let call = json!({"AlarmNamePrefix": format!("{stack}-{own}"), "MaxRecords": 100});
        let page = client.call(&CLOUDWATCH, "DescribeAlarms", &call).await?;
        let alarms = page.get("MetricAlarms").and_then(Value::as_array);
        for alarm in alarms.into_iter().flatten() {
            let text = |name: &str| alarm.get(name).and_then(Value::as_str).unwrap_or_default();
            count += 1;
            match text("StateValue") {
                "OK" => {}
                "ALARM" => faults.push(format!("{} fires", text("AlarmName"))),
                _ => unknown += 1,
            }
        }
    }
    if count == 0 {
        faults.push("the stack has no alarms".to_owned());
    }
    let seen = format!("{count} alarms, none fires, {unknown} without data");
    Ok(CheckOutcome::from_faults(&faults, seen))
}

//! Alarms and queues.

use anyhow::{Context as _, Result};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::check_result::Verdict;
use crate::http::{AwsClient, CLOUDWATCH};
use crate::overflow::Queues;

/// The period in seconds whose failed drains count, that of `OverflowDrainFailuresAlarm`.
const FAILURES_SECONDS: u64 = 1_800;

/// What follows the name of the stack and `-` in the name of an alarm: `DefectsAlarm` of template.yaml, and the stack nested in
/// it. An alarm of another stack, such as `intake-dev` beside `intake`, has the rest of that stack's name there.
const OWN_ALARMS: [&str; 2] = ["DefectsAlarm-", "Monitoring-"];

/// The state of every alarm of the stack and of the stack nested in it. There are fewer of them than one page has.
pub(super) async fn alarms(client: &AwsClient<'_>, stack: &str) -> Result<Verdict> {
    let (mut faults, mut unknown, mut count) = (Vec::new(), 0_usize, 0_usize);
    for own in OWN_ALARMS {
        let call = json!({"AlarmNamePrefix": format!("{stack}-{own}"), "MaxRecords": 100});
        let page = client.call(&CLOUDWATCH, "DescribeAlarms", &call).await?;
        for alarm in page.get("MetricAlarms").and_then(Value::as_array).into_iter().flatten() {
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
    Ok(Verdict::of(&faults, format!("{count} alarms, none fires, {unknown} without data")))
}

/// Whether drains fail while messages wait. The age of the oldest message would not say so: SQS leaves out a message that was
/// received three times.
pub(super) async fn overflow(queues: &Queues<'_>, client: &AwsClient<'_>, function: Option<&str>) -> Result<Verdict> {
    let [overflow, _] = queues.counts().await?;
    let function = function.context("the stack does not name its overflow function: deploy this version")?;
    let now = Timestamp::now().seconds();
    let call = json!({
        "Namespace": "Intake",
        "MetricName": "DrainFailures",
        "Dimensions": [{"Name": "FunctionName", "Value": function}],
        "StartTime": now.saturating_sub(FAILURES_SECONDS),
        "EndTime": now,
        "Period": FAILURES_SECONDS,
        "Statistics": ["Sum"],
    });
    let answer = client.call(&CLOUDWATCH, "GetMetricStatistics", &call).await?;
    let points = answer.get("Datapoints").and_then(Value::as_array).into_iter().flatten();
    let failures: f64 = points.filter_map(|point| point.get("Sum")?.as_f64()).fold(0.0, std::ops::Add::add);
    let seen = format!("{} message(s), {failures:.0} failed drain(s) in half an hour", overflow.total());
    Ok(if failures > 0.0 && overflow.total() > 0 { Verdict::failed(seen) } else { Verdict::held(seen) })
}

pub(super) async fn dead_letters(queues: &Queues<'_>) -> Result<Verdict> {
    let [_, dead_letters] = queues.counts().await?;
    let count = dead_letters.total();
    if count == 0 {
        return Ok(Verdict::held("none"));
    }
    Ok(Verdict::failed(format!("{count} message(s): find out why, then `cargo intake overflow redrive`")))
}

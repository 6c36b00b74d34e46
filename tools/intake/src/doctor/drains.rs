//! Whether the overflow queue is drained: what `OverflowAgeAlarm` and `OverflowDrainFailuresAlarm`
//! of deploy/monitoring.yaml read. Must not know how results are printed.

use anyhow::{Context as _, Result};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::check_result::CheckOutcome;
use crate::overflow::Queues;
use crate::signed_calls::{CLOUDWATCH, SigningClient};

/// How far back the metrics are read, in seconds: as far as the alarms look.
const PERIOD_SECONDS: u64 = 1_800;

/// The age in seconds of the oldest message at which `OverflowAgeAlarm` fires.
const MAX_AGE_SECONDS: f64 = 1_800.0;

/// A metric of CloudWatch.
struct Metric<'a> {
    namespace: &'a str,
    name: &'a str,
    dimension: &'a str,
    value: &'a str,
    statistic: &'a str,
}

/// Checks that no messages wait while drains fail, or while none is tried. Both metrics are needed:
/// SQS leaves a message out of the age of the oldest one after the message was received three times.
pub(super) async fn check(
    queues: &Queues<'_>,
    client: &SigningClient<'_>,
    function: Option<&str>,
) -> Result<CheckOutcome> {
    let counts = queues.count().await?;
    let messages = counts.overflow.total();
    let function =
        function.context("the stack does not name its overflow function: deploy this version")?;
    let function_sum = |namespace, name| Metric {
        namespace,
        name,
        dimension: "FunctionName",
        value: function,
        statistic: "Sum",
    };
    let failures = read(client, &function_sum("Intake", "DrainFailures")).await?;
    let crashes = read(client, &function_sum("AWS/Lambda", "Errors")).await?;
    let throttles = read(client, &function_sum("AWS/Lambda", "Throttles")).await?;
    let age = Metric {
        namespace: "AWS/SQS",
        name: "ApproximateAgeOfOldestMessage",
        dimension: "QueueName",
        value: queues.overflow.rsplit('/').next().unwrap_or_default(),
        statistic: "Maximum",
    };
    let age = read(client, &age).await?;
    let minutes = PERIOD_SECONDS / 60;
    let seen = format!(
        "{messages} message(s), the oldest {age:.0} s old; in {minutes} minutes {failures:.0} failed drain(s), \
         {crashes:.0} crash(es), {throttles:.0} throttled"
    );
    let is_failing = failures + crashes + throttles > 0.0 || age >= MAX_AGE_SECONDS;
    if is_failing && messages > 0 {
        return Ok(CheckOutcome::failed(seen));
    }
    Ok(CheckOutcome::held(seen))
}

/// Reads the value of a metric over the whole period. Without data, it is 0.
async fn read(client: &SigningClient<'_>, metric: &Metric<'_>) -> Result<f64> {
    let now = Timestamp::now().seconds();
    let call = json!({
        "Namespace": metric.namespace,
        "MetricName": metric.name,
        "Dimensions": [{"Name": metric.dimension, "Value": metric.value}],
        "StartTime": now.saturating_sub(PERIOD_SECONDS),
        "EndTime": now,
        "Period": PERIOD_SECONDS,
        "Statistics": [metric.statistic],
    });
    let answer = client
        .call(&CLOUDWATCH, "GetMetricStatistics", &call)
        .await?;
    let points = answer
        .get("Datapoints")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    // There are two points instead of one when the period begins between CloudWatch's own periods.
    let values = points.filter_map(|point| point.get(metric.statistic)?.as_f64());
    let value = match metric.statistic {
        "Maximum" => values.fold(0.0, f64::max),
        // The sum of no values is 0, where `sum` has -0.
        _ => values.fold(0.0, |sum, value| sum + value),
    };
    Ok(value)
}

//! Alarms, queues and quotas.

use anyhow::{Context as _, Result};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use super::Finding;
use crate::aws_call::{AwsClient, CLOUDWATCH, QUOTAS};
use crate::overflow::Queues;
use crate::stack::{Stack, THROTTLE_RATE};

/// The age of a message in seconds at which `OverflowAgeAlarm` fires.
const OLDEST_MESSAGE_SECONDS: f64 = 600.0;

/// The period whose oldest message is asked for, and one data point of it, in seconds.
const AGE_SECONDS: u64 = 900;
const AGE_PERIOD: u64 = 300;

/// The code that Service Quotas has for Lambda's concurrent executions.
const CONCURRENT_EXECUTIONS: &str = "L-B99A9384";

/// How many requests a concurrent execution serves in a second when one takes 100 ms.
const REQUESTS_PER_SECOND: u64 = 10;

/// The state of every alarm of the stack and of the stack nested in it.
pub(super) async fn alarms(client: &AwsClient<'_>, stack: &str) -> Result<Finding> {
    let (mut firing, mut unknown, mut count) = (Vec::new(), 0_usize, 0_usize);
    let mut token = Value::Null;
    loop {
        let mut call = json!({"AlarmNamePrefix": format!("{stack}-")});
        if let Some(call) = call.as_object_mut().filter(|_| !token.is_null()) {
            call.insert("NextToken".to_owned(), token);
        }
        let mut page = client.call(CLOUDWATCH, "GraniteServiceVersion20100801.DescribeAlarms", &call).await?;
        for alarm in page.get("MetricAlarms").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| alarm.get(name).and_then(Value::as_str).unwrap_or_default();
            count += 1;
            match text("StateValue") {
                "OK" => {}
                "ALARM" => firing.push(format!("{} fires", text("AlarmName"))),
                _ => unknown += 1,
            }
        }
        token = page.get_mut("NextToken").map(Value::take).unwrap_or_default();
        if token.is_null() {
            break;
        }
    }
    if count == 0 {
        firing.push("the stack has no alarms".to_owned());
    }
    Ok(Finding::of("Alarms", &firing, format!("{count} alarms, none fires, {unknown} without data")))
}

/// The oldest message of the overflow queue.
pub(super) async fn overflow(queues: &Queues<'_>, client: &AwsClient<'_>) -> Result<Finding> {
    let [overflow, _] = queues.counts().await?;
    let now = Timestamp::now().seconds();
    let name = queues.overflow.rsplit('/').next().unwrap_or_default();
    let call = json!({
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateAgeOfOldestMessage",
        "Dimensions": [{"Name": "QueueName", "Value": name}],
        "StartTime": now.saturating_sub(AGE_SECONDS),
        "EndTime": now,
        "Period": AGE_PERIOD,
        "Statistics": ["Maximum"],
    });
    let answer = client.call(CLOUDWATCH, "GraniteServiceVersion20100801.GetMetricStatistics", &call).await?;
    let points = answer.get("Datapoints").and_then(Value::as_array).into_iter().flatten();
    let age = points.filter_map(|point| point.get("Maximum")?.as_f64()).fold(0.0, f64::max);
    let seen = format!("{} message(s), the oldest is {age:.0} s old", overflow.total());
    let is_old = age >= OLDEST_MESSAGE_SECONDS && overflow.total() > 0;
    Ok(if is_old { Finding::failed("Overflow queue", seen) } else { Finding::held("Overflow queue", seen) })
}

pub(super) async fn dead_letters(queues: &Queues<'_>) -> Result<Finding> {
    const CHECK: &str = "Dead letters";
    let [_, dead_letters] = queues.counts().await?;
    let count = dead_letters.total();
    if count == 0 {
        return Ok(Finding::held(CHECK, "none"));
    }
    Ok(Finding::failed(CHECK, format!("{count} message(s): find out why, then `cargo intake overflow redrive`")))
}

/// The quotas of the AWS account, as requests or signals in a second: the smallest is met first.
pub(super) async fn quotas(stack: &Stack, client: &AwsClient<'_>) -> Result<Finding> {
    const CHECK: &str = "Quotas";
    let call = json!({"ServiceCode": "lambda", "QuotaCode": CONCURRENT_EXECUTIONS});
    let answer = client.call(QUOTAS, "ServiceQuotasV20190624.GetServiceQuota", &call).await?;
    let executions = answer.pointer("/Quota/Value").and_then(Value::as_f64).context("the answer has no quota")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a quota is a whole number")]
    let requests = executions as u64 * REQUESTS_PER_SECOND;
    let rate: u64 = stack.optional(THROTTLE_RATE).and_then(|rate| rate.parse().ok()).unwrap_or_default();
    let limits = stack.client.describe_limits().send().await.ok();
    let units = limits.and_then(|limits| limits.table_max_write_capacity_units);
    let units = units.map_or_else(|| "unknown".to_owned(), |units| units.to_string());
    let seen = format!(
        "Lambda runs {executions} requests at once: about {requests} of 100 ms in a second; ThrottleRate is {rate} for each \
         route; DynamoDB takes {units} write units in a second for a table"
    );
    let is_too_low = requests < rate;
    Ok(if is_too_low {
        Finding::failed(CHECK, format!("Lambda's quota is met before ThrottleRate: {seen}"))
    } else {
        Finding::held(CHECK, seen)
    })
}

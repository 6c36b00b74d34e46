//! Alarms and queues.

use anyhow::Result;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::aws_call::{AwsClient, CLOUDWATCH};
use crate::check_result::Verdict;
use crate::overflow::Queues;

/// The age of a message in seconds at which `OverflowAgeAlarm` fires.
const OLDEST_MESSAGE_SECONDS: f64 = 600.0;

/// The period whose oldest message is asked for, and one data point of it, in seconds.
const AGE_SECONDS: u64 = 900;
const AGE_PERIOD: u64 = 300;

/// The state of every alarm of the stack and of the stack nested in it.
pub(super) async fn alarms(client: &AwsClient<'_>, stack: &str) -> Result<Verdict> {
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
    Ok(Verdict::of(&firing, format!("{count} alarms, none fires, {unknown} without data")))
}

/// The oldest message of the overflow queue.
pub(super) async fn overflow(queues: &Queues<'_>, client: &AwsClient<'_>) -> Result<Verdict> {
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
    Ok(if is_old { Verdict::failed(seen) } else { Verdict::held(seen) })
}

pub(super) async fn dead_letters(queues: &Queues<'_>) -> Result<Verdict> {
    let [_, dead_letters] = queues.counts().await?;
    let count = dead_letters.total();
    if count == 0 {
        return Ok(Verdict::held("none"));
    }
    Ok(Verdict::failed(format!("{count} message(s): find out why, then `cargo intake overflow redrive`")))
}

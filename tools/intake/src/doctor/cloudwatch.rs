//! What CloudWatch says of a stack: whether an alarm fires, whether alarms reach their topics, and whether the
//! overflow queue is drained, by what `OverflowAgeAlarm` and `OverflowDrainFailuresAlarm` of deploy/monitoring.yaml
//! read. Must not know how results are printed.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    Dimension, HistoryItemType, MetricAlarm, ScanBy, StateValue, Statistic,
};
use operator::error::service_error;

use crate::check_result::CheckOutcome;
use crate::overflow::Queues;
use crate::stack::Stack;

/// What follows the name of the stack and `-` in the name of an alarm: `DefectsAlarm` of
/// template.yaml, and the stack nested in it. An alarm of another stack, such as `intake-dev`
/// beside `intake`, has the rest of that stack's name there.
const OWN_ALARMS: [&str; 2] = ["DefectsAlarm-", "Monitoring-"];

/// The alarms of the stack, and of the stack nested in it. There are fewer than one page has.
async fn alarms_of(stack: &str, client: &Client) -> Result<Vec<MetricAlarm>> {
    let mut alarms = Vec::new();
    for own in OWN_ALARMS {
        let page = client
            .describe_alarms()
            .alarm_name_prefix(format!("{stack}-{own}"))
            .max_records(100)
            .send()
            .await
            .map_err(|error| service_error("CloudWatch", &error))?;
        alarms.extend(page.metric_alarms.unwrap_or_default());
    }
    Ok(alarms)
}

/// Checks that no alarm of the stack fires.
pub(super) async fn check_alarms(stack: &Stack, client: &Client) -> Result<CheckOutcome> {
    let Some(stack) = &stack.name else {
        return Ok(CheckOutcome::skipped(
            "only a deployed stack (--stack) has them",
        ));
    };
    let mut faults = Vec::new();
    let mut unknown = 0;
    let mut notifying = 0;
    let alarms = alarms_of(stack, client).await?;
    let count = alarms.len();
    for alarm in &alarms {
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
    if count == 0 {
        faults.push("the stack has no alarms".to_owned());
    }
    let told = if notifying == 0 {
        "; they notify no one: set PageTopicArn and TicketTopicArn to SNS topics"
    } else {
        ""
    };
    let seen = format!("{count} alarms, none fires, {unknown} without data{told}");
    Ok(CheckOutcome::from_faults(&faults, seen))
}

/// How the history of an alarm says that it could not notify a topic ("Why didn't I receive an SNS notification
/// for my CloudWatch alarm trigger?", AWS re:Post).
const FAILED_ACTION: &str = "Failed to execute action ";

/// The service whose refusal an alarm gets from a topic that is encrypted with a key that it may not use.
const KEY_SERVICE: &str = "AWSKMS";

/// Checks that the topics took the last notification of each alarm. CloudWatch remembers it for 30 days.
pub(super) async fn check_notifications(stack: &Stack, client: &Client) -> Result<CheckOutcome> {
    let Some(stack) = &stack.name else {
        return Ok(CheckOutcome::skipped(
            "only the alarms of a deployed stack (--stack) notify anyone",
        ));
    };
    let mut faults = Vec::new();
    // What is wrong with a topic is told once.
    let mut topics = Vec::new();
    for alarm in alarms_of(stack, client).await? {
        let name = alarm.alarm_name().unwrap_or_default();
        if alarm.alarm_actions().is_empty() {
            continue;
        }
        let Some(failure) = failed_notification(name, client).await? else {
            continue;
        };
        let topic = failure.split(". ").next().unwrap_or_default().to_owned();
        let is_told = topics.contains(&topic);
        if is_told {
            continue;
        }
        topics.push(topic);
        let advice = if failure.contains(KEY_SERVICE) {
            ": alarms cannot publish to a topic that is encrypted with alias/aws/sns. Use a key of your own"
        } else {
            ""
        };
        faults.push(format!("{name} could not notify {failure}{advice}"));
    }
    Ok(CheckOutcome::from_faults(
        &faults,
        "no alarm failed to notify its topic",
    ))
}

/// What CloudWatch says of the last notification of an alarm, if it failed: the topic, and why.
async fn failed_notification(alarm: &str, client: &Client) -> Result<Option<String>> {
    let history = client
        .describe_alarm_history()
        .alarm_name(alarm)
        .history_item_type(HistoryItemType::Action)
        .scan_by(ScanBy::TimestampDescending)
        .max_records(1)
        .send()
        .await
        .map_err(|error| service_error("CloudWatch", &error))?;
    let last = history.alarm_history_items().first();
    let summary = last.and_then(|item| item.history_summary());
    let failure = summary.and_then(|summary| summary.strip_prefix(FAILED_ACTION));
    Ok(failure.map(ToOwned::to_owned))
}

/// How far back the metrics are read: as far as the alarms look.
const PERIOD: Duration = Duration::from_mins(30);

/// The age in seconds of the oldest message at which `OverflowAgeAlarm` fires.
const MAX_AGE_SECONDS: f64 = 1_800.0;

/// A metric of CloudWatch.
struct Metric<'a> {
    namespace: &'a str,
    name: &'a str,
    dimension: &'a str,
    value: &'a str,
    statistic: Statistic,
}

/// Checks that no messages wait while drains fail, or while none is tried. Both metrics are needed:
/// SQS leaves a message out of the age of the oldest one after the message was received three times.
pub(super) async fn check_drains(
    queues: &Queues<'_>,
    client: &Client,
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
        statistic: Statistic::Sum,
    };
    let failures = read(client, &function_sum("Intake", "DrainFailures")).await?;
    let crashes = read(client, &function_sum("AWS/Lambda", "Errors")).await?;
    let throttles = read(client, &function_sum("AWS/Lambda", "Throttles")).await?;
    let age = Metric {
        namespace: "AWS/SQS",
        name: "ApproximateAgeOfOldestMessage",
        dimension: "QueueName",
        value: queues.overflow.rsplit('/').next().unwrap_or_default(),
        statistic: Statistic::Maximum,
    };
    let age = read(client, &age).await?;
    let minutes = PERIOD.as_secs() / 60;
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
async fn read(client: &Client, metric: &Metric<'_>) -> Result<f64> {
    let now = SystemTime::now();
    let dimension = Dimension::builder()
        .name(metric.dimension)
        .value(metric.value)
        .build();
    let response = client
        .get_metric_statistics()
        .namespace(metric.namespace)
        .metric_name(metric.name)
        .dimensions(dimension)
        .start_time(DateTime::from(now - PERIOD))
        .end_time(DateTime::from(now))
        .period(i32::try_from(PERIOD.as_secs())?)
        .statistics(metric.statistic.clone())
        .send()
        .await
        .map_err(|error| service_error("CloudWatch", &error))?;
    // There are two points instead of one when the period begins between CloudWatch's own periods.
    let points = response.datapoints().iter();
    let value = match metric.statistic {
        Statistic::Maximum => points.filter_map(|point| point.maximum).fold(0.0, f64::max),
        // The sum of no values is 0, where `sum` has -0.
        _ => points
            .filter_map(|point| point.sum)
            .fold(0.0, |sum, value| sum + value),
    };
    Ok(value)
}

//! The alarms agree with the constants of the code: with the time after which they must fire, and
//! with the number of metrics that they and docs/operate.md count.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

use std::time::Duration;

use serde_json::Value;
use service::budget::WRITE_BUDGET;

use crate::support::page::Page;
use crate::support::template::read_template;

/// The resources of a type in a template.
fn resources_of_type<'a>(template: &'a Value, kind: &str) -> Vec<&'a Value> {
    template["Resources"]
        .as_object()
        .unwrap()
        .values()
        .filter(|resource| resource["Type"] == kind)
        .collect()
}

/// How many metrics an alarm reads: those of its expression, or the one of its properties.
fn metrics_read_by(alarm: &Value) -> usize {
    match alarm["Properties"]["Metrics"].as_array() {
        Some(queries) => queries
            .iter()
            .filter(|query| query.get("MetricStat").is_some())
            .count(),
        None => 1,
    }
}

#[test]
fn latency_alarm_fires_for_requests_that_wait_for_dynamodb_until_they_go_to_the_queue() {
    let monitoring = read_template("deploy/monitoring.yaml");
    let latency = &monitoring["Resources"]["LatencyAlarm"]["Properties"];
    assert_eq!(latency["ComparisonOperator"], "GreaterThanThreshold");
    let threshold = Duration::from_millis(latency["Threshold"].as_u64().unwrap());
    // Cold starts and calls that are made a second time take less than half of this time.
    let expected = WRITE_BUDGET / 2..=WRITE_BUDGET;
    assert!(
        expected.contains(&threshold),
        "{threshold:?} is not in {expected:?}"
    );
}

#[test]
fn page_on_cost_counts_the_alarms_and_the_metrics_of_the_delivery() {
    let delivery = read_template("delivery/template.yaml");
    let alarms = resources_of_type(&delivery, "AWS::CloudWatch::Alarm");
    let read: usize = alarms.iter().map(|alarm| metrics_read_by(alarm)).sum();
    let functions = resources_of_type(&delivery, "AWS::Serverless::Function").len();
    // Each function writes every metric, with its own name as the dimension.
    let written = functions * deliver::delivery_metrics::DeliveryMetric::ALL.len();
    // CloudWatch takes $0.10 for each metric of an alarm and $0.30 for each metric that is written.
    let cents = read * 10 + written * 30;
    let dollars = format!("{}.{:02}", cents / 100, cents % 100);
    let row = format!(
        "| delivery: {} alarms on {read} metrics, {written} metrics: \
         {read} × $0.10 + {written} × $0.30 | | | {dollars} | {dollars} |",
        alarms.len()
    );
    let page = Page::read("docs/operate.md");
    assert!(
        page.text.lines().any(|line| line == row),
        "docs/operate.md has no such row:\n{row}"
    );
}

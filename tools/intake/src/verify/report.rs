//! The report: for people, as JSON, and in Markdown for an issue. It holds no AWS account id and no API key.

use std::fmt::Write as _;

use anyhow::Result;
use model::timestamp::Timestamp;
use serde::Serialize;

use super::check::Check;
use super::clean_up::Cleanup;
use super::lake::Delays;
use super::measure::Latency;
use super::starts::Starts;
use crate::check_result::CheckResult;
use crate::output::{Format, Table, print_json, print_line};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) began_at: Timestamp,
    pub(super) seconds: u64,
    /// The account of the customers and signals, which has nothing to do with AWS.
    pub(super) account: String,
    pub(super) signals: usize,
    pub(super) requests: u64,
    pub(super) checks: Vec<Check>,
    /// The first request on a new connection with a new key, in milliseconds.
    pub(super) first_request_ms: u128,
    pub(super) latencies: Vec<Latency>,
    pub(super) write_units_per_signal: f64,
    pub(super) starts: Starts,
    /// After how long the signals were in the lake, if it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lake: Option<Delays>,
    pub(super) cleanup: Cleanup,
}

const COST: &str = "DynamoDB's write units by the sizes of the items that were read back, and the request fees of API Gateway \
                    and Lambda, at the prices of us-east-1. Not counted: Lambda's time, logs, traces, storage.";

impl Report {
    pub(super) fn count(&self, result: CheckResult) -> usize {
        self.checks.iter().filter(|check| check.result == result).count()
    }

    fn summary(&self) -> String {
        let [held, failed, skipped] =
            [CheckResult::Held, CheckResult::Failed, CheckResult::Skipped].map(|result| self.count(result));
        format!(
            "{held} promises held, {failed} failed, {skipped} were skipped: {} signals in {} requests, {} s.",
            self.signals, self.requests, self.seconds
        )
    }

    pub(super) fn print(&self, format: Format) -> Result<()> {
        if format == Format::Json {
            return print_json(self);
        }
        let mut table = Table::with_heading(["RESULT", "PROMISE", "CHECK", "SEEN"]);
        for check in &self.checks {
            table.row([&check.result.to_string(), check.promise, &check.name, &check.detail]);
        }
        table.print()?;
        for check in self.failed() {
            print_line(&format!("\nFAILED {}: {}", check.name, check.detail))?;
            check.repeat.iter().try_for_each(|repeat| print_line(&format!("  {repeat}")))?;
        }
        print_line("")?;
        let mut table =
            Table::with_heading(["BATCH", "START", "REQUESTS", "P50 MS", "P90 MS", "P99 MS", "$ PER MILLION"]);
        for row in &self.latencies {
            let Latency { batch_size, requests, p50, p90, p99, dollars_per_million, .. } = row;
            let times = [p50, p90, p99].map(|time| format!("{time:.1}"));
            let [p50, p90, p99] = &times;
            let cost = format!("{dollars_per_million:.2}");
            table.row([&batch_size.to_string(), row.start(), &requests.to_string(), p50, p90, p99, &cost]);
        }
        table.print()?;
        print_line(COST)?;
        for line in self.lines() {
            print_line(&line)?;
        }
        print_line(&self.summary())
    }

    /// What both reports for people have beside the tables.
    fn lines(&self) -> Vec<String> {
        let Cleanup { removed, left } = &self.cleanup;
        let first = format!("First request, on a new connection: {} ms.", self.first_request_ms);
        let units = format!("DynamoDB's write units: {:.2} per signal.", self.write_units_per_signal);
        let starts = self.starts.lines();
        let removed = format!("Removed: {}.", removed.join(", "));
        let left = left.iter().map(|left| format!("Not removed: {left}"));
        [first, units].into_iter().chain(starts).chain([removed]).chain(left).collect()
    }

    fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.result == CheckResult::Failed)
    }

    pub(super) fn to_markdown(&self) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let mut text = format!("## cargo intake verify {}\n\n{}\n\n", self.version, self.summary());
        text.push_str("| result | promise | check | seen |\n|---|---|---|---|\n");
        for Check { name, promise, result, detail, .. } in &self.checks {
            let _ = writeln!(text, "| {result} | {promise} | {} | {} |", cell(name), cell(detail));
        }
        for check in self.failed() {
            let _ = writeln!(text, "\n**{}**: {}", check.name, check.detail);
            if let Some(repeat) = &check.repeat {
                let _ = writeln!(text, "\n```sh\n{repeat}\n```");
            }
        }
        text.push_str("\n| batch | start | requests | p50 ms | p90 ms | p99 ms | $ per million |\n|---|---|---|---|---|---|---|\n");
        for row in &self.latencies {
            let Latency { batch_size, requests, p50, p90, p99, dollars_per_million, .. } = row;
            let _ = writeln!(
                text,
                "| {batch_size} | {} | {requests} | {p50:.1} | {p90:.1} | {p99:.1} | {dollars_per_million:.2} |",
                row.start()
            );
        }
        let _ = writeln!(text, "\n{COST}\n");
        for line in self.lines() {
            let _ = writeln!(text, "- {line}");
        }
        without_account_ids(&text)
    }
}

/// The text without the AWS account ids in ARNs and URLs, which messages of AWS contain.
fn without_account_ids(text: &str) -> String {
    let is_id = |part: &&str| part.len() == 12 && part.bytes().all(|byte| byte.is_ascii_digit());
    let replaced = |text: &str, separator: &str| {
        let parts: Vec<&str> = text.split(separator).collect();
        parts.into_iter().map(|part| if is_id(&part) { "ACCOUNT" } else { part }).collect::<Vec<_>>().join(separator)
    };
    replaced(&replaced(text, ":"), "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_ids_of_aws_are_left_out() {
        let text = "arn:aws:iam::123456789012:user/ada, https://sqs/123456789012/q, 123456789012345";
        let without = "arn:aws:iam::ACCOUNT:user/ada, https://sqs/ACCOUNT/q, 123456789012345";
        assert_eq!(without_account_ids(text), without);
    }
}

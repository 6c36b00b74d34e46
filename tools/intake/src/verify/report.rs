//! The report: for people, as JSON, and in Markdown for an issue. It holds no AWS account id and no API key.

use std::fmt::Write as _;

use anyhow::Result;
use model::timestamp::Timestamp;
use serde::Serialize;

use super::check::Check;
use super::clean_up::Cleanup;
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
    pub(super) cleanup: Cleanup,
}

impl Report {
    pub(super) fn with_result(&self, result: CheckResult) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| check.result == result)
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
        for check in self.with_result(CheckResult::Failed) {
            print_line(&format!("\nFAILED {}: {}", check.name, check.detail))?;
            check.repeat.iter().try_for_each(|repeat| print_line(&format!("  {repeat}")))?;
        }
        print_line("")?;
        self.summary().iter().try_for_each(|line| print_line(line))
    }

    /// What was removed, and the result.
    fn summary(&self) -> Vec<String> {
        let Cleanup { removed, left } = &self.cleanup;
        let [held, failed, skipped] = [CheckResult::Held, CheckResult::Failed, CheckResult::Skipped]
            .map(|result| self.with_result(result).count());
        let removed = format!("Removed: {}.", removed.join(", "));
        let left = left.iter().map(|left| format!("Not removed: {left}"));
        let result = format!(
            "{held} promises held, {failed} failed, {skipped} were skipped: {} signals in {} requests, {} s.",
            self.signals, self.requests, self.seconds
        );
        [removed].into_iter().chain(left).chain([result]).collect()
    }

    pub(super) fn to_markdown(&self) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let mut text = format!("## cargo intake verify {}\n\n", self.version);
        text.push_str("| result | promise | check | seen |\n|---|---|---|---|\n");
        for Check { name, promise, result, detail, .. } in &self.checks {
            let _ = writeln!(text, "| {result} | {promise} | {} | {} |", cell(name), cell(detail));
        }
        for check in self.with_result(CheckResult::Failed) {
            let repeat = check.repeat.as_deref().unwrap_or_default();
            let _ = writeln!(text, "\n**{}**: {}\n\n```sh\n{repeat}\n```", check.name, check.detail);
        }
        text.push('\n');
        for line in self.summary() {
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

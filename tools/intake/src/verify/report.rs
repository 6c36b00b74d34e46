//! The checks of `verify` with their results, what the phases that add them share, and the report: for
//! people, as JSON, and as Markdown for an issue. The Markdown has no AWS account id, and none of them has an
//! API key. Must not know how a check is made.

use std::cell::RefCell;

use anyhow::Result;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;

use super::api::{Api, ApiRequest, ExpectedResponse};
use super::sender::Sender;
use crate::check_result::{CheckOutcome, CheckResult};
use crate::output::{Format, PrintedTable, print_json, print_line};

pub(super) struct CheckContext<'a> {
    pub(super) sender: Sender,
    pub(super) checks: Checks,
    /// The account that everything is stored under.
    pub(super) account: &'a AccountId,
    pub(super) began_at: Timestamp,
}

impl<'a> CheckContext<'a> {
    pub(super) fn new(api: Api, account: &'a AccountId, began_at: Timestamp) -> Self {
        Self {
            sender: Sender::new(api),
            checks: Checks::default(),
            account,
            began_at,
        }
    }

    /// Sends a request, and adds the check that the response is as expected.
    pub(super) async fn check(
        &self,
        promise: &'static str,
        name: &str,
        request: &ApiRequest,
        expected: &ExpectedResponse,
    ) {
        let response = self.sender.send(request).await;
        self.checks.add(promise, name, expected.outcome(&response));
    }
}

/// One check.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    /// The heading of the section of docs/api.md that has the promise.
    pub(super) promise: &'static str,
    pub(super) result: CheckResult,
    /// What was seen, or why it was skipped.
    pub(super) detail: String,
}

#[derive(Default)]
pub(super) struct Checks(RefCell<Vec<Check>>);

impl Checks {
    pub(super) fn add(
        &self,
        promise: &'static str,
        name: impl Into<String>,
        outcome: CheckOutcome,
    ) {
        let check = Check {
            name: name.into(),
            promise,
            result: outcome.result,
            detail: outcome.seen,
        };
        self.0.borrow_mut().push(check);
    }

    /// Adds a check that holds if there are no faults.
    pub(super) fn add_faults(
        &self,
        promise: &'static str,
        name: &str,
        faults: &[String],
        seen: String,
    ) {
        let outcome = match faults.first() {
            None => CheckOutcome::held(seen),
            Some(first) => {
                CheckOutcome::failed(format!("{} case(s); the first: {first}", faults.len()))
            }
        };
        self.add(promise, name, outcome);
    }

    pub(super) fn into_vec(self) -> Vec<Check> {
        self.0.into_inner()
    }
}

/// What was removed, and what was not.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Cleanup {
    pub(super) removed: Vec<String>,
    pub(super) left: Vec<String>,
}

impl Cleanup {
    /// Records how many of these were removed, or why not.
    pub(super) fn record(&mut self, what: &str, outcome: Result<usize>) {
        match outcome {
            Ok(count) => self.removed.push(format!("{count} {what}")),
            Err(error) => self.left.push(format!("{what}: {error:#}")),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) began_at: Timestamp,
    pub(super) seconds: u64,
    /// The account of the customers and signals, which has nothing to do with AWS.
    pub(super) account: String,
    pub(super) signals: usize,
    pub(super) checks: Vec<Check>,
    pub(super) cleanup: Cleanup,
}

impl Report {
    pub(super) fn with_result(&self, result: CheckResult) -> impl Iterator<Item = &Check> {
        self.checks
            .iter()
            .filter(move |check| check.result == result)
    }

    pub(super) fn print(&self, format: Format) -> Result<()> {
        if format == Format::Json {
            print_json(self)
        } else {
            print_line(&self.to_text())
        }
    }

    pub(super) fn to_markdown(&self) -> String {
        let text = without_account_ids(&self.to_text());
        format!(
            "## cargo intake verify {}\n\n```\n{text}\n```\n",
            self.version
        )
    }

    fn to_text(&self) -> String {
        let mut rows = PrintedTable::new(Format::Text, ["RESULT", "PROMISE", "CHECK", "SEEN"]);
        for check in &self.checks {
            rows.add_row([
                check.result.as_str(),
                check.promise,
                &check.name,
                &check.detail,
            ]);
        }
        let mut lines = rows.take_lines();
        for Check { name, detail, .. } in self.with_result(CheckResult::Failed) {
            lines.push(format!("\nFAILED {name}: {detail}"));
        }
        let Cleanup { removed, left } = &self.cleanup;
        lines.push(format!("\nRemoved: {}.", removed.join(", ")));
        lines.extend(left.iter().map(|left| format!("Not removed: {left}")));
        let held = self.with_result(CheckResult::Held).count();
        let failed = self.with_result(CheckResult::Failed).count();
        let skipped = self.with_result(CheckResult::Skipped).count();
        lines.push(format!(
            "{held} promises held, {failed} failed, {skipped} were skipped: {} signals, {} s.",
            self.signals, self.seconds
        ));
        lines.join("\n")
    }
}

/// The text without the AWS account ids in ARNs and URLs, which messages of AWS contain.
fn without_account_ids(text: &str) -> String {
    let in_arns_replaced = replace_account_ids(text, ":");
    replace_account_ids(&in_arns_replaced, "/")
}

/// Replaces the account ids among the parts of a text that are divided by `separator`.
fn replace_account_ids(text: &str, separator: &str) -> String {
    let is_account_id =
        |part: &str| part.len() == 12 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text
        .split(separator)
        .map(|part| if is_account_id(part) { "ACCOUNT" } else { part })
        .collect();
    parts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_ids_of_aws_are_left_out() {
        let text =
            "arn:aws:iam::123456789012:user/ada, https://sqs/123456789012/q, 123456789012345";
        let without = "arn:aws:iam::ACCOUNT:user/ada, https://sqs/ACCOUNT/q, 123456789012345";
        assert_eq!(without_account_ids(text), without);
    }
}

//! `doctor`: what is wrong with a deployed stack, or soon will be. It only reads.

mod keys;
mod monitoring;
mod tables;
mod version;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::aws_call::AwsClient;
use crate::check_result::{CheckResult, Verdict};
use crate::keys::snapshot;
use crate::output::{Format, Table, print_line};
use crate::overflow::Queues;
use crate::stack::{OVERFLOW_FUNCTION, Stack, VERSION};

/// What a check found.
#[derive(Serialize)]
struct Finding {
    check: String,
    #[serde(flatten)]
    verdict: Verdict,
}

/// Checks the stack. `version` is that of the tool.
pub(crate) async fn run(stack: &Stack, version: &str, format: Format) -> Result<()> {
    let findings = findings(stack, version).await?;
    let failed = findings.iter().filter(|finding| finding.verdict.result == CheckResult::Failed).count();
    // A reader that closes standard output does not change the verdict.
    let printed = print(&findings, failed, format);
    ensure!(failed == 0, "{failed} check(s) failed.");
    printed
}

fn print(findings: &[Finding], failed: usize, format: Format) -> Result<()> {
    let mut table = Table::new(format, ["RESULT", "CHECK", "SEEN"]);
    for finding in findings {
        let Finding { check, verdict } = finding;
        table.add(finding, [&verdict.result.to_string(), check, &verdict.seen])?;
    }
    table.print()?;
    if format == Format::Table { print_line(&format!("{} checks, {failed} failed.", findings.len())) } else { Ok(()) }
}

async fn findings(stack: &Stack, version: &str) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut add = |check: &str, verdict: Result<Verdict>| {
        // A check that cannot be done is no check that holds.
        let verdict = verdict.unwrap_or_else(|error| Verdict::failed(format!("unknown: {error:#}")));
        findings.push(Finding { check: check.to_owned(), verdict });
    };
    add("Version", Ok(version::check(stack.optional(VERSION), version)));
    for expected in &tables::expected() {
        add(&format!("Table {}", expected.name), tables::check(stack, expected).await);
    }
    add("Key expiries", keys::expiries(stack).await);
    add("Key snapshot", snapshot::compare(stack).await);
    let client = AwsClient::new(&stack.config)?;
    let alarms = match &stack.name {
        None => Ok(Verdict::skipped("only a deployed stack (--stack) has them")),
        Some(name) => monitoring::alarms(&client, name).await,
    };
    add("Alarms", alarms);
    match Queues::of(stack)? {
        None => add("Overflow queue", Ok(Verdict::skipped(stack.without_queues()))),
        Some(queues) => {
            let overflow = if stack.is_local {
                Ok(Verdict::skipped("only CloudWatch counts its failed drains"))
            } else {
                monitoring::overflow(&queues, &client, stack.optional(OVERFLOW_FUNCTION)).await
            };
            add("Overflow queue", overflow);
            add("Dead letters", monitoring::dead_letters(&queues).await);
        }
    }
    Ok(findings)
}

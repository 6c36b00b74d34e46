//! `doctor`: what is wrong with a deployed stack, or soon will be. It only reads.

mod finding;
mod keys;
mod monitoring;
mod tables;
mod version;

use anyhow::{Result, bail};
use clap::Args;

use self::finding::Finding;
use crate::aws_call::AwsClient;
use crate::check_result::CheckResult;
use crate::output::{Format, Table, print_json, print_line};
use crate::overflow::Queues;
use crate::stack::{Stack, VERSION};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  cargo intake --stack intake-prod doctor\n\n\
    It changes nothing. The exit code is 1 when something is wrong.")]
pub(crate) struct Doctor {}

impl Doctor {
    /// `version` is that of the tool.
    pub(crate) async fn run(self, stack: &Stack, version: &str, format: Format) -> Result<()> {
        let findings = findings(stack, version).await?;
        print(&findings, format)?;
        let failed = findings.iter().filter(|finding| finding.result == CheckResult::Failed).count();
        if failed > 0 {
            bail!("{failed} check(s) failed.");
        }
        Ok(())
    }
}

async fn findings(stack: &Stack, version: &str) -> Result<Vec<Finding>> {
    let mut findings = vec![version::check(stack.optional(VERSION), version)];
    findings.extend(tables::check(stack).await);
    findings.push(Finding::or_failed("Key expiries", keys::expiries(stack).await));
    findings.push(Finding::or_failed("Key snapshot", keys::key_snapshot(stack).await));
    let client = AwsClient::new(&stack.config)?;
    match &stack.name {
        None => findings.push(Finding::skipped("Alarms", "only a deployed stack (--stack) has them")),
        Some(name) => findings.push(Finding::or_failed("Alarms", monitoring::alarms(&client, name).await)),
    }
    match Queues::of(stack)? {
        None => findings.push(Finding::skipped("Overflow queue", stack.without_queues())),
        Some(queues) => {
            findings.push(Finding::or_failed("Overflow queue", monitoring::overflow(&queues, &client).await));
            findings.push(Finding::or_failed("Dead letters", monitoring::dead_letters(&queues).await));
        }
    }
    Ok(findings)
}

fn print(findings: &[Finding], format: Format) -> Result<()> {
    if format == Format::Json {
        return findings.iter().try_for_each(print_json);
    }
    let mut table = Table::with_heading(["RESULT", "CHECK", "SEEN"]);
    for Finding { check, result, seen } in findings {
        table.row([&result.to_string(), check, seen]);
    }
    table.print()?;
    let failed = findings.iter().filter(|finding| finding.result == CheckResult::Failed).count();
    print_line(&format!("{} checks, {failed} failed.", findings.len()))
}

//! `doctor`: what is wrong with a deployed stack, or soon will be. It only reads.

mod alarms;
mod concurrency;
mod drains;
mod tables;
mod version;

use std::time::Duration;

use anyhow::{Result, ensure};
use aws_sdk_cloudwatch::Client;
use model::key_entry::EXPIRY_NOTICE_PERIOD;
use model::timestamp::Timestamp;
use serde_json::json;

use crate::check_result::{CheckOutcome, CheckResult};
use crate::keys::{KeyTable, snapshot};
use crate::output::{Format, PrintedTable, print_line};
use crate::overflow::Queues;
use crate::stack::variable_names::{INTAKE_VERSION, OVERFLOW_FUNCTION};
use crate::stack::{OWN_VERSION, Stack};

/// Checks the stack.
pub(crate) async fn run(stack: &Stack, format: Format) -> Result<()> {
    let findings = find_all(stack).await?;
    let failed = findings
        .iter()
        .filter(|finding| finding.outcome.result == CheckResult::Failed)
        .count();
    // A reader that closes standard output does not change the exit code.
    let printed = print(&findings, failed, format);
    ensure!(failed == 0, "{failed} check(s) failed.");
    printed
}

/// A check, and what it found.
struct DoctorFinding {
    check: String,
    outcome: CheckOutcome,
}

fn print(findings: &[DoctorFinding], failed: usize, format: Format) -> Result<()> {
    let mut rows = PrintedTable::new(format, ["RESULT", "CHECK", "SEEN"]);
    for DoctorFinding { check, outcome } in findings {
        let CheckOutcome { result, seen } = outcome;
        let json = json!({"check": check, "result": result, "seen": seen});
        rows.add(&json, [result.as_str(), check, seen])?;
    }
    rows.print()?;
    match format {
        Format::Json => Ok(()),
        Format::Text => print_line(&format!("{} checks, {failed} failed.", findings.len())),
    }
}

async fn find_all(stack: &Stack) -> Result<Vec<DoctorFinding>> {
    let mut findings = Vec::new();
    let mut add = |check: &str, outcome: Result<CheckOutcome>| {
        // A check that cannot be made has failed: the operator has to find out why.
        let outcome =
            outcome.unwrap_or_else(|error| CheckOutcome::failed(format!("unknown: {error:#}")));
        findings.push(DoctorFinding {
            check: check.to_owned(),
            outcome,
        });
    };
    let version = version::check(stack.optional(INTAKE_VERSION), OWN_VERSION);
    add("Version", Ok(version));
    for expected in &tables::expected() {
        let table = tables::check(stack, expected).await;
        add(&format!("Table {}", expected.name), table);
    }
    let expiries = check_expiries(stack).await;
    add("Key expiries", expiries);
    let snapshot = snapshot::compare(stack).await;
    add("Key snapshot", snapshot);
    let client = Client::new(&stack.config);
    let alarms = alarms::check(stack, &client).await;
    add("Alarms", alarms);
    let concurrency = concurrency::check(stack).await;
    add("Concurrency", concurrency);
    let Some(queues) = Queues::find(stack)? else {
        let outcome = CheckOutcome::skipped(stack.no_queues_message());
        add("Overflow queue", Ok(outcome));
        return Ok(findings);
    };
    let drains = check_drains(stack, &queues, &client).await;
    add("Overflow queue", drains);
    let dead_letters = check_dead_letters(&queues).await;
    add("Dead letters", dead_letters);
    Ok(findings)
}

async fn check_drains(stack: &Stack, queues: &Queues<'_>, client: &Client) -> Result<CheckOutcome> {
    if stack.is_local {
        return Ok(CheckOutcome::skipped(
            "only CloudWatch counts its failed drains",
        ));
    }
    drains::check(queues, client, stack.optional(OVERFLOW_FUNCTION)).await
}

/// Checks that no active API key ends soon.
async fn check_expiries(stack: &Stack) -> Result<CheckOutcome> {
    let now = Timestamp::now();
    let mut active = KeyTable::new(stack)?.all().await?;
    active.retain(|key| key.entry.is_active(now));
    let mut ends = Vec::new();
    for key in &active {
        let entry = &key.entry;
        let Some(left) = entry.ends_soon(now) else {
            continue;
        };
        if entry.is_short_lived() {
            continue;
        }
        ends.push(format!(
            "{} of {} ends in {} day(s)",
            entry.key_id,
            entry.account_id,
            days(left)
        ));
    }
    let seen = format!(
        "{} active key(s), none ends within {} days",
        active.len(),
        days(EXPIRY_NOTICE_PERIOD)
    );
    Ok(CheckOutcome::from_faults(&ends, seen))
}

/// The whole days of a duration.
fn days(duration: Duration) -> u64 {
    duration.as_secs() / (24 * 60 * 60)
}

async fn check_dead_letters(queues: &Queues<'_>) -> Result<CheckOutcome> {
    let counts = queues.count().await?;
    let count = counts.dead_letters.total();
    if count == 0 {
        return Ok(CheckOutcome::held("none"));
    }
    Ok(CheckOutcome::failed(format!(
        "{count} message(s): find out why, then `cargo intake overflow redrive`"
    )))
}

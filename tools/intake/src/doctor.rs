//! `doctor`: what is wrong with a deployed stack, or soon will be. It only reads.

mod drains;
mod tables;

use std::time::Duration;

use anyhow::{Result, ensure};
use model::key_entry::ENDS_SOON;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::check_result::{CheckOutcome, CheckResult};
use crate::keys::{KeyTable, snapshot};
use crate::output::{Format, PrintedTable, print_line};
use crate::overflow::Queues;
use crate::signed_calls::{CLOUDWATCH, SigningClient};
use crate::stack::variable_names::{INTAKE_VERSION, OVERFLOW_FUNCTION};
use crate::stack::{OWN_VERSION, Stack};

/// What follows the name of the stack and `-` in the name of an alarm: `DefectsAlarm` of
/// template.yaml, and the stack nested in it. An alarm of another stack, such as `intake-dev`
/// beside `intake`, has the rest of that stack's name there.
const OWN_ALARMS: [&str; 2] = ["DefectsAlarm-", "Monitoring-"];

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
    let mut table = PrintedTable::new(format, ["RESULT", "CHECK", "SEEN"]);
    for DoctorFinding { check, outcome } in findings {
        let CheckOutcome { result, seen } = outcome;
        let json = json!({"check": check, "result": result, "seen": seen});
        table.add(&json, [result.as_str(), check, seen])?;
    }
    table.print()?;
    match format {
        Format::Json => Ok(()),
        Format::Text => print_line(&format!("{} checks, {failed} failed.", findings.len())),
    }
}

async fn find_all(stack: &Stack) -> Result<Vec<DoctorFinding>> {
    let mut findings = Vec::new();
    let mut add = |check: &str, outcome: Result<CheckOutcome>| {
        // A check that cannot be done is no check that holds.
        let outcome =
            outcome.unwrap_or_else(|error| CheckOutcome::failed(format!("unknown: {error:#}")));
        findings.push(DoctorFinding {
            check: check.to_owned(),
            outcome,
        });
    };
    let version = check_version(stack.optional(INTAKE_VERSION), OWN_VERSION);
    add("Version", Ok(version));
    for expected in &tables::expected() {
        let table = tables::check(stack, expected).await;
        add(&format!("Table {}", expected.name), table);
    }
    let expiries = check_expiries(stack).await;
    add("Key expiries", expiries);
    let snapshot = snapshot::compare(stack).await;
    add("Key snapshot", snapshot);
    let client = SigningClient::new(&stack.config)?;
    let alarms = check_alarms(stack, &client).await;
    add("Alarms", alarms);
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

async fn check_drains(
    stack: &Stack,
    queues: &Queues<'_>,
    client: &SigningClient<'_>,
) -> Result<CheckOutcome> {
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
        days(ENDS_SOON)
    );
    Ok(CheckOutcome::from_faults(&ends, seen))
}

/// The whole days of a duration.
fn days(duration: Duration) -> u64 {
    duration.as_secs() / (24 * 60 * 60)
}

/// Compares the deployed version with that of this command line, which knows no newer release.
/// `deployed` is the output of template.yaml, which is deployed together with the functions.
fn check_version(deployed: Option<&str>, own: &str) -> CheckOutcome {
    let Some(deployed) = deployed else {
        return CheckOutcome::skipped("the stack does not say its version");
    };
    let (Some(stack), Some(known)) = (version_numbers(deployed), version_numbers(own)) else {
        return CheckOutcome::failed(format!("{deployed} is no version"));
    };
    if stack < known {
        return CheckOutcome::failed(format!(
            "{deployed} is deployed, this command line is {own}: upgrade the stack"
        ));
    }
    let seen = if stack > known {
        format!(
            "{deployed} is deployed, newer than this command line ({own}): get the command line of that release"
        )
    } else {
        format!(
            "{deployed}, as this command line; whether there is a newer release is not known here"
        )
    };
    CheckOutcome::held(seen)
}

/// The numbers of a version. What follows a hyphen, as in 1.2.3-rc.1, does not count.
fn version_numbers(version: &str) -> Option<Vec<u64>> {
    let (version, _) = version.split_once('-').unwrap_or((version, ""));
    let numbers: Option<Vec<u64>> = version
        .split('.')
        .map(|number| number.parse().ok())
        .collect();
    numbers.filter(|numbers| numbers.len() == 3)
}

/// Checks that no alarm of the stack, or of the stack nested in it, fires. There are fewer alarms
/// than one page has.
async fn check_alarms(stack: &Stack, client: &SigningClient<'_>) -> Result<CheckOutcome> {
    let Some(stack) = &stack.name else {
        return Ok(CheckOutcome::skipped(
            "only a deployed stack (--stack) has them",
        ));
    };
    let mut faults = Vec::new();
    let mut unknown = 0;
    let mut count = 0;
    for own in OWN_ALARMS {
        let call = json!({"AlarmNamePrefix": format!("{stack}-{own}"), "MaxRecords": 100});
        let page = client.call(&CLOUDWATCH, "DescribeAlarms", &call).await?;
        let alarms = page.get("MetricAlarms").and_then(Value::as_array);
        for alarm in alarms.into_iter().flatten() {
            let text = |name: &str| alarm.get(name).and_then(Value::as_str).unwrap_or_default();
            count += 1;
            match text("StateValue") {
                "OK" => {}
                "ALARM" => faults.push(format!("{} fires", text("AlarmName"))),
                _ => unknown += 1,
            }
        }
    }
    if count == 0 {
        faults.push("the stack has no alarms".to_owned());
    }
    let seen = format!("{count} alarms, none fires, {unknown} without data");
    Ok(CheckOutcome::from_faults(&faults, seen))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_compared_by_its_numbers() {
        let result = |deployed| check_version(deployed, "0.10.0").result;
        assert_eq!(result(Some("0.9.3")), CheckResult::Failed);
        assert_eq!(result(Some("0.10.0")), CheckResult::Held);
        assert_eq!(result(Some("1.0.0-rc.1")), CheckResult::Held);
        assert_eq!(result(Some("next")), CheckResult::Failed);
        assert_eq!(result(None), CheckResult::Skipped);
    }
}

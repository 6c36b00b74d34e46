//! `doctor`: what is wrong with a deployed stack, or soon will be. It only reads.

mod cloudwatch;
mod tables;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use aws_sdk_cloudwatch::Client;
use model::key_entry::EXPIRY_NOTICE_PERIOD;
use model::timestamp::Timestamp;
use operator::error::service_error;
use serde_json::json;

use crate::check_result::{CheckOutcome, CheckResult};
use crate::keys::{KeyTable, snapshot};
use crate::output::{Format, PrintedTable, print_line};
use crate::overflow::Queues;
use crate::stack::variables::{API_KEYS_TABLE, INTAKE_VERSION, OVERFLOW_FUNCTION};
use crate::stack::{OWN_VERSION, Stack};

/// How long a check waits for a response of DynamoDB.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks the stack.
pub(crate) async fn run(stack: &Stack, format: Format) -> Result<()> {
    // A table that does not respond is a finding, and no reason to wait for minutes.
    let findings = find_all(&stack.with_call_timeout(CALL_TIMEOUT)).await?;
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
    if let Err(error) = stack.table_name(API_KEYS_TABLE) {
        // The other checks would say the same.
        add("Stack", Ok(CheckOutcome::failed(format!("{error:#}"))));
        return Ok(findings);
    }
    add("Stack", Ok(check_state(stack)));
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
    let client = Client::new(&stack.config);
    let alarms = cloudwatch::check_alarms(stack, &client).await;
    add("Alarms", alarms);
    let notifications = cloudwatch::check_notifications(stack, &client).await;
    add("Notifications", notifications);
    let concurrency = check_concurrency(stack).await;
    add("Concurrency", concurrency);
    let queues = match Queues::find(stack) {
        Ok(queues) => queues,
        Err(error) => {
            add("Overflow queue", Err(error));
            return Ok(findings);
        }
    };
    let drains = check_drains(stack, &queues, &client).await;
    add("Overflow queue", drains);
    let dead_letters = check_dead_letters(&queues).await;
    add("Dead letters", dead_letters);
    Ok(findings)
}

/// Checks that CloudFormation has left the stack in a state in which it can be used and deployed.
fn check_state(stack: &Stack) -> CheckOutcome {
    match &stack.state {
        Some(state) => state.check(),
        None => CheckOutcome::skipped("only a deployed stack (--stack) has a state"),
    }
}

async fn check_drains(stack: &Stack, queues: &Queues<'_>, client: &Client) -> Result<CheckOutcome> {
    if stack.is_local {
        return Ok(CheckOutcome::skipped(
            "only CloudWatch counts its failed drains",
        ));
    }
    cloudwatch::check_drains(queues, client, stack.optional(OVERFLOW_FUNCTION)).await
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

/// Compares the deployed version with that of this command line, which knows no newer release.
/// `deployed` is the output of template.yaml, which is deployed together with the functions.
fn check_version(deployed: Option<&str>, own: &str) -> CheckOutcome {
    let Some(deployed) = deployed else {
        return CheckOutcome::skipped("the stack has no output Version");
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

/// The most drains at once: `MaximumConcurrency` of the overflow function in template.yaml.
const DRAINS: i32 = 2;

/// The streams that a delivery reads, counted for each of its functions: the event sources of
/// delivery/template.yaml.
const DELIVERED_STREAMS: i32 = 4;

/// The shards of the stream of a new table, each of which one invocation reads at a time.
const SHARDS: i32 = 4;

/// What a delivery holds while a target does not respond (delivery/README.md).
const DELIVERY: i32 = DELIVERED_STREAMS * SHARDS;

/// Checks that the quota leaves the API something beside the drains and a delivery, if there is one.
async fn check_concurrency(stack: &Stack) -> Result<CheckOutcome> {
    if stack.is_local {
        return Ok(CheckOutcome::skipped("only an AWS account has a quota"));
    }
    let settings = aws_sdk_lambda::Client::new(&stack.config)
        .get_account_settings()
        .send()
        .await
        .map_err(|error| service_error("Lambda", &error))?;
    let limit = settings
        .account_limit
        .context("Lambda did not say what the quota is")?;
    let quota = limit.concurrent_executions;
    let unreserved = limit.unreserved_concurrent_executions.unwrap_or(quota);
    let has_delivery = stack.has_delivery().await?;
    let held = if has_delivery {
        DRAINS + DELIVERY
    } else {
        DRAINS
    };
    let without_delivery = if has_delivery {
        String::new()
    } else {
        format!(", a delivery {DELIVERY} more")
    };
    let seen = format!(
        "{quota} concurrent executions in this account and region, {unreserved} of them not reserved. Drains and delivery hold up \
         to {held} of these{without_delivery}; the API has the rest"
    );
    if unreserved <= held {
        return Ok(CheckOutcome::failed(format!(
            "{seen}: raise the quota in Service Quotas, AWS Lambda, \"Concurrent executions\""
        )));
    }
    Ok(CheckOutcome::held(seen))
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

    #[test]
    fn drains_are_as_many_as_the_template_permits() {
        let template = include_str!("../../../template.yaml");
        let setting = format!("MaximumConcurrency: {DRAINS}}}");
        assert!(template.contains(&setting));
    }

    #[test]
    fn delivery_reads_as_many_streams_as_its_template_says_one_invocation_for_each_shard() {
        let template = include_str!("../../../delivery/template.yaml");
        let streams = template.matches("Type: DynamoDB\n").count();
        assert_eq!(i32::try_from(streams).unwrap(), DELIVERED_STREAMS);
        // Its default is one invocation for each shard.
        assert!(!template.contains("ParallelizationFactor"));
        let readme = include_str!("../../../delivery/README.md");
        assert!(readme.contains(&format!("occupy {DELIVERY} environments")));
    }
}

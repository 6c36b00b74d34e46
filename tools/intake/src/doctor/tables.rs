//! Whether the tables are as template.yaml says. A table that was restored from a backup is not.
//! Must not know how results are printed.

use anyhow::{Context as _, Result};
use aws_sdk_dynamodb::types::{
    BillingMode, ContinuousBackupsStatus, PointInTimeRecoveryStatus, StreamViewType,
    TableDescription, TableStatus, TimeToLiveStatus,
};

use crate::check_result::CheckOutcome;
use crate::stack::Stack;
use crate::stack::variables::{
    API_KEYS_TABLE, CUSTOMERS_TABLE, DELETION_PROTECTION, IDEMPOTENCY_TABLE,
    REJECTED_SIGNALS_TABLE, SIGNALS_TABLE,
};
use operator::error::call_error;

/// What template.yaml says of a table.
pub(super) struct ExpectedTable {
    pub(super) name: &'static str,
    variable: &'static str,
    stream: Option<StreamViewType>,
    /// Whether items have a time to live.
    expires: bool,
    /// Whether the table has point-in-time recovery.
    is_backed_up: bool,
}

/// The tables, as template.yaml has them.
pub(super) fn expected() -> [ExpectedTable; 5] {
    [
        ExpectedTable {
            expires: false,
            ..expected_table("ApiKeys", API_KEYS_TABLE)
        },
        ExpectedTable {
            stream: Some(StreamViewType::NewAndOldImages),
            expires: false,
            ..expected_table("Customers", CUSTOMERS_TABLE)
        },
        ExpectedTable {
            stream: Some(StreamViewType::NewImage),
            ..expected_table("Signals", SIGNALS_TABLE)
        },
        ExpectedTable {
            is_backed_up: false,
            ..expected_table("Idempotency", IDEMPOTENCY_TABLE)
        },
        expected_table("RejectedSignals", REJECTED_SIGNALS_TABLE),
    ]
}

fn expected_table(name: &'static str, variable: &'static str) -> ExpectedTable {
    ExpectedTable {
        name,
        variable,
        stream: None,
        expires: true,
        is_backed_up: true,
    }
}

/// The attribute with the time at which DynamoDB deletes an item.
const TIME_TO_LIVE: &str = "expiresAt";

pub(super) async fn check(stack: &Stack, expected: &ExpectedTable) -> Result<CheckOutcome> {
    // The tables of `cargo dev` have no streams, no protection, no billing mode and no backups.
    if stack.is_local {
        return Ok(CheckOutcome::skipped(
            "only the tables of a deployed stack have all that the template says",
        ));
    }
    let table_name = stack.table_name(expected.variable)?;
    let described = stack
        .dynamodb
        .describe_table()
        .table_name(table_name)
        .send()
        .await
        .map_err(|error| call_error(table_name, error))?
        .table
        .context("DynamoDB did not describe it")?;
    let mut faults = faults_of(stack, expected, &described);
    let time_to_live = check_time_to_live(stack, table_name, expected).await?;
    faults.extend(time_to_live);
    let recovery = check_recovery(stack, table_name, expected).await?;
    faults.extend(recovery);
    Ok(CheckOutcome::from_faults(&faults, "as the template says"))
}

async fn check_time_to_live(
    stack: &Stack,
    table_name: &str,
    expected: &ExpectedTable,
) -> Result<Option<String>> {
    let ttl = stack
        .dynamodb
        .describe_time_to_live()
        .table_name(table_name)
        .send()
        .await
        .map_err(|error| call_error(table_name, error))?
        .time_to_live_description;
    let is_on = |status: Option<&TimeToLiveStatus>| {
        matches!(
            status,
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
        )
    };
    let attribute = ttl
        .as_ref()
        .filter(|ttl| is_on(ttl.time_to_live_status()))
        .and_then(|ttl| ttl.attribute_name());
    if attribute == expected.expires.then_some(TIME_TO_LIVE) {
        return Ok(None);
    }
    let attribute = attribute.unwrap_or("no attribute");
    Ok(Some(format!("the time to live is that of {attribute}")))
}

async fn check_recovery(
    stack: &Stack,
    table_name: &str,
    expected: &ExpectedTable,
) -> Result<Option<String>> {
    let backups = stack
        .dynamodb
        .describe_continuous_backups()
        .table_name(table_name)
        .send()
        .await
        .map_err(|error| call_error(table_name, error))?
        .continuous_backups_description
        .filter(|backups| backups.continuous_backups_status == ContinuousBackupsStatus::Enabled);
    let status = backups
        .and_then(|backups| backups.point_in_time_recovery_description)
        .and_then(|recovery| recovery.point_in_time_recovery_status);
    let is_on = status == Some(PointInTimeRecoveryStatus::Enabled);
    if is_on == expected.is_backed_up {
        return Ok(None);
    }
    let state = if is_on { "on" } else { "off" };
    Ok(Some(format!("point-in-time recovery is {state}")))
}

/// What is wrong with the table itself.
fn faults_of(stack: &Stack, expected: &ExpectedTable, table: &TableDescription) -> Vec<String> {
    let mut faults = Vec::new();
    let status = table.table_status();
    let is_usable = matches!(status, Some(TableStatus::Active | TableStatus::Updating));
    if !is_usable {
        let status = status.map_or("unknown", TableStatus::as_str);
        faults.push(format!("its status is {status}"));
    }
    let billing = table
        .billing_mode_summary()
        .and_then(|summary| summary.billing_mode());
    if billing != Some(&BillingMode::PayPerRequest) {
        faults.push("it is not on demand".to_owned());
    }
    let stream = table
        .stream_specification()
        .filter(|stream| stream.stream_enabled)
        .and_then(|stream| stream.stream_view_type());
    if stream != expected.stream.as_ref() {
        faults.push(format!(
            "its stream has {}",
            stream.map_or("nothing", StreamViewType::as_str)
        ));
    }
    if let Some(protection) = stack.optional(DELETION_PROTECTION) {
        let is_protected = table.deletion_protection_enabled == Some(true);
        if is_protected != (protection == "true") {
            faults.push(format!(
                "deletion protection is {is_protected}, the parameter says {protection}"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_template_have_what_doctor_expects_of_them() {
        let template = include_str!("../../../../template.yaml");
        for expected in expected() {
            let table = format!("{}Table", expected.name);
            let (_, from_table) = template.split_once(&format!("\n  {table}:\n")).unwrap();
            let (resource, _) = from_table.split_once("\n\n").unwrap();
            let stream = resource
                .split_once("StreamViewType: ")
                .and_then(|(_, rest)| rest.lines().next());
            let expected_stream = expected.stream.as_ref().map(StreamViewType::as_str);
            assert_eq!(stream, expected_stream, "{table}");
            let expires =
                resource.contains(&format!("AttributeName: {TIME_TO_LIVE}, Enabled: true"));
            assert_eq!(expires, expected.expires, "{table}");
            let recovery = format!("PointInTimeRecoveryEnabled: {}", expected.is_backed_up);
            for line in [
                "PAY_PER_REQUEST",
                recovery.as_str(),
                "DeletionProtectionEnabled: !Ref DeletionProtection",
            ] {
                assert!(resource.contains(line), "{table}: {line}");
            }
        }
    }
}

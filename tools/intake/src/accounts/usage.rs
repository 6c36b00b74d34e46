//! `accounts usage`: which accounts send how much with which keys, as the functions' log lines of
//! their requests say.
//!
//! CloudWatch Logs counts them: a query reads every line of the period, for $0.005 per GB. Metrics
//! would have to have the key as a dimension, and each combination of account and key costs $0.30 a
//! month.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::{Number, json};

use crate::aws_client::{AwsClient, LOGS};
use crate::output::{Format, Table, note};
use crate::stack::Stack;

const FUNCTIONS: [&str; 2] = ["customers", "signals"];

/// A line of a request has a status; one whose key is known has an account.
const QUERY: &str = "filter ispresent(status) and ispresent(accountId) \
    | stats count(*) as requests, sum(SignalsAccepted) as accepted, sum(SignalsRejected) as rejected, \
    max(@timestamp) as lastSeen by accountId, keyId | sort accountId asc, keyId asc | limit 10000";

/// How often the query is asked for its results.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// An answer of CloudWatch Logs to `GetQueryResults`.
#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    results: Vec<Vec<Field>>,
}

#[derive(Deserialize)]
struct Field {
    field: String,
    value: String,
}

pub(super) async fn usage(stack: &Stack, since: Timestamp, format: Format) -> Result<()> {
    let name = stack
        .name
        .as_deref()
        .context("Only a deployed stack has logs to count: give --stack NAME.")?;
    let rows = read(stack, name, since)
        .await
        .context("The logs of the functions cannot be read")?;
    if rows.is_empty() {
        note(&format!("No request with a known key since {since}."));
        return Ok(());
    }
    let mut table = Table::new(
        format,
        [
            "ACCOUNT",
            "KEY",
            "REQUESTS",
            "ACCEPTED",
            "REJECTED",
            "LAST SEEN",
        ],
    );
    for row in &rows {
        let text = |name: &str| {
            row.iter()
                .find(|field| field.field == name)
                .map(|field| field.value.as_str())
        };
        let [account, key, last_seen] =
            ["accountId", "keyId", "lastSeen"].map(|name| text(name).unwrap_or("-"));
        // A sum of nothing is absent.
        let [requests, accepted, rejected] =
            ["requests", "accepted", "rejected"].map(|name| text(name).unwrap_or("0"));
        // In milliseconds since 1970.
        let last_seen = last_seen.parse().map_or(last_seen.to_owned(), |at| {
            Timestamp::from_millis(at).to_string()
        });
        let json = json!({
            "accountId": account, "keyId": key, "requests": number(requests)?, "accepted": number(accepted)?,
            "rejected": number(rejected)?, "lastSeen": last_seen,
        });
        table.add(
            &json,
            [account, key, requests, accepted, rejected, &last_seen],
        )?;
    }
    table.cut_to_terminal().print()
}

async fn read(stack: &Stack, name: &str, since: Timestamp) -> Result<Vec<Vec<Field>>> {
    let client = AwsClient::new(&stack.config)?;
    let groups = FUNCTIONS.map(|function| format!("/aws/lambda/{name}/{function}"));
    let call = json!({
        "logGroupNames": groups,
        "startTime": since.seconds(),
        "endTime": Timestamp::now().seconds(),
        "queryString": QUERY,
    });
    let started = client.call(&LOGS, "StartQuery", &call).await?;
    let call = json!({"queryId": started.get("queryId")});
    loop {
        let Answer { status, results } =
            serde_json::from_value(client.call(&LOGS, "GetQueryResults", &call).await?)?;
        match status.as_str() {
            "Complete" => return Ok(results),
            "Scheduled" | "Running" => tokio::time::sleep(POLL_INTERVAL).await,
            _ => bail!("the query ended as {status}"),
        }
    }
}

fn number(text: &str) -> Result<Number> {
    serde_json::from_str(text).with_context(|| format!("the logs count {text}"))
}

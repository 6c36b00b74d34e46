//! `accounts usage`: which accounts send how much with which keys, as the functions' log lines of their requests say.
//!
//! CloudWatch Logs counts them: a query reads every line of the period, for $0.005 per GB. Metrics would have to have the key
//! as a dimension, and each combination of account and key costs $0.30 a month.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use model::timestamp::Timestamp;
use serde::Serialize;
use serde_json::{Number, Value, json};

use crate::http::{AwsClient, LOGS};
use crate::output::{Format, Table, note};
use crate::stack::Stack;

const FUNCTIONS: [&str; 2] = ["customers", "signals"];

/// A line of a request has a status; one whose key is known has an account.
const QUERY: &str = "filter ispresent(status) and ispresent(accountId) \
    | stats count(*) as requests, sum(SignalsAccepted) as accepted, sum(SignalsRejected) as rejected, \
    max(@timestamp) as lastSeen by accountId, keyId | sort accountId asc, keyId asc | limit 10000";

/// How often the query is asked for its results.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What one key sent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    account_id: String,
    key_id: String,
    requests: Number,
    /// Signals, not requests.
    accepted: Number,
    rejected: Number,
    last_seen: String,
}

pub(super) async fn usage(stack: &Stack, since: Timestamp, format: Format) -> Result<()> {
    let name = stack.name.as_deref().context("Only a deployed stack has logs to count: give --stack NAME.")?;
    let used = read(stack, name, since).await.context("The logs of the functions cannot be read")?;
    if used.is_empty() {
        note(&format!("No request with a known key since {since}."));
        return Ok(());
    }
    let mut table = Table::new(format, ["ACCOUNT", "KEY", "REQUESTS", "ACCEPTED", "REJECTED", "LAST SEEN"]);
    for usage in &used {
        let Usage { account_id, key_id, requests, accepted, rejected, last_seen } = usage;
        let [requests, accepted, rejected] = [requests, accepted, rejected].map(ToString::to_string);
        table.add(usage, [account_id, key_id, &requests, &accepted, &rejected, last_seen])?;
    }
    table.cut_to_terminal().print()
}

async fn read(stack: &Stack, name: &str, since: Timestamp) -> Result<Vec<Usage>> {
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
        let found = client.call(&LOGS, "GetQueryResults", &call).await?;
        match found.get("status").and_then(Value::as_str) {
            Some("Complete") => {
                let rows = found.get("results").and_then(Value::as_array).into_iter().flatten();
                return rows.map(|row| Usage::from_row(row).context("a row of the result is unreadable")).collect();
            }
            Some("Scheduled" | "Running") => tokio::time::sleep(POLL_INTERVAL).await,
            status => bail!("the query ended as {}", status.unwrap_or("nothing")),
        }
    }
}

impl Usage {
    /// Reads a row: fields with their names, all of them texts. A sum of nothing is absent.
    fn from_row(row: &Value) -> Option<Self> {
        let text = |name: &str| {
            let field =
                row.as_array()?.iter().find(|field| field.get("field").and_then(Value::as_str) == Some(name))?;
            field.get("value")?.as_str()
        };
        let count = |name| text(name).map_or(Some(0.into()), |value| serde_json::from_str(value).ok());
        let last_seen = text("lastSeen")?;
        Some(Self {
            account_id: text("accountId")?.to_owned(),
            key_id: text("keyId")?.to_owned(),
            requests: count("requests")?,
            accepted: count("accepted")?,
            rejected: count("rejected")?,
            // In milliseconds since 1970.
            last_seen: last_seen.parse().map_or(last_seen.to_owned(), |at| Timestamp::from_millis(at).to_string()),
        })
    }
}

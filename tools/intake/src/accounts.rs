//! `accounts`: counts what accounts send, and erases whole accounts.
//!
//! The functions log a line for each request, and CloudWatch Logs counts these lines: a query reads
//! every line of the period, for $0.005 per GB. Metrics would need the key as a dimension, and each
//! combination of account and key costs $0.30 a month.

mod erase;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use aws_sdk_cloudwatchlogs::Client;
use aws_sdk_cloudwatchlogs::types::{QueryStatus, ResultField};
use clap::Subcommand;
use model::timestamp::Timestamp;
use operator::error::service_error;
use operator::read_retries::{RETRY_TIMEOUT, retry_read};
use serde_json::{Number, Value, json};

use self::erase::EraseAccount;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;
use crate::time_args::time_or_age;

#[derive(Debug, Subcommand)]
pub(crate) enum AccountsCommand {
    /// Count the requests and signals of each account and key, from the functions' logs; last seen
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod accounts usage --since 24h\n\n\
        CloudWatch Logs reads every line of the period, for $0.005 per GB."
    )]
    Usage {
        /// Only requests at or after this time, such as 6h (ago) or 2026-11-20
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time_or_age)]
        since: Timestamp,
    },

    /// Erase everything that is stored of an account, and revoke its keys; this reads all tables
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod accounts erase shop --dry-run\n  \
        cargo intake --stack intake-prod accounts erase shop\n\n\
        The command refuses to run while the overflow queue or its dead-letter queue has messages, because their data would \
        be stored after the erasure. The keys of the account stay in the key table, revoked: their ids are in logs. After \
        an interruption, run it again: it erases what is left. Backups are not changed, and the lake only by `lake erase`."
    )]
    Erase(EraseAccount),
}

impl AccountsCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Usage { since } => usage(stack, since, format).await,
            Self::Erase(erase) => erase.run(stack, format).await,
        }
    }
}

/// The functions whose log groups are read.
const FUNCTIONS: [&str; 2] = ["customers", "signals"];

/// Only the line of a request has a status, and only the line of a request with a known key has an
/// account.
const QUERY: &str = "filter ispresent(status) and ispresent(accountId) \
    | stats count(*) as requests, sum(SignalsAccepted) as accepted, sum(SignalsRejected) as rejected, \
    max(@timestamp) as lastSeen by accountId, keyId | sort accountId asc, keyId asc | limit 10000";

/// The limit of [`QUERY`], which is the highest that CloudWatch Logs takes.
const MAX_ROWS: usize = 10_000;

/// How often the query is asked for its results.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What one account sent with one key. The counts are as CloudWatch Logs writes them.
struct KeyUsage<'a> {
    account: &'a str,
    key: &'a str,
    requests: &'a str,
    accepted: &'a str,
    rejected: &'a str,
    last_seen: String,
}

impl<'a> KeyUsage<'a> {
    fn read(row: &'a [ResultField]) -> Self {
        let value = |name: &str| {
            let field = row.iter().find(|field| field.field() == Some(name));
            field?.value()
        };
        let last_seen = value("lastSeen").unwrap_or("-");
        let last_seen = match last_seen.parse() {
            Ok(millis) => Timestamp::from_millis(millis).to_string(),
            Err(_) => last_seen.to_owned(),
        };
        Self {
            account: value("accountId").unwrap_or("-"),
            key: value("keyId").unwrap_or("-"),
            // The sum of a field that no line has is absent.
            requests: value("requests").unwrap_or("0"),
            accepted: value("accepted").unwrap_or("0"),
            rejected: value("rejected").unwrap_or("0"),
            last_seen,
        }
    }

    fn json(&self) -> Result<Value> {
        Ok(json!({
            "accountId": self.account,
            "keyId": self.key,
            "requests": number(self.requests)?,
            "accepted": number(self.accepted)?,
            "rejected": number(self.rejected)?,
            "lastSeen": self.last_seen,
        }))
    }
}

fn number(text: &str) -> Result<Number> {
    serde_json::from_str(text).with_context(|| format!("the logs count {text}"))
}

async fn usage(stack: &Stack, since: Timestamp, format: Format) -> Result<()> {
    let name = stack
        .name
        .as_deref()
        .context("Only a deployed stack has logs to count: give --stack NAME.")?;
    let log_rows = query_logs(stack, name, since)
        .await
        .context("The logs of the functions cannot be read")?;
    if log_rows.is_empty() {
        note(&format!("No request with a known key since {since}."));
        return Ok(());
    }
    let heading = [
        "ACCOUNT",
        "KEY",
        "REQUESTS",
        "ACCEPTED",
        "REJECTED",
        "LAST SEEN",
    ];
    let mut rows = PrintedTable::new(format, heading);
    for row in &log_rows {
        let usage = KeyUsage::read(row);
        let cells = [
            usage.account,
            usage.key,
            usage.requests,
            usage.accepted,
            usage.rejected,
            usage.last_seen.as_str(),
        ];
        rows.add(&usage.json()?, cells)?;
    }
    if log_rows.len() == MAX_ROWS {
        note(&format!(
            "There may be more keys: CloudWatch Logs counts {MAX_ROWS} at most."
        ));
    }
    rows.cut_to_terminal().print()
}

/// Has CloudWatch Logs run [`QUERY`], and waits for its results.
async fn query_logs(stack: &Stack, name: &str, since: Timestamp) -> Result<Vec<Vec<ResultField>>> {
    let client = Client::new(&stack.config);
    let log_groups = FUNCTIONS.map(|function| format!("/aws/lambda/{name}/{function}"));
    let call = client
        .start_query()
        .set_log_group_names(Some(log_groups.to_vec()))
        .start_time(i64::try_from(since.seconds())?)
        .end_time(i64::try_from(Timestamp::now().seconds())?)
        .query_string(QUERY);
    let started = retry_read("CloudWatch Logs", note, RETRY_TIMEOUT, || {
        call.clone().send()
    })
    .await;
    let started = started.map_err(|error| service_error("CloudWatch Logs", &error))?;
    let call = client.get_query_results().set_query_id(started.query_id);
    loop {
        let response = retry_read("CloudWatch Logs", note, RETRY_TIMEOUT, || {
            call.clone().send()
        });
        let response = response
            .await
            .map_err(|error| service_error("CloudWatch Logs", &error))?;
        match response.status {
            Some(QueryStatus::Complete) => return Ok(response.results.unwrap_or_default()),
            Some(QueryStatus::Scheduled | QueryStatus::Running) => {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            other => {
                let status = other.as_ref().map_or("unknown", QueryStatus::as_str);
                bail!("the query ended as {status}")
            }
        }
    }
}

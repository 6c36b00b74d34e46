//! Starts of the functions, from the lines that they write to CloudWatch Logs.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::aws_call::{AwsClient, LOGS};
use crate::stack::Stack;

const FUNCTIONS: [&str; 2] = ["customers", "signals"];

/// How long CloudWatch Logs takes until a line can be found.
const INGESTION: Duration = Duration::from_secs(10);

/// Starts, or why they are unknown.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Starts {
    functions: Vec<FunctionStarts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionStarts {
    function: &'static str,
    cold_requests: Vec<ColdRequest>,
}

/// The first request of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ColdRequest {
    request_id: String,
    /// From the start of the process until it was ready.
    init_duration_ms: f64,
    duration_ms: f64,
}

impl Starts {
    pub(super) async fn read(stack: &Stack, since: Timestamp) -> Self {
        let Some(name) = &stack.name else {
            return Self::unknown("only the logs of a deployed stack (--stack) have them");
        };
        tokio::time::sleep(INGESTION).await;
        match read_all(stack, name, since).await {
            Ok(functions) => Self { functions, unknown: None },
            Err(error) => Self::unknown(&format!("{error:#}")),
        }
    }

    /// The ids of requests that started a process; `None` where that is unknown.
    pub(super) fn cold_requests(&self) -> Option<BTreeSet<String>> {
        let requests = self.functions.iter().flat_map(|starts| &starts.cold_requests);
        self.unknown.is_none().then(|| requests.map(|request| request.request_id.clone()).collect())
    }

    fn unknown(reason: &str) -> Self {
        Self { functions: Vec::new(), unknown: Some(reason.to_owned()) }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let list = |times: &mut dyn Iterator<Item = f64>| {
            let times: Vec<_> = times.map(|time| format!("{time:.0} ms")).collect();
            if times.is_empty() { "none".to_owned() } else { times.join(", ") }
        };
        let function = |starts: &FunctionStarts| {
            format!(
                "Starts of {}: init: {}; first requests: {}.",
                starts.function,
                list(&mut starts.cold_requests.iter().map(|request| request.init_duration_ms)),
                list(&mut starts.cold_requests.iter().map(|request| request.duration_ms))
            )
        };
        let unknown = self.unknown.iter().map(|reason| format!("Starts of the functions: skipped: {reason}."));
        self.functions.iter().map(function).chain(unknown).collect()
    }
}

async fn read_all(stack: &Stack, name: &str, since: Timestamp) -> Result<Vec<FunctionStarts>> {
    let client = AwsClient::new(&stack.config)?;
    let mut functions = Vec::new();
    for function in FUNCTIONS {
        let group = format!("/aws/lambda/{name}/{function}");
        let lines = find(&client, &group, since, "{ $.coldStart IS TRUE }").await?;
        let cold_requests = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        functions.push(FunctionStarts { function, cold_requests });
    }
    Ok(functions)
}

async fn find(client: &AwsClient<'_>, group: &str, since: Timestamp, pattern: &str) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut token = Value::Null;
    loop {
        let mut call = json!({"logGroupName": group, "startTime": since.millis(), "filterPattern": pattern});
        if let Some(call) = call.as_object_mut().filter(|_| !token.is_null()) {
            call.insert("nextToken".to_owned(), token);
        }
        let mut page = client.call(LOGS, "Logs_20140328.FilterLogEvents", &call).await?;
        let events = page.get("events").and_then(Value::as_array).into_iter().flatten();
        lines.extend(events.filter_map(|event| Some(event.get("message")?.as_str()?.to_owned())));
        token = page.get_mut("nextToken").map(Value::take).unwrap_or_default();
        if token.is_null() {
            return Ok(lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_from_the_line_of_a_first_request() {
        let line = r#"{"status":200,"requestId":"8f5d","durationMs":7.5,"coldStart":true,"initDurationMs":45.67}"#;
        let request: ColdRequest = serde_json::from_str(line).unwrap();
        assert_eq!((request.request_id.as_str(), request.init_duration_ms, request.duration_ms), ("8f5d", 45.67, 7.5));
    }
}

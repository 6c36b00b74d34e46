//! What CloudWatch bills of a log. Must not know what the lines of a function say.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// What CloudWatch adds to each line (`PutLogEvents` in its API reference).
const BYTES_PER_LINE: usize = 26;

/// Values of the access log, of the length that they have for a request that a phone sends.
const REQUEST: [(&str, &str); 11] = [
    ("requestId", "JKJaXmPLvHcESHA="),
    ("awsEndpointRequestId", "5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90"),
    ("status", "200"),
    ("integrationStatus", "200"),
    ("responseLatency", "12"),
    ("identity.sourceIp", "203.0.113.17"),
    ("httpMethod", "POST"),
    ("path", "/api/event-flows/signal"),
    ("error.message", "-"),
    ("integrationErrorMessage", "-"),
    ("identity.userAgent", "okhttp/4.12.0"),
];

/// The bytes of a line that CloudWatch bills.
pub fn billed_bytes(line: &str) -> usize {
    line.len() + BYTES_PER_LINE
}

/// The line that API Gateway writes of a stored request, by template.yaml.
///
/// # Errors
/// When template.yaml cannot be read, or its format has other values than expected.
pub fn access_line() -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    let template = std::fs::read_to_string(path).context("template.yaml cannot be read")?;
    let format = template.split_once("        Format: >-\n").and_then(|(_, rest)| rest.split_once("\n\n"));
    let (format, _) = format.context("template.yaml has no format of the access log")?;
    let format = format.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = REQUEST.iter().fold(format, |line, (name, value)| line.replacen(&format!("$context.{name}"), value, 1));
    ensure!(!line.contains('$'), "the access log has another value: {line}");
    Ok(line)
}

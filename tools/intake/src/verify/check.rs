//! Checks: what was promised, whether it held, and what was seen.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::api::Response;
use crate::check_result::{CheckResult, Verdict};

/// One check.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    /// The section of docs/api.md with the promise.
    pub(super) promise: &'static str,
    pub(super) result: CheckResult,
    /// What was seen, or why it was skipped.
    pub(super) detail: String,
}

/// What a response has to be.
#[derive(Clone, Default)]
pub(super) struct Expected {
    status: u16,
    body: Vec<(&'static str, Value)>,
    headers: Vec<(&'static str, &'static str)>,
}

impl Expected {
    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// A problem, as a function writes it.
    pub(super) fn problem(status: u16, code: &str) -> Self {
        Self::status(status)
            .body("/code", code.into())
            .body("/status", status.into())
            .header("content-type", "application/problem+json")
            .header("x-request-id", "")
    }

    /// A response of API Gateway itself.
    pub(super) fn gateway(status: u16) -> Self {
        Self::status(status).header("content-type", "application/json").body("/code", Value::Null)
    }

    /// The counts of a batch.
    pub(super) fn counts(status: u16, received: usize, accepted: usize) -> Self {
        Self::status(status)
            .body("/received", received.into())
            .body("/accepted", accepted.into())
            .body("/rejected", received.saturating_sub(accepted).into())
    }

    /// With this value at this pointer of the body; null: with nothing there.
    pub(super) fn body(mut self, pointer: &'static str, value: Value) -> Self {
        self.body.push((pointer, value));
        self
    }

    /// With a header that has this text in it.
    pub(super) fn header(mut self, name: &'static str, text: &'static str) -> Self {
        self.headers.push((name, text));
        self
    }

    /// Whether this is the response.
    pub(super) fn verdict(&self, response: &Result<Response>) -> Verdict {
        match self.check(response) {
            Ok(response) => Verdict::held(format!("{} in {} ms", response.status, response.took.as_millis())),
            Err(difference) => Verdict::failed(difference),
        }
    }

    /// The response, if it is this one; or else the first difference.
    pub(super) fn check<'r>(&self, response: &'r Result<Response>) -> Result<&'r Response, String> {
        let response = response.as_ref().map_err(|error| format!("no response: {error:#}"))?;
        match self.first_difference(response) {
            None => Ok(response),
            Some(difference) => Err(format!("{difference}; the response is {}", response.summary())),
        }
    }

    fn first_difference(&self, response: &Response) -> Option<String> {
        if response.status != self.status {
            return Some(format!("expected status {}", self.status));
        }
        for (pointer, value) in &self.body {
            if response.body.pointer(pointer).unwrap_or(&Value::Null) != value {
                return Some(format!("expected {value} at {pointer}"));
            }
        }
        let header = |name: &str| response.headers.get(name).unwrap_or_default();
        let has = |name: &str, text: &str| response.headers.contains_key(name) && header(name).contains(text);
        let missing = self.headers.iter().find(|(name, text)| !has(name, text));
        missing.map(|(name, text)| format!("expected the header {name}: {text}, got {:?}", header(name)))
    }
}

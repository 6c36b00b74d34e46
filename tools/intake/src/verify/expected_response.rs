//! What a response has to be. Must not know which request it answers.

use anyhow::Result;
use serde_json::Value;

use super::api::ApiResponse;
use crate::check_result::CheckOutcome;

/// What a response has to be.
#[derive(Clone, Default)]
pub(super) struct ExpectedResponse {
    status: u16,
    body: Vec<(&'static str, Value)>,
    headers: Vec<(&'static str, &'static str)>,
}

impl ExpectedResponse {
    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
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
        Self::status(status)
            .header("content-type", "application/json")
            .body("/code", Value::Null)
    }

    /// The response has this value at this pointer of the body. Null means that nothing is there.
    pub(super) fn body(mut self, pointer: &'static str, value: Value) -> Self {
        self.body.push((pointer, value));
        self
    }

    /// The response has this header, with this text in it.
    pub(super) fn header(mut self, name: &'static str, text: &'static str) -> Self {
        self.headers.push((name, text));
        self
    }

    /// The outcome of a check that the response is as expected.
    pub(super) fn outcome(&self, response: &Result<ApiResponse>) -> CheckOutcome {
        match self.check(response) {
            Ok(response) => CheckOutcome::held(format!(
                "{} in {} ms",
                response.status,
                response.took.as_millis()
            )),
            Err(difference) => CheckOutcome::failed(difference),
        }
    }

    /// Returns the response if it is as expected, or else the first difference.
    pub(super) fn check<'r>(
        &self,
        response: &'r Result<ApiResponse>,
    ) -> Result<&'r ApiResponse, String> {
        let response = response
            .as_ref()
            .map_err(|error| format!("no response: {error:#}"))?;
        match self.first_difference(response) {
            None => Ok(response),
            Some(difference) => Err(format!(
                "{difference}; the response is {}",
                response.summary()
            )),
        }
    }

    fn first_difference(&self, response: &ApiResponse) -> Option<String> {
        if response.status != self.status {
            return Some(format!("expected status {}", self.status));
        }
        for (pointer, value) in &self.body {
            if response.body.pointer(pointer).unwrap_or(&Value::Null) != value {
                return Some(format!("expected {value} at {pointer}"));
            }
        }
        for (name, text) in &self.headers {
            let header = response.headers.get(*name);
            if !header.is_some_and(|header| header.contains(text)) {
                let got = header.unwrap_or_default();
                return Some(format!("expected the header {name}: {text}, got {got:?}"));
            }
        }
        None
    }
}

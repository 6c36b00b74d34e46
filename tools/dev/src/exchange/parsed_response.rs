//! What a response says of a request: those of its members that are shown. Must not know a rule of
//! the API.

use std::mem::size_of;

use serde::{Deserialize, Serialize};

/// A response, as far as it is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ParsedResponse {
    pub(crate) code: Option<String>,
    pub(crate) detail: Option<String>,
    message: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) request_identifier: Option<String>,
    pub(crate) received: Option<u64>,
    pub(crate) accepted: Option<u64>,
    pub(crate) rejected: Option<u64>,
    pub(crate) deferred: Option<u64>,
    pub(crate) replayed: Option<bool>,
    pub(crate) field_errors: Vec<ResponseFinding>,
    pub(crate) warnings: Vec<ResponseFinding>,
    /// What the whole response says, as an error of each signal.
    #[serde(skip)]
    pub(crate) refusal: ResponseFinding,
}

/// An error or a warning of a response.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ResponseFinding {
    pub(crate) code: String,
    pub(crate) pointer: String,
    pub(crate) message: String,
}

impl ResponseFinding {
    /// How much memory the finding takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.code.len() + self.pointer.len() + self.message.len()
    }
}

impl ParsedResponse {
    /// Reads what a response with this body says. A reason is added to its message.
    pub(crate) fn parse(status: u16, body: &[u8], reason: Option<&str>) -> Self {
        let mut parsed: Self = serde_json::from_slice(body).unwrap_or_default();
        let detail = parsed.detail.as_deref().or(parsed.message.as_deref());
        let detail = detail.unwrap_or_default();
        let message = match reason {
            Some(reason) => format!("{detail} ({reason})"),
            None => detail.to_owned(),
        };
        // API Gateway's own responses have no code.
        let code = parsed.code.clone().unwrap_or_else(|| status.to_string());
        parsed.refusal = ResponseFinding {
            code,
            pointer: String::new(),
            message,
        };
        parsed
    }
}

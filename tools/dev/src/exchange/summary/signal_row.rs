//! A signal as a row of the page. Must not know how a list is asked for.

use std::borrow::Cow;

use serde::Serialize;

use crate::exchange::event_contract::CONTRACT_BROKEN;
use crate::exchange::signal::{ShownSignal, ShownVerdict};

/// A signal as a row of the page, which has its place in the list of its request. What most signals
/// do not have is left out: there may be 250,000 rows.
#[derive(Serialize)]
pub(super) struct SignalRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    verdict: ShownVerdict,
    #[serde(skip_serializing_if = "is_zero")]
    errors: usize,
    /// How often it breaks its event contract.
    #[serde(skip_serializing_if = "is_zero")]
    breaks: usize,
    #[serde(skip_serializing_if = "is_zero")]
    warnings: usize,
    /// The code of the first error, break or warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    /// The place of the first error, break or warning in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<Cow<'a, str>>,
}

impl<'a> SignalRow<'a> {
    pub(super) fn new(signal: &'a ShownSignal) -> Self {
        let first_error = signal.errors.first();
        let breaks = signal.event_contract_breaks.as_deref().unwrap_or_default();
        let first_break = breaks.first();
        let mut row = Self {
            r#type: signal.r#type.as_deref(),
            subject: signal.subject.as_deref(),
            verdict: signal.verdict,
            errors: signal.errors.len(),
            breaks: breaks.len(),
            warnings: signal.warnings.len(),
            code: None,
            pointer: None,
        };
        if let (None, Some(broken)) = (first_error, first_break) {
            row.code = Some(CONTRACT_BROKEN);
            row.pointer = Some(Cow::Owned(signal.pointer_of(broken)));
        } else if let Some(first) = first_error.or(signal.warnings.first()) {
            row.code = Some(&first.code);
            row.pointer = Some(Cow::Borrowed(&first.pointer));
        }
        row
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

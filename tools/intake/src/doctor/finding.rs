//! What a check of `doctor` found.

use anyhow::Result;
use serde::Serialize;

use crate::check_result::CheckResult;

/// What a check found.
#[derive(Serialize)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) result: CheckResult,
    pub(super) seen: String,
}

impl Finding {
    pub(super) fn held(check: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { check: check.into(), result: CheckResult::Held, seen: seen.into() }
    }

    pub(super) fn failed(check: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { result: CheckResult::Failed, ..Self::held(check, seen) }
    }

    pub(super) fn skipped(check: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { result: CheckResult::Skipped, ..Self::held(check, reason) }
    }

    /// Held, unless there are `faults`.
    pub(super) fn of(check: impl Into<String>, faults: &[String], seen: impl Into<String>) -> Self {
        if faults.is_empty() { Self::held(check, seen) } else { Self::failed(check, faults.join("; ")) }
    }

    /// A check that cannot be done is no check that holds.
    pub(super) fn or_failed(check: &str, finding: Result<Self>) -> Self {
        finding.unwrap_or_else(|error| Self::failed(check, format!("unknown: {error:#}")))
    }
}

//! The result of a check of `verify` or `doctor`. Must not know what is checked.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CheckResult {
    Held,
    Failed,
    Skipped,
}

/// The result of a check, with its reason.
#[derive(Debug)]
pub(crate) struct CheckOutcome {
    pub(crate) result: CheckResult,
    /// What was seen, or why the check was skipped.
    pub(crate) seen: String,
}

impl CheckOutcome {
    pub(crate) fn held(seen: impl Into<String>) -> Self {
        Self {
            result: CheckResult::Held,
            seen: seen.into(),
        }
    }

    pub(crate) fn failed(seen: impl Into<String>) -> Self {
        Self {
            result: CheckResult::Failed,
            seen: seen.into(),
        }
    }

    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self {
            result: CheckResult::Skipped,
            seen: reason.into(),
        }
    }

    /// The check failed if there are `faults`.
    pub(crate) fn from_faults(faults: &[String], seen: impl Into<String>) -> Self {
        if faults.is_empty() {
            Self::held(seen)
        } else {
            Self::failed(faults.join("; "))
        }
    }
}

impl CheckResult {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        }
    }
}

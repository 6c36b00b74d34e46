//! The result of a check of `verify` or `doctor`. Must not know what is checked.

use serde::Serialize;

use crate::output::commands_as_typed;

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
    /// What was seen, or why the check was skipped. Commands in it are as the operator types them.
    pub(crate) seen: String,
}

impl CheckOutcome {
    fn new(result: CheckResult, seen: &str) -> Self {
        Self {
            result,
            seen: commands_as_typed(seen),
        }
    }

    pub(crate) fn held(seen: impl Into<String>) -> Self {
        Self::new(CheckResult::Held, &seen.into())
    }

    pub(crate) fn failed(seen: impl Into<String>) -> Self {
        Self::new(CheckResult::Failed, &seen.into())
    }

    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::new(CheckResult::Skipped, &reason.into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::own_name;

    #[test]
    fn commands_in_an_outcome_have_the_name_of_this_program() {
        let outcome = CheckOutcome::failed("old: run `cargo intake keys publish`");
        assert_eq!(
            outcome.seen,
            format!("old: run `{} keys publish`", own_name())
        );
    }
}

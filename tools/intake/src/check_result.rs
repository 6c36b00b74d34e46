//! The result of a check of `verify` or `doctor`.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CheckResult {
    Held,
    Failed,
    Skipped,
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Held => "held",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        })
    }
}

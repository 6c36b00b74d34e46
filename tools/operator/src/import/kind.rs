//! Whether a file has customers or signals. Must not know how lines are stored.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::IgnoredAny;

use super::chunks::{Chunks, cannot_read};

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportKind {
    Customers,
    Signals,
}

impl ImportKind {
    /// Reads the first line that has a text, and says what the lines of the file are. A customer has
    /// `customerData` or, in a line of `customers show --json`, `updatedAt`.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let mut chunks = Chunks::open(path, 1)?;
        let first_chunk = chunks.read().with_context(|| cannot_read(path))?;
        let lines = first_chunk.map(|chunk| chunk.lines).unwrap_or_default();
        let first_text = lines
            .into_iter()
            .find_map(|line| line.text.ok())
            .unwrap_or_default();
        // A line that is no JSON object has no fields. The import reports it.
        let fields: HashMap<String, Option<IgnoredAny>> =
            serde_json::from_str(&first_text).unwrap_or_default();
        let has = |name: &str| fields.get(name).is_some_and(Option::is_some);
        let is_customer = has("customerData") || (has("updatedAt") && !has("eventType"));
        if is_customer {
            return Ok(Self::Customers);
        }
        Ok(Self::Signals)
    }

    /// The field that holds the time of a line.
    pub(super) fn time_field(self) -> &'static str {
        match self {
            Self::Customers => "updatedAt",
            Self::Signals => "receivedAt",
        }
    }
}

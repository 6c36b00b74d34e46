//! Whether a file has customers or signals. Must not know how lines are stored.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use model::json::JsonText;
use serde::Serialize;
use serde::de::IgnoredAny;

use super::chunks::{Chunks, ImportLine, cannot_read};

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportKind {
    Customers,
    Signals,
}

/// The first line of a file that shows its kind.
struct SureLine {
    number: u64,
    kind: ImportKind,
}

impl ImportKind {
    /// Reads all lines of a file, and says what they are. A file without lines has signals.
    ///
    /// # Errors
    /// The file cannot be read, it has lines of both kinds, or none of its lines shows its kind.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let mut chunks = Chunks::open(path)?;
        let mut first: Option<SureLine> = None;
        let mut is_empty = true;
        let mut first_other = None;
        while let Some(chunk) = chunks.read().with_context(|| cannot_read(path))? {
            for line in &chunk {
                is_empty = false;
                if first_other.is_none() && !is_object(line) {
                    first_other = Some(line.number);
                }
                let Some(kind) = Self::of_line(line) else {
                    continue;
                };
                let number = line.number;
                let sure = first.get_or_insert(SureLine { number, kind });
                if sure.kind != kind {
                    bail!(
                        "Line {} of {} is a {}, and line {number} is a {}. Divide the file, or give --customers or \
                         --signals, which rejects the lines of the other kind.",
                        sure.number,
                        path.display(),
                        sure.kind.singular(),
                        kind.singular(),
                    );
                }
            }
        }
        let file = path.display();
        match (first, first_other) {
            (Some(sure), _) => Ok(sure.kind),
            (None, _) if is_empty => Ok(Self::Signals),
            (None, Some(number)) => bail!(
                "Line {number} of {file} is not a JSON object. An import needs one JSON object on each line, in UTF-8."
            ),
            (None, None) => bail!(
                "No line of {file} shows whether it is a customer or a signal. Give --customers or --signals."
            ),
        }
    }

    /// What the members of a line say that it is. A member that is null says nothing. A line with
    /// members of both kinds does not show its kind: unknown fields may have any name.
    pub(super) fn of_line(line: &ImportLine) -> Option<Self> {
        let text = line.text.as_deref().ok()?;
        let fields: HashMap<String, Option<IgnoredAny>> = serde_json::from_str(text).ok()?;
        let has = |name: &str| fields.get(name).is_some_and(Option::is_some);
        let signal_fields = ["eventType", "emitterId", "stepNodeId", "receivedAt"];
        // A line of `customers show --json` has no `customerData`.
        let customer_fields = ["customerData", "updatedAt"];
        match (
            customer_fields.into_iter().any(has),
            signal_fields.into_iter().any(has),
        ) {
            (true, false) => Some(Self::Customers),
            (false, true) => Some(Self::Signals),
            (true, true) | (false, false) => None,
        }
    }

    /// The word for one of them.
    pub fn singular(self) -> &'static str {
        match self {
            Self::Customers => "customer",
            Self::Signals => "signal",
        }
    }

    /// The field that holds the time of a line.
    pub(super) fn time_field(self) -> &'static str {
        match self {
            Self::Customers => "updatedAt",
            Self::Signals => "receivedAt",
        }
    }
}

fn is_object(line: &ImportLine) -> bool {
    let text = line.text.as_deref().unwrap_or_default();
    text.starts_with('{') && JsonText::parse(text).is_ok()
}

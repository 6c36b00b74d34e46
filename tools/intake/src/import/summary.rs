//! The result of an import, for people and for programs.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::Kind;
use super::checkpoint::State;
use super::outcome::{Counts, UnknownFields};
use crate::output::{Format, escape_control, note};

pub(super) fn print(state: &State, error_file: &Path, format: Format) -> Result<()> {
    let (kind, Counts { stored, rejected, expired, skipped }) = (state.kind, state.counts);
    let error_file = (rejected > 0).then(|| error_file.display().to_string());
    if let (Some(error_file), Format::Table) = (&error_file, format) {
        note(&format!("The rejected lines and their errors are in {error_file}."));
    }
    let mut text = format!("{stored} {} stored, {rejected} lines rejected", kind.as_str());
    for (count, outcome) in [(expired, "expired: not stored"), (skipped, "skipped: a newer update is stored")] {
        if count > 0 {
            text.extend([", ", &count.to_string(), " ", outcome]);
        }
    }
    let UnknownFields { lines, others } = &state.unknown_fields;
    let json = json!({
        "kind": kind, "stored": stored, "rejected": rejected, "expired": expired, "skipped": skipped,
        "unknownFields": lines, "otherUnknownFields": others, "errorFile": error_file,
    });
    format.print(&(text + "." + &describe(kind, &state.unknown_fields)), &json)
}

/// A line with the names of the unknown fields, if there are any.
fn describe(kind: Kind, UnknownFields { lines, others }: &UnknownFields) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let stored = match kind {
        Kind::Customers => "if in customerData",
        Kind::Signals => "under undocumented",
    };
    let names = lines.iter().map(|(name, lines)| format!("{} (lines: {lines})", escape_control(name)));
    let others = if *others > 0 { format!(", and {others} of other names") } else { String::new() };
    format!("\nUnknown fields, stored {stored}: {}{others}.", names.collect::<Vec<_>>().join(", "))
}

//! The summary of an import. Must not know how lines are stored.

use anyhow::Result;
use operator::escape::escape_control;
use operator::import::{ImportKind, ImportReport};
use serde_json::json;

use crate::output::{Format, counted, note};

/// Prints what became of the lines of an import.
pub(super) fn print_summary(report: &ImportReport, format: Format) -> Result<()> {
    let error_file = report.error_file().map(|path| path.display().to_string());
    if let (Some(error_file), Format::Text) = (&error_file, format) {
        note(&format!(
            "The rejected lines and their errors are in {error_file}."
        ));
    }
    let counts = report.counts();
    let json = json!({
        "kind": report.kind(),
        "stored": counts.stored,
        "storedInPart": counts.stored_in_part,
        "nothingNewer": counts.nothing_newer,
        "rejected": counts.invalid,
        "expired": counts.expired,
        "unknownFields": report.unknown_fields(),
        "errorFile": error_file,
    });
    format.print(&sentences(report), &json)
}

/// The summary for people.
fn sentences(report: &ImportReport) -> String {
    let thing = match report.kind() {
        ImportKind::Customers => "customer",
        ImportKind::Signals => "signal",
    };
    let counts = report.counts();
    let mut parts = vec![format!("{} stored", counted(counts.stored, thing))];
    if counts.stored_in_part > 0 {
        parts.push(format!(
            "{} stored in part: the other fields are newer in the table",
            counts.stored_in_part
        ));
    }
    if counts.nothing_newer > 0 {
        parts.push(format!(
            "{} with nothing newer to store",
            counts.nothing_newer
        ));
    }
    parts.push(format!("{} rejected", counted(counts.invalid, "line")));
    if counts.expired > 0 {
        parts.push(format!("{} expired: not stored", counts.expired));
    }
    let summary = parts.join(", ");
    if report.unknown_fields().is_empty() {
        return format!("{summary}.");
    }
    let names: Vec<_> = report
        .unknown_fields()
        .iter()
        .map(|name| escape_control(name))
        .collect();
    format!("{summary}.\nUnknown fields: {}.", names.join(", "))
}

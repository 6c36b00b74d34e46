//! The summary of an import. Must not know how lines are stored.

use anyhow::Result;
use operator::escape::escape_control;
use operator::import::ImportReport;
use serde_json::json;

use crate::output::{Format, counted, note};

/// Prints what became of the lines of an import, or what would become of them.
pub(super) fn print_summary(report: &ImportReport, dry_run: bool, format: Format) -> Result<()> {
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
        "alreadyStored": counts.already_stored,
        "replaced": counts.replaced,
        "storedInPart": counts.stored_in_part,
        "nothingNewer": counts.nothing_newer,
        "rejected": counts.invalid,
        "expired": counts.expired,
        "dryRun": dry_run,
        "unknownFields": report.unknown_fields(),
        "errorFile": error_file,
    });
    format.print(&sentences(report, dry_run), &json)
}

/// The summary for people.
fn sentences(report: &ImportReport, dry_run: bool) -> String {
    let thing = report.kind().singular();
    let counts = report.counts();
    let verb = if dry_run { "would be stored" } else { "stored" };
    let mut parts = vec![format!("{} {verb}", counted(counts.stored, thing))];
    if counts.already_stored > 0 {
        parts.push(format!("{} stored before", counts.already_stored));
    }
    if counts.replaced > 0 {
        let verb = if dry_run {
            "would be replaced"
        } else {
            "replaced"
        };
        parts.push(format!("{} {verb}", counts.replaced));
    }
    if counts.stored_in_part > 0 {
        parts.push(format!(
            "{} {verb} in part: the other fields are newer in the table",
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

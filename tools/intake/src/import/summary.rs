//! What came of an import, in the end.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::Kind;
use super::checkpoint::{Checkpoint, beside};
use crate::output::{Format, json, line, note};

pub(super) struct Summary {
    error_file: String,
    kind: Kind,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    kind: Kind,
    stored: u64,
    rejected: u64,
    error_file: Option<&'a str>,
}

impl Summary {
    pub(super) fn of(file: &Path, kind: Kind) -> Self {
        Self { error_file: beside(file, ".errors.ndjson").display().to_string(), kind }
    }

    /// Writes it; `took` is how long this run was.
    pub(super) fn print(&self, checkpoint: &Checkpoint, took: Option<Duration>, format: Format) -> Result<()> {
        let (stored, rejected) = (checkpoint.stored(), checkpoint.rejected());
        if let Some(took) = took {
            note(&format!("Done in {:.1} s.", took.as_secs_f64()));
        }
        match format {
            Format::Json => json(&Shown {
                kind: self.kind,
                stored,
                rejected,
                error_file: (rejected > 0).then_some(&self.error_file),
            }),
            Format::Table => {
                line(&format!("{stored} {} stored, {rejected} lines not taken.", self.kind.as_str()))?;
                if rejected > 0 {
                    note(&format!("Which lines, and why: {}", self.error_file));
                }
                Ok(())
            }
        }
    }
}

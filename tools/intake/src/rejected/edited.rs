//! The file of `rejected redrive --from`: lines of `rejected list --json` whose payloads somebody has mended.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::id::RejectedSignalId;

/// Which rejected signal, and what is to be stored in its place.
pub(super) struct Edited {
    pub(super) id: RejectedSignalId,
    pub(super) payload: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// Reads the file, all of it: it holds what somebody has edited.
///
/// # Errors
/// It cannot be read, a line is not as it must be, or one id stands twice.
pub(super) fn read(file: &Path) -> Result<Vec<Edited>> {
    let name = file.display();
    let cannot = |error: std::io::Error| anyhow!("Cannot read {name}: {error}.");
    let (mut edited, mut seen) = (Vec::new(), HashSet::new());
    for (number, line) in (1_usize..).zip(BufReader::new(std::fs::File::open(file).map_err(cannot)?).lines()) {
        let line = line.map_err(cannot)?;
        if line.trim().is_empty() {
            continue;
        }
        let parsed: Line<'_> = serde_json::from_str(&line).map_err(|error| {
            anyhow!("Line {number} of {name} is not one of `rejected list --json`: {error}. Nothing was redriven.")
        })?;
        let id: RejectedSignalId =
            parsed.id.parse().map_err(|_| anyhow!("Line {number} of {name} has no id of a rejected signal."))?;
        if !seen.insert(id.clone()) {
            bail!("Line {number} of {name} has an id that stood before: {id}. Nothing was redriven.");
        }
        edited.push(Edited { id, payload: parsed.payload.get().to_owned() });
    }
    Ok(edited)
}

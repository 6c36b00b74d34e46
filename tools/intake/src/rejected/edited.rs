//! The file of `rejected redrive --from`: lines of `rejected list --json` with edited payloads.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::id::RejectedSignalId;

/// A rejected signal, and what is to be stored in its place.
#[derive(Deserialize)]
struct Edited {
    id: RejectedSignalId,
    payload: Box<RawValue>,
}

/// Reads the whole file: an operator edited it, so it fits into memory, and an invalid line must stop the redrive
/// before it begins.
pub(super) fn read(file: &Path) -> Result<Vec<(RejectedSignalId, String)>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("Cannot read {name}"))?;
    let mut ids = HashSet::new();
    let lines = (1_usize..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let edited: Edited = serde_json::from_str(line)
            .with_context(|| format!("Line {number} of {name} is not a line of `rejected list --json`"))?;
        ensure!(
            ids.insert(edited.id.clone()),
            "Line {number} of {name} repeats the id of an earlier line: {}.",
            edited.id
        );
        Ok((edited.id, Box::<str>::from(edited.payload).into()))
    };
    lines.map(parse).collect()
}

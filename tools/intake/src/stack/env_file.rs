//! The variables that `cargo dev` writes while it runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

/// Where it is unless `cargo dev` was told otherwise, from the root of the workspace.
pub(super) const USUAL: &str = "target/dev.env";

/// Reads `file`; the usual one is also looked for in the folders above this one.
///
/// # Errors
/// There is none: no local stack is running.
pub(super) fn read(file: &Path) -> Result<(String, HashMap<String, String>)> {
    let file = if file == Path::new(USUAL) { find()? } else { file.to_owned() };
    let name = file.display().to_string();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| anyhow!("Cannot read {name}: {error}. Is `cargo dev` running?"))?;
    let variables = text.lines().filter_map(|line| line.split_once('='));
    Ok((name, variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
}

fn find() -> Result<PathBuf> {
    let said = std::env::var_os("CARGO_TARGET_DIR").map(|target| PathBuf::from(target).join("dev.env"));
    let around = std::env::current_dir().unwrap_or_default();
    let above = around.ancestors().map(|folder| folder.join(USUAL));
    said.into_iter()
        .chain(above)
        .find(|file| file.is_file())
        .ok_or_else(|| anyhow!("No local stack is running: there is no {USUAL}. Start one with `cargo dev`."))
}

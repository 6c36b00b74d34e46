//! The variables that `cargo dev` writes while it runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Where `cargo dev` writes them by default, from the root of the workspace.
pub(super) const DEFAULT: &str = "target/dev.env";

/// The variables in `file`, and what it is called in messages. The default one is also looked for in the folders above the current one, and
/// where a release writes it: in the current one.
pub(super) fn read(file: &Path) -> Result<(HashMap<String, String>, String)> {
    let file = if file == Path::new(DEFAULT) { find_default()? } else { file.to_owned() };
    let source = file.display().to_string();
    let text =
        std::fs::read_to_string(&file).with_context(|| format!("Cannot read {source} (is `cargo dev` running?)"))?;
    let values = text.lines().filter_map(|line| line.split_once('='));
    Ok((values.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), source))
}

fn find_default() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(|target| PathBuf::from(target).join("dev.env"));
    let folder = std::env::current_dir().unwrap_or_default();
    target
        .into_iter()
        .chain(folder.ancestors().map(|folder| folder.join(DEFAULT)))
        .chain([folder.join("dev.env")])
        .find(|file| file.is_file())
        .with_context(|| format!("No local stack is running: neither {DEFAULT} nor dev.env exists. Start one with `cargo dev` or `./dev`."))
}

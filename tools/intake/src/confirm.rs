//! The question before something is destroyed.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result, bail};

use crate::output::note;

/// Returns when `yes` is set or the operator answers yes.
///
/// # Errors
/// The operator answers no, or standard input is no terminal.
pub(crate) fn confirm(question: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("{question} Standard input is no terminal: add --yes to confirm.");
    }
    note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("Cannot read the answer")?;
    if !matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        bail!("Nothing was changed.");
    }
    Ok(())
}

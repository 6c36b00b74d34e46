//! Asking before anything is destroyed.

use std::io::{BufRead as _, IsTerminal as _};

use anyhow::{Result, anyhow, bail};

use crate::output::note;

/// Goes on if `yes` was given, or if the person at the terminal says so.
///
/// # Errors
/// The person says no, or there is nobody to ask.
pub(crate) fn confirm(question: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("{question} There is nobody to ask: add --yes to go on.");
    }
    note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|error| anyhow!("Cannot read the answer: {error}."))?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        Ok(())
    } else {
        Err(anyhow!("Nothing was changed."))
    }
}

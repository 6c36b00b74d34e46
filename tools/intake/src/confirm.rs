//! The question that the operator answers before something is destroyed. Must not know what is
//! destroyed.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result, bail};

use crate::output::note;

/// Asks the operator to answer yes, unless `yes` is set.
///
/// # Errors
/// The operator answers something else, or standard input is no terminal.
pub(crate) fn confirm(question: &str, yes: bool) -> Result<()> {
    let is_yes = |answer: &str| ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str());
    ask(question, "[y/N]", yes, is_yes)
}

/// Asks the operator to type `name`, unless `yes` is set: for what is larger than one customer or
/// key.
///
/// # Errors
/// The operator types something else, or standard input is no terminal.
pub(crate) fn confirm_by_name(question: &str, name: &str, yes: bool) -> Result<()> {
    let prompt = format!("Type {name} to confirm:");
    // A name may have white space around it.
    let is_name = |answer: &str| answer == name || answer.trim() == name;
    ask(question, &prompt, yes, is_name)
}

fn ask(question: &str, prompt: &str, yes: bool, is_yes: impl FnOnce(&str) -> bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("{question} Standard input is not a terminal: add --yes to confirm.");
    }
    let answer = read_answer(&format!("{question} {prompt}"))?;
    if !is_yes(&answer) {
        bail!("Nothing was changed.");
    }
    Ok(())
}

/// Asks the operator to type a line. `None` with `yes`, or when standard input is no terminal: then
/// the operator answers no question.
///
/// # Errors
/// The answer cannot be read.
pub(crate) fn ask_for_line(question: &str, yes: bool) -> Result<Option<String>> {
    if yes || !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    read_answer(question).map(Some)
}

/// The line that the operator types, without its end.
fn read_answer(question: &str) -> Result<String> {
    note(question);
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("Cannot read the answer")?;
    Ok(answer.trim_end_matches(['\r', '\n']).to_owned())
}

//! Ctrl-C, and how to continue an import that ended before its input.

use std::cell::Cell;

use indicatif::ProgressBar;
use tokio::sync::Notify;

use super::checkpoint::Checkpoint;
use crate::output::note;

/// Ctrl-C: pressed once, it stops an import after the chunks that are being stored; pressed twice, at once.
pub(super) struct CtrlC {
    /// The progress bar of the import. It erases what is written while it is shown.
    pub(super) bar: ProgressBar,
    pressed: Cell<bool>,
    stop: Notify,
}

impl CtrlC {
    pub(super) fn new(bar: ProgressBar) -> Self {
        Self { bar, pressed: Cell::new(false), stop: Notify::new() }
    }

    pub(super) async fn pressed_twice(&self) {
        press().await;
        self.pressed.set(true);
        self.stop.notify_one();
        let message = "Storing the lines that were begun, then stopping. Press Ctrl-C again to stop at once.";
        // The import listens for the second press before it prints the message: a press without a listener is lost.
        tokio::join!(biased; press(), async { self.bar.suspend(|| note(message)) });
    }

    /// Waits until [`pressed_twice`](Self::pressed_twice), which must be running, sees the first press.
    pub(super) async fn pressed_once(&self) {
        self.stop.notified().await;
    }

    pub(super) fn was_pressed(&self) -> bool {
        self.pressed.get()
    }
}

async fn press() {
    if tokio::signal::ctrl_c().await.is_err() {
        // The process cannot listen for Ctrl-C, so Ctrl-C ends the process, as it does by default.
        std::future::pending::<()>().await;
    }
}

/// Says how far an import came, and the command that continues it. `is_exact`: no line after these is stored.
pub(super) fn how_to_continue(checkpoint: &Checkpoint, is_exact: bool) -> String {
    let done = checkpoint.state.position.line;
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    if checkpoint.path.is_some() {
        // The checkpoint has the time of arrival; one such as 7d would be another one now.
        return format!("{done} lines are done. To continue: {}", command(arguments, |name| name == "--received-at"));
    }
    let next = if is_exact { "" } else { "; some of the next may be stored" };
    format!(
        "The first {done} lines are done{next}. To continue with the next: tail -n +{} FILE | {}",
        done + 1,
        command(arguments, |_| false)
    )
}

/// A command line of `cargo intake` for a shell, without the options that are `left_out` and their values.
fn command(arguments: impl Iterator<Item = String>, left_out: impl Fn(&str) -> bool) -> String {
    let (mut words, mut arguments) = (vec!["cargo intake".to_owned()], arguments);
    while let Some(argument) = arguments.next() {
        match argument.split_once('=') {
            Some((name, _)) if left_out(name) => {}
            None if left_out(&argument) => drop(arguments.next()),
            _ => words.push(quote(argument)),
        }
    }
    words.join(" ")
}

/// An argument as a shell reads it.
fn quote(argument: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument;
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_quoted_for_a_shell_without_options_that_are_left_out() {
        let arguments = ["import", "--received-at", "7d", "--account=shop", "--received-at=7d", "Ada's file", ""];
        let command = command(arguments.map(ToOwned::to_owned).into_iter(), |name| name == "--received-at");
        assert_eq!(command, r"cargo intake import --account=shop 'Ada'\''s file' ''");
    }
}

//! How far something long has come: a line on the terminal, and nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::note;

/// Counts items while the whole of `table` is read; says so, since that costs money and time.
pub(crate) fn scan(table: &str) -> ProgressBar {
    note(&format!("Scanning {table}, the whole of it ..."));
    let bar = ProgressBar::new_spinner();
    with_style(bar, "{spinner} {human_pos} items read")
}

/// Counts `what` up to `total`.
pub(crate) fn of(total: u64, what: &str) -> ProgressBar {
    with_style(ProgressBar::new(total), &format!("{{bar:40}} {{human_pos}} of {{human_len}} {what}, {{eta}} left"))
}

pub(crate) fn with_style(bar: ProgressBar, template: &str) -> ProgressBar {
    // A template that indicatif cannot read leaves its own.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

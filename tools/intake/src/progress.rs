//! Progress of long commands: a line on the terminal, nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::note;

/// Counts the items of a scan of `table`. It says that it scans, since a scan costs money and time.
pub(crate) fn scan(table: &str) -> ProgressBar {
    note(&format!("Scanning all of {table} ..."));
    with_style(ProgressBar::new_spinner(), "{spinner} {human_pos} items read{msg}")
}

/// Counts `what` up to `total`.
pub(crate) fn bar(total: usize, what: &str) -> ProgressBar {
    with_style(
        ProgressBar::new(total as u64),
        &format!("{{bar:40}} {{human_pos}} of {{human_len}} {what}, {{eta}} left"),
    )
}

pub(crate) fn with_style(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

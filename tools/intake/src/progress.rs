//! Progress of long commands: a line on the terminal, nothing in a pipe, and nothing for work that takes less than a second.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends within this time shows no progress.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Counts the items of a scan of `table`. It says that it scans, since a scan costs money and time.
pub(crate) fn scan(table: &str) -> ProgressBar {
    let template = format!("{{spinner}} Scanning all of {table}: {{human_pos}} items read{{msg}}");
    shown_later(with_style(ProgressBar::new_spinner(), &template))
}

/// Counts `what` up to `total`.
pub(crate) fn bar(total: usize, what: &str) -> ProgressBar {
    let template = format!("{{bar:40}} {{human_pos}} of {{human_len}} {what}, {{eta}} left");
    shown_later(with_style(ProgressBar::new(total as u64), &template))
}

pub(crate) fn with_style(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Shows `bar` once it has lasted, unless it is gone by then.
fn shown_later(bar: ProgressBar) -> ProgressBar {
    bar.set_draw_target(ProgressDrawTarget::hidden());
    let weak = bar.downgrade();
    tokio::spawn(async move {
        tokio::time::sleep(SHOWN_AFTER).await;
        if let Some(bar) = weak.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
    bar
}

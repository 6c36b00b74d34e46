//! Progress on standard error; tables and numbers as Markdown.

use std::fmt::Display;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Says on standard error what is done next, after how many seconds.
pub(crate) fn step(what: impl Display) {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    eprintln!("[{:3} s] {what}", BEGAN.elapsed().as_secs());
}

/// Prints a table; the first row is its header.
pub(crate) fn print_table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) {
    println!();
    for (index, row) in rows.iter().enumerate() {
        println!("| {} |", row.join(" | "));
        if index == 0 {
            println!("|{}", "---|".repeat(COLUMNS));
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what is counted has fewer than 53 bits"
)]
pub(crate) fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

pub(crate) fn thousands(count: u64) -> String {
    format!("{:.1} k", millions(count) * 1e3)
}

/// A number of bytes in megabytes, of a million bytes each.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", millions(bytes))
}

pub(crate) fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}

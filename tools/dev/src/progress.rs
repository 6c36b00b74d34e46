//! What `cargo dev` tells while it works. A terminal that has gone away is no reason to fail.

use std::io::Write;

/// Writes one line for the person at the terminal, on stderr like cargo's own progress.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

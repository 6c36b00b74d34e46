//! Messages of `cargo dev` while it works. A closed terminal is no error.

use std::io::Write;

/// Writes one line to stderr, like cargo's own progress.
pub(crate) fn status(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

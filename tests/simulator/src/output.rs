//! Writes to standard output. Must not know what the lines say.

use std::io::{ErrorKind, Write as _, stdout};

/// The exit code of a program that SIGPIPE ends, as a shell tells it.
const BROKEN_PIPE: i32 = 128 + 13;

/// Writes a line. Ends the program when its reader has left, as `head` does, and when the line cannot
/// be written.
pub fn print_line(line: &str) {
    let Err(error) = writeln!(stdout().lock(), "{line}") else {
        return;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(BROKEN_PIPE);
    }
    eprintln!("error: standard output cannot be written: {error}");
    std::process::exit(2);
}

//! Writes to the terminal of `cargo dev`: results and the log to standard output, progress and
//! errors to standard error. A closed terminal is no error. Must not know what the lines say.

pub(crate) mod function_log;

use std::io::{self, IsTerminal as _, Write as _};
use std::time::SystemTime;

const SECONDS_PER_DAY: u64 = 86_400;

/// Writes one line to standard error, like cargo's own progress.
pub(crate) fn status(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a line of the log to standard output, with the time in UTC.
pub(crate) fn print_with_time(line: &str) {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since_epoch.unwrap_or_default().as_secs() % SECONDS_PER_DAY;
    let hour = seconds / 3600;
    let minute = seconds / 60 % 60;
    let second = seconds % 60;
    print(&format!("{hour:02}:{minute:02}:{second:02}Z  {line}"));
}

/// Whether standard output may have colours: on a terminal, unless its user says otherwise
/// (no-color.org).
pub(crate) fn has_colours() -> bool {
    let is_allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    is_allowed && io::stdout().is_terminal()
}

/// Writes a line to standard output, without the characters that would show its text in another
/// order.
fn print(line: &str) {
    let _ = writeln!(io::stdout(), "{}", escape_marks(line));
}

/// The text with bidirectional marks escaped, since a client chooses what is in it.
fn escape_marks(line: &str) -> String {
    let is_mark = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    line.chars()
        .fold(String::with_capacity(line.len()), |mut text, c| {
            if is_mark(c) {
                text.extend(c.escape_unicode());
            } else {
                text.push(c);
            }
            text
        })
}

#[cfg(test)]
mod tests {
    use super::escape_marks;

    #[test]
    fn bidirectional_marks_are_escaped_and_other_text_is_not() {
        assert_eq!(
            escape_marks("a\u{202e}b\u{2066}ü→\u{5d0}"),
            "a\\u{202e}b\\u{2066}ü→\u{5d0}"
        );
    }
}

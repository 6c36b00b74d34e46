//! Writes to the terminal of `cargo dev`: results and the log to standard output, progress and
//! errors to standard error. A closed terminal is no error, and a reader who does not read stops
//! nothing. Must not know what the lines say.

pub(crate) mod function_log;
mod line_writer;

use std::io::{self, IsTerminal as _};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use self::line_writer::LineWriter;

const SECONDS_PER_DAY: u64 = 86_400;

/// How long a line on standard error waits for the readers, so that a terminal shows it after what
/// was printed before it, and before what another process prints next.
const ORDER_WAIT: Duration = Duration::from_millis(100);

/// How long the end of this process waits for the reader of each stream.
const END_WAIT: Duration = Duration::from_millis(500);

static STDOUT: LazyLock<LineWriter> = LazyLock::new(|| LineWriter::start(io::stdout()));

static STDERR: LazyLock<LineWriter> = LazyLock::new(|| LineWriter::start(io::stderr()));

/// Writes one line to standard error, like cargo's own progress.
pub(crate) fn status(line: &str) {
    STDOUT.wait_until_written(ORDER_WAIT);
    STDERR.queue(line.to_owned());
    STDERR.wait_until_written(ORDER_WAIT);
}

/// Writes a text of several lines to standard output.
pub(crate) fn print_text(text: String) {
    STDOUT.queue(text);
}

/// Waits until everything is written, or until a reader has not read for too long.
pub(crate) fn finish() {
    STDOUT.wait_until_written(END_WAIT);
    STDERR.wait_until_written(END_WAIT);
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
    STDOUT.queue(escape_marks(line));
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

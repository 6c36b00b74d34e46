//! Writes lines in a thread of its own, so that a reader who does not read them, such as a paused
//! pager, stops nothing else. Must not know what the lines say.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many lines wait for the reader at most. Further ones are left out.
const MAX_QUEUED_LINES: usize = 10_000;

/// A stream, and the lines that wait to be written to it.
pub(super) struct LineWriter(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queued: VecDeque<String>,
    /// How many lines were left out after those that are queued.
    left_out: usize,
    is_writing: bool,
}

impl LineWriter {
    /// Starts the thread, which writes to `stream` until the process ends. A stream that is closed
    /// is no error.
    pub(super) fn start(stream: impl Write + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        // Without the thread nothing is printed, as if the stream were closed.
        let _ = std::thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || writer.write_to(stream));
        Self(shared)
    }

    /// Queues a line, or leaves it out if too many wait.
    pub(super) fn queue(&self, line: String) {
        let mut state = self.0.lock();
        // The note about lines that were left out stands in their place, so it comes first.
        if state.left_out > 0 || state.queued.len() >= MAX_QUEUED_LINES {
            state.left_out += 1;
        } else {
            state.queued.push_back(line);
        }
        self.0.changed.notify_all();
    }

    /// Waits until all lines are written, at most for this long.
    pub(super) fn wait_until_written(&self, timeout: Duration) {
        let state = self.0.lock();
        let _ = self
            .0
            .changed
            .wait_timeout_while(state, timeout, |state| !state.is_written());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut stream: impl Write) {
        loop {
            let line = self.next_line();
            let _ = writeln!(stream, "{line}");
            self.lock().is_writing = false;
            self.changed.notify_all();
        }
    }

    /// Waits for the next line to be written.
    fn next_line(&self) -> String {
        let mut state = self.lock();
        loop {
            if let Some(line) = state.take_line() {
                state.is_writing = true;
                return line;
            }
            let changed = self.changed.wait(state);
            state = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn take_line(&mut self) -> Option<String> {
        if let Some(line) = self.queued.pop_front() {
            return Some(line);
        }
        let left_out = std::mem::take(&mut self.left_out);
        (left_out > 0)
            .then(|| format!("(Lines left out because the reader was too slow: {left_out})"))
    }

    fn is_written(&self) -> bool {
        self.queued.is_empty() && self.left_out == 0 && !self.is_writing
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    #[test]
    fn lines_that_nobody_reads_are_left_out_and_counted() {
        let (reader, stream) = std::io::pipe().unwrap();
        let writer = LineWriter::start(stream);
        // The first one fills the pipe.
        writer.queue("x".repeat(1024 * 1024));
        for number in 0..2 * MAX_QUEUED_LINES {
            writer.queue(number.to_string());
        }
        writer.wait_until_written(Duration::ZERO);

        let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
        let mut written = 0;
        lines.next().unwrap();
        let note = loop {
            let line = lines.next().unwrap();
            if line != written.to_string() {
                break line;
            }
            written += 1;
        };
        let left_out = 2 * MAX_QUEUED_LINES - written;
        assert_eq!(
            note,
            format!("(Lines left out because the reader was too slow: {left_out})")
        );
        writer.queue("later".to_owned());
        assert_eq!(lines.next().unwrap(), "later");
    }
}

//! Divides a file into chunks of lines. Must not know how lines are stored.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use model::limits::MAX_BODY_BYTES;

use super::line_error::LineError;
use crate::file_line::trimmed;

/// The most lines of a chunk: 20 calls of `BatchWriteItem`.
const CHUNK_LINES: usize = 500;

/// A chunk ends after the line that reaches this number of bytes, so that it fits into memory.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: u64 = MAX_BODY_BYTES as u64;

/// How much of the file is read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// Lines of the file that are stored together, without those that are empty.
pub(super) type Chunk = Vec<ImportLine>;

#[derive(Debug, PartialEq)]
pub(super) struct ImportLine {
    /// Its place in the file, counted from 1.
    pub(super) number: u64,
    /// The line without a byte order mark and white space around it, or why it cannot be read.
    pub(super) text: Result<String, LineError>,
}

impl ImportLine {
    fn is_empty(&self) -> bool {
        self.text.as_ref().is_ok_and(String::is_empty)
    }
}

pub(super) fn cannot_read(path: &Path) -> String {
    format!("Cannot read {}", path.display())
}

/// Reads the chunks of a file, one after the other.
pub(super) struct Chunks<R> {
    reader: R,
    bytes_read: u64,
    lines_read: u64,
}

impl Chunks<BufReader<File>> {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| cannot_read(path))?;
        Ok(Self::new(BufReader::with_capacity(BUFFER_BYTES, file)))
    }
}

impl<R: BufRead> Chunks<R> {
    fn new(reader: R) -> Self {
        Self {
            reader,
            bytes_read: 0,
            lines_read: 0,
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The number of the line that follows the last chunk.
    pub(super) fn next_line(&self) -> u64 {
        self.lines_read + 1
    }

    /// Reads the next chunk, which has no lines if all of them are empty. Returns `None` at the end of
    /// the file.
    pub(super) fn read(&mut self) -> io::Result<Option<Chunk>> {
        let first_byte = self.bytes_read;
        let mut lines = Vec::new();
        while lines.len() < CHUNK_LINES && self.bytes_read - first_byte < CHUNK_BYTES {
            let Some(line) = self.read_line()? else { break };
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        lines.retain(|line| !line.is_empty());
        Ok(Some(lines))
    }

    fn read_line(&mut self) -> io::Result<Option<ImportLine>> {
        let mut bytes = Vec::new();
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES);
        let mut length = limited.read_until(b'\n', &mut bytes)? as u64;
        if length == 0 {
            return Ok(None);
        }
        let is_too_long = length == MAX_LINE_BYTES && !bytes.ends_with(b"\n");
        if is_too_long {
            length += self.reader.skip_until(b'\n')? as u64;
        }
        self.bytes_read += length;
        self.lines_read += 1;
        let text = if is_too_long {
            Err(LineError::too_long())
        } else {
            read_text(&bytes)
        };
        Ok(Some(ImportLine {
            number: self.lines_read,
            text,
        }))
    }
}

/// The text of a line, without a byte order mark and white space around it.
fn read_text(bytes: &[u8]) -> Result<String, LineError> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| LineError::malformed("The line is not UTF-8."))?;
    Ok(trimmed(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, text: Result<String, LineError>) -> ImportLine {
        ImportLine { number, text }
    }

    #[test]
    fn chunk_ends_after_500_lines_or_4_mib() {
        let long = "y".repeat(usize::try_from(MAX_LINE_BYTES).unwrap() - 1);
        let text = format!("{}{long}\n{long}\nlast", "x\n".repeat(CHUNK_LINES));
        let mut chunks = Chunks::new(text.as_bytes());
        let lengths: Vec<_> =
            std::iter::from_fn(|| chunks.read().unwrap().map(|chunk| chunk.len())).collect();
        assert_eq!(lengths, [500, 1, 1, 1]);
    }

    #[test]
    fn empty_lines_are_left_out_and_counted() {
        let chunk = Chunks::new("\na\n \n b\n".as_bytes()).read().unwrap();
        let lines = [(2, "a"), (4, "b")].map(|(number, text)| line(number, Ok(text.to_owned())));
        assert_eq!(chunk.unwrap(), lines);
    }

    #[test]
    fn line_over_the_limit_is_skipped_and_counted() {
        let lines = |text: &[u8]| Chunks::new(text).read().unwrap().unwrap();
        let longest = usize::try_from(MAX_LINE_BYTES).unwrap() - 1;
        assert_eq!(
            lines(format!("{}\nb\n", "a".repeat(longest * 2)).as_bytes()),
            [line(1, Err(LineError::too_long()))]
        );
        let fits = "a".repeat(longest);
        assert_eq!(lines(format!("{fits}\n").as_bytes()), [line(1, Ok(fits))]);
        assert_eq!(
            lines(b"\xff\n"),
            [line(1, Err(LineError::malformed("The line is not UTF-8.")))]
        );
    }
}

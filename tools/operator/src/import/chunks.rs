//! Divides a file into chunks of lines, and counts which lines are equal. Must not know how lines are
//! stored.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
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

/// Lines of the file that are stored together.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The lines to import that are not empty.
    pub(super) lines: Vec<ImportLine>,
}

#[derive(Debug, PartialEq)]
pub(super) struct ImportLine {
    /// Its place in the file, counted from 1.
    pub(super) number: u64,
    /// The line without a byte order mark and white space around it, or why it cannot be read.
    pub(super) text: Result<String, LineError>,
    /// How many lines before it in the file have the same text, also if the import leaves these out.
    pub(super) equal_lines: u32,
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
    /// The first line to import.
    from_line: u64,
    bytes_read: u64,
    lines_read: u64,
    /// `None` when they are not counted.
    equal_lines: Option<EqualLines>,
}

/// Counts lines with the same text. It keeps the hash of each different line of the file, in 19 to
/// 39 bytes.
#[derive(Default)]
struct EqualLines {
    hasher: RandomState,
    counts: HashMap<u64, u32>,
}

impl EqualLines {
    /// Counts a line, and says how many equal ones came before it.
    fn count(&mut self, text: &str) -> u32 {
        let count = self.counts.entry(self.hasher.hash_one(text)).or_default();
        let before = *count;
        *count = before.saturating_add(1);
        before
    }
}

impl Chunks<BufReader<File>> {
    /// Opens a file to import its lines from `from_line` on, counted from 1.
    pub(super) fn open(path: &Path, from_line: u64) -> Result<Self> {
        let file = File::open(path).with_context(|| cannot_read(path))?;
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self::new(reader, from_line))
    }
}

impl<R: BufRead> Chunks<R> {
    fn new(reader: R, from_line: u64) -> Self {
        Self {
            reader,
            from_line,
            bytes_read: 0,
            lines_read: 0,
            equal_lines: None,
        }
    }

    /// The same chunks, with the number of equal lines before each line.
    pub(super) fn counting_equal_lines(self) -> Self {
        Self {
            equal_lines: Some(EqualLines::default()),
            ..self
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The number of the line that follows the last chunk.
    pub(super) fn next_line(&self) -> u64 {
        self.lines_read + 1
    }

    /// Reads the next chunk. Returns `None` at the end of the file.
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
        lines.retain(|line| line.number >= self.from_line && !line.is_empty());
        Ok(Some(Chunk { lines }))
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
        // A line that cannot be read is never stored.
        let equal_lines = match (&mut self.equal_lines, &text) {
            (Some(equal_lines), Ok(text)) => equal_lines.count(text),
            _ => 0,
        };
        Ok(Some(ImportLine {
            number: self.lines_read,
            text,
            equal_lines,
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

    fn all(text: &str, from_line: u64) -> Vec<Chunk> {
        let mut chunks = Chunks::new(text.as_bytes(), from_line);
        std::iter::from_fn(|| chunks.read().unwrap()).collect()
    }

    fn line(number: u64, text: Result<String, LineError>) -> ImportLine {
        ImportLine {
            number,
            text,
            equal_lines: 0,
        }
    }

    #[test]
    fn chunk_ends_after_500_lines_or_4_mib() {
        let long = "y".repeat(usize::try_from(MAX_LINE_BYTES).unwrap() - 1);
        let text = format!("{}{long}\n{long}\nlast", "x\n".repeat(CHUNK_LINES));
        let chunks = all(&text, 1);
        assert_eq!(
            chunks
                .iter()
                .map(|chunk| chunk.lines.len())
                .collect::<Vec<_>>(),
            [500, 1, 1, 1]
        );
    }

    #[test]
    fn equal_lines_are_counted_past_chunks_and_left_out_lines() {
        let text = "a\n\nb\n a\n".repeat(400);
        let mut counting = Chunks::new(text.as_bytes(), 1_593).counting_equal_lines();
        let chunks: Vec<_> = std::iter::from_fn(|| counting.read().unwrap()).collect();
        let lines: Vec<_> = chunks.iter().flat_map(|chunk| &chunk.lines).collect();
        let counts: Vec<_> = lines
            .iter()
            .map(|line| (line.number, line.equal_lines))
            .collect();
        let expected = [
            (1_593, 796),
            (1_595, 398),
            (1_596, 797),
            (1_597, 798),
            (1_599, 399),
            (1_600, 799),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn line_over_the_limit_is_skipped_and_counted() {
        let lines = |text: &[u8]| Chunks::new(text, 1).read().unwrap().unwrap().lines;
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

//! Divides a file into chunks of lines. The borders and the identifier of a chunk depend only on
//! the file, also when an import leaves out its first lines. Must not know how lines are stored.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use model::digest::Digest;
use model::identifier::RequestIdentifier;
use model::limits::MAX_BODY_BYTES;
use uuid::Builder;

use super::line_error::LineError;
use crate::file_line::trimmed;

/// The most lines of a chunk. The keys of imported signals depend on it: with another number, an
/// import that is run again would store its signals a second time. So this number stays, also when
/// a request may have more signals (`MAX_SIGNALS_PER_REQUEST`).
const CHUNK_LINES: usize = 500;

/// A chunk ends after the line that reaches this number of bytes, so that it fits into memory. The
/// keys of imported signals depend on it, too.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: u64 = MAX_BODY_BYTES as u64;

/// How much of the file is read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// Lines of the file that are stored together.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The request identifier of its signals: a UUID of version 8, made of all its lines and the
    /// number of the first one.
    pub(super) identifier: RequestIdentifier,
    /// The number of its first line, also if the import leaves that one out.
    pub(super) first_line: u64,
    /// The lines to import that are not empty.
    pub(super) lines: Vec<ImportLine>,
}

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
    /// The first line to import.
    from_line: u64,
    bytes_read: u64,
    lines_read: u64,
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
        let first_line = self.next_line();
        let first_byte = self.bytes_read;
        let mut lines = Vec::new();
        while lines.len() < CHUNK_LINES && self.bytes_read - first_byte < CHUNK_BYTES {
            let Some(line) = self.read_line()? else { break };
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let identifier = chunk_identifier(first_line, &lines);
        lines.retain(|line| line.number >= self.from_line && !line.is_empty());
        Ok(Some(Chunk {
            identifier,
            first_line,
            lines,
        }))
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

/// The identifier of the chunk with these lines. A line that cannot be read is never stored, so it
/// counts as an empty one.
fn chunk_identifier(first_line: u64, lines: &[ImportLine]) -> RequestIdentifier {
    let first_line = first_line.to_string();
    let texts = lines
        .iter()
        .map(|line| line.text.as_deref().unwrap_or_default());
    let hashed = std::iter::once(first_line.as_str()).chain(texts);
    let digest = Digest::sha256_of_texts(hashed).to_hex();
    let first_half = digest
        .get(..32)
        .and_then(|hex| u128::from_str_radix(hex, 16).ok())
        .expect("a SHA-256 digest has 64 hexadecimal digits");
    let uuid = Builder::from_custom_bytes(first_half.to_be_bytes()).into_uuid();
    RequestIdentifier::parse(uuid).expect("a UUID is written with hyphens")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, from_line: u64) -> Vec<Chunk> {
        let mut chunks = Chunks::new(text.as_bytes(), from_line);
        std::iter::from_fn(|| chunks.read().unwrap()).collect()
    }

    fn line(number: u64, text: Result<String, LineError>) -> ImportLine {
        ImportLine { number, text }
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
        assert_eq!(
            chunks
                .iter()
                .map(|chunk| chunk.first_line)
                .collect::<Vec<_>>(),
            [1, 501, 502, 503]
        );
    }

    #[test]
    fn identifier_of_a_chunk_depends_on_its_lines_and_place_only() {
        let text = "a\n\nb\n".repeat(400);
        let whole = all(&text, 1);
        let rest = all(&text, 702);
        let identifiers = |chunks: &[Chunk]| -> Vec<_> {
            chunks
                .iter()
                .map(|chunk| chunk.identifier.clone())
                .collect()
        };
        assert_eq!(identifiers(&rest), identifiers(&whole));
        assert_eq!(
            rest.iter()
                .map(|chunk| chunk.lines.len())
                .collect::<Vec<_>>(),
            [0, 200, 133]
        );
        assert_eq!(rest[1].lines[0], line(702, Ok("b".to_owned())));
        assert_eq!(whole[0].identifier.canonical().get(14..15), Some("8"));
        for other in ["a\nb\n", "a\n\nc\n", "\na\n\nb\n"] {
            assert_ne!(
                all(other, 1)[0].identifier,
                all("a\n\nb\n", 1)[0].identifier
            );
        }
        // The same lines at another place of a file are others.
        let lines = "x\n".repeat(2 * CHUNK_LINES);
        assert_ne!(all(&lines, 1)[0].identifier, all(&lines, 1)[1].identifier);
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

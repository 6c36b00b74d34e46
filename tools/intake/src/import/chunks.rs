//! The file in chunks of lines. Where a chunk ends depends only on where it began and on the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result};
use model::limits::{MAX_BODY_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::outcome::LineError;

/// The most lines of a chunk: a chunk of signals is stored like a request, and keyed like one.
const CHUNK_LINES: usize = MAX_SIGNALS_PER_REQUEST;

/// The bytes after which a chunk ends, which bound the memory.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: u64 = MAX_BODY_BYTES as u64;

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Customers,
    Signals,
}

/// Where in the file a chunk begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Position {
    /// The number of bytes before it.
    pub(super) byte: u64,
    /// The number of lines before it.
    pub(super) line: u64,
}

/// Some lines.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) begin: Position,
    pub(super) end: Position,
    /// Their texts, without a byte order mark and white space around them, or why they have none.
    pub(super) lines: Vec<Result<String, LineError>>,
}

/// What the lines of a file are, by its first one. A customer has customerData or, from `customers show --json`, updatedAt.
pub(super) fn kind_of(path: &Path) -> Result<Kind> {
    let chunk = Chunks::open(path, Position::default())?.read().with_context(|| cannot_read(path))?;
    let first = chunk.lines.iter().flatten().find(|text| !text.is_empty()).map_or("", String::as_str);
    let fields: HashMap<String, Option<IgnoredAny>> = serde_json::from_str(first).unwrap_or_default();
    let has = |name: &str| fields.get(name).is_some_and(Option::is_some);
    let is_customer = has("customerData") || (has("updatedAt") && !has("eventType"));
    Ok(if is_customer { Kind::Customers } else { Kind::Signals })
}

pub(super) fn cannot_read(path: &Path) -> String {
    format!("Cannot read {}", path.display())
}

/// The chunks of a file.
pub(super) struct Chunks<R> {
    reader: R,
    position: Position,
}

impl Chunks<BufReader<File>> {
    /// Those from `position` on.
    pub(super) fn open(path: &Path, position: Position) -> Result<Self> {
        let mut file = File::open(path).with_context(|| cannot_read(path))?;
        file.seek(SeekFrom::Start(position.byte)).with_context(|| cannot_read(path))?;
        Ok(Self { reader: BufReader::with_capacity(256 * 1024, file), position })
    }
}

impl<R: BufRead> Chunks<R> {
    /// The next one; at the end of the file, one without lines.
    pub(super) fn read(&mut self) -> io::Result<Chunk> {
        let (begin, mut lines) = (self.position, Vec::new());
        while lines.len() < CHUNK_LINES && self.position.byte - begin.byte < CHUNK_BYTES {
            let Some(line) = self.read_line()? else { break };
            lines.push(line);
            self.position.line += 1;
        }
        Ok(Chunk { begin, end: self.position, lines })
    }

    fn read_line(&mut self) -> io::Result<Option<Result<String, LineError>>> {
        let mut bytes = Vec::new();
        let mut length = self.reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? as u64;
        let is_too_long = length == MAX_LINE_BYTES && !bytes.ends_with(b"\n");
        if is_too_long {
            length += self.reader.skip_until(b'\n')? as u64;
        }
        self.position.byte += length;
        Ok((length > 0).then(|| match std::str::from_utf8(&bytes) {
            _ if is_too_long => Err(LineError::too_long()),
            Ok(text) => Ok(text.trim_start_matches('\u{feff}').trim().to_owned()),
            Err(_) => Err(LineError::malformed("The line is not UTF-8.")),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &[u8], position: Position) -> Chunks<&[u8]> {
        let begin = usize::try_from(position.byte).unwrap();
        Chunks { reader: text.get(begin..).unwrap(), position }
    }

    #[test]
    fn chunk_ends_after_500_lines_or_4_mib() {
        let long = "y".repeat(usize::try_from(MAX_LINE_BYTES).unwrap() - 1);
        let text = format!("{}{long}\n{long}\nlast", "x\n".repeat(CHUNK_LINES));
        let mut lengths = Vec::new();
        let mut reading = chunks(text.as_bytes(), Position::default());
        loop {
            let begin = reading.position;
            let chunk = reading.read().unwrap();
            // Wherever the reading begins, a chunk that begins there is the same.
            let from_there = chunks(text.as_bytes(), begin).read().unwrap();
            assert_eq!((chunk.begin, chunk.end, &chunk.lines), (begin, from_there.end, &from_there.lines));
            if chunk.lines.is_empty() {
                break;
            }
            lengths.push(chunk.lines.len());
        }
        assert_eq!(lengths, [500, 1, 1, 1]);
        assert_eq!(reading.position, Position { byte: text.len() as u64, line: 503 });
    }

    #[test]
    fn line_over_the_limit_is_skipped_and_counted() {
        let lines = |text: String| chunks(text.as_bytes(), Position::default()).read().unwrap().lines;
        let longest = usize::try_from(MAX_LINE_BYTES).unwrap() - 1;
        assert_eq!(lines(format!("{}\nb\n", "a".repeat(longest * 2))), [Err(LineError::too_long())]);
        let fits = "a".repeat(longest);
        assert_eq!(lines(format!("{fits}\n")), [Ok(fits)]);
        let not_utf8 = chunks(b"\xff\n", Position::default()).read().unwrap().lines;
        assert_eq!(not_utf8, [Err(LineError::malformed("The line is not UTF-8."))]);
    }
}

//! The file in chunks of lines. Where a chunk ends depends only on where it began and on the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use model::limits::{MAX_BODY_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The most lines of a chunk: a chunk of signals is stored like a request, and keyed like one.
const CHUNK_LINES: usize = MAX_SIGNALS_PER_REQUEST;

/// The bytes after which a chunk ends, which bound the memory.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: usize = MAX_BODY_BYTES;

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
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    NotUtf8,
    /// Over [`MAX_LINE_BYTES`]; not read.
    TooLong,
}

/// The text of a line, without a byte order mark and white space around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

/// What the lines of a file are, by its first one. A customer has customerData or, from `customers show --json`, updatedAt.
pub(super) fn kind_of(path: &Path) -> Result<Kind> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Probe {
        customer_data: Option<IgnoredAny>,
        updated_at: Option<IgnoredAny>,
        event_type: Option<IgnoredAny>,
    }
    let chunk = Chunks::open(path, Position::default())?.read()?;
    let lines = chunk.iter().flat_map(|chunk| &chunk.lines);
    let mut texts = lines.filter_map(|line| if let Line::Text(text) = line { Some(trim(text)) } else { None });
    let first = texts.find(|text| !text.is_empty()).unwrap_or_default();
    let is_customer =
        |probe: Probe| probe.customer_data.is_some() || (probe.updated_at.is_some() && probe.event_type.is_none());
    Ok(if serde_json::from_str(first).is_ok_and(is_customer) { Kind::Customers } else { Kind::Signals })
}

/// The chunks of a file.
pub(super) struct Chunks {
    path: PathBuf,
    reader: BufReader<File>,
    position: Position,
}

impl Chunks {
    /// Those from `position` on.
    pub(super) fn open(path: &Path, position: Position) -> Result<Self> {
        let open = || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(position.byte))?;
            io::Result::Ok(BufReader::with_capacity(256 * 1024, file))
        };
        let reader = open().with_context(|| format!("Cannot read {}", path.display()))?;
        Ok(Self { path: path.to_owned(), reader, position })
    }

    /// The next one, until the end of the file.
    pub(super) fn read(&mut self) -> Result<Option<Chunk>> {
        let chunk = read_chunk(&mut self.reader, self.position);
        let chunk = chunk.with_context(|| format!("Cannot read {}", self.path.display()))?;
        self.position = chunk.end;
        Ok(Some(chunk).filter(|chunk| !chunk.lines.is_empty()))
    }
}

fn read_chunk(reader: &mut impl BufRead, begin: Position) -> io::Result<Chunk> {
    let (mut lines, mut bytes) = (Vec::new(), 0_usize);
    while lines.len() < CHUNK_LINES && bytes < CHUNK_BYTES {
        let Some((line, length)) = read_line(reader)? else { break };
        bytes += length;
        lines.push(line);
    }
    let end = Position { byte: begin.byte + bytes as u64, line: begin.line + lines.len() as u64 };
    Ok(Chunk { begin, end, lines })
}

/// One line without its end, and its length with it.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<(Line, usize)>> {
    let mut bytes = Vec::new();
    let length = reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut bytes)?;
    if length == 0 {
        return Ok(None);
    }
    if bytes.pop_if(|last| *last == b'\n').is_none() && length == MAX_LINE_BYTES {
        let rest = reader.skip_until(b'\n')?;
        return Ok(Some((Line::TooLong, length + rest)));
    }
    Ok(Some((String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text), length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_ends_after_500_lines_or_4_mib() {
        let text = format!("{}\n{}\nlast", "x\n".repeat(CHUNK_LINES), "y".repeat(CHUNK_BYTES + 1));
        let (mut reader, mut position) = (text.as_bytes(), Position::default());
        let mut lengths = Vec::new();
        while position.byte < text.len() as u64 {
            // Wherever the reading begins, a chunk that begins there is the same.
            let mut rest = text.as_bytes().get(usize::try_from(position.byte).unwrap()..).unwrap();
            let from_there = read_chunk(&mut rest, position).unwrap();
            let chunk = read_chunk(&mut reader, position).unwrap();
            assert_eq!((chunk.begin, chunk.end, &chunk.lines), (position, from_there.end, &from_there.lines));
            position = chunk.end;
            lengths.push(chunk.lines.len());
        }
        assert_eq!(lengths, [500, 2, 1]);
        assert_eq!(position.line, 503);
    }

    #[test]
    fn line_over_the_limit_is_skipped_and_counted() {
        let lines = |bytes: &[u8]| read_chunk(&mut &*bytes, Position::default()).unwrap().lines;
        assert_eq!(lines(format!("{}\nb\n", "a".repeat(MAX_LINE_BYTES * 2)).as_bytes()), [Line::TooLong]);
        let fits = "a".repeat(MAX_LINE_BYTES - 1);
        assert_eq!(lines(format!("{fits}\n").as_bytes()), [Line::Text(fits)]);
        assert_eq!(lines(b"\xff\n"), [Line::NotUtf8]);
    }
}

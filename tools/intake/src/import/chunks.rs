//! The file in chunks of lines. Where a chunk ends depends only on where it began and on the file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use model::limits::{MAX_BODY_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::Kind;

/// The most lines of a chunk: a chunk of signals is stored like a request, and keyed like one.
const CHUNK_LINES: usize = MAX_SIGNALS_PER_REQUEST;

/// The bytes after which a chunk ends. The chunks that are stored at once bound the memory.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: usize = MAX_BODY_BYTES;

/// How gzip begins (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Where in the file a chunk begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Position {
    /// The number of chunks before it.
    pub(super) chunk: u64,
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

/// What the lines of a file are, by its first one; `None` when that says nothing.
pub(super) fn detect_kind(path: &Path) -> Result<Option<Kind>> {
    let name = path.display();
    let mut reader = open(path, Position::default())?;
    let begin = reader.fill_buf().with_context(|| format!("Cannot read {name}"))?;
    ensure!(!begin.starts_with(&GZIP), "{name} is gzip. Unpack it: `gunzip FILE`.");
    let chunk = read_chunk(&mut reader, Position::default()).with_context(|| format!("Cannot read {name}"))?;
    let lines = chunk.map_or_else(Vec::new, |chunk| chunk.lines);
    let mut texts = lines.iter().filter_map(|line| if let Line::Text(text) = line { Some(trim(text)) } else { None });
    let Some(first) = texts.find(|text| !text.is_empty()) else { return Ok(None) };
    ensure!(
        !first.starts_with('['),
        "{name} is an array, and an import reads one JSON object a line. Convert it: `jq -c '.[]' FILE > FILE.ndjson`."
    );
    Ok(Some(kind_of(first)))
}

/// What a line is: a customer has customerData or, from `customers show --json`, updatedAt.
fn kind_of(line: &str) -> Kind {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Probe {
        customer_data: Option<IgnoredAny>,
        updated_at: Option<IgnoredAny>,
        event_type: Option<IgnoredAny>,
    }
    let is_customer =
        |probe: Probe| probe.customer_data.is_some() || (probe.updated_at.is_some() && probe.event_type.is_none());
    if serde_json::from_str(line).is_ok_and(is_customer) { Kind::Customers } else { Kind::Signals }
}

/// The chunks of a file from `position` on.
pub(super) fn read(path: &Path, mut position: Position) -> Result<impl Iterator<Item = Result<Chunk>>> {
    let mut reader = open(path, position)?;
    let cannot_read = format!("Cannot read {}", path.display());
    Ok(std::iter::from_fn(move || {
        let chunk = read_chunk(&mut reader, position).with_context(|| cannot_read.clone()).transpose()?;
        position = chunk.as_ref().map_or(position, |chunk| chunk.end);
        Some(chunk)
    }))
}

fn open(path: &Path, position: Position) -> Result<BufReader<File>> {
    let open = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(position.byte))?;
        Ok::<_, std::io::Error>(BufReader::with_capacity(256 * 1024, file))
    };
    open().with_context(|| format!("Cannot read {}", path.display()))
}

fn read_chunk(reader: &mut impl BufRead, begin: Position) -> std::io::Result<Option<Chunk>> {
    let (mut lines, mut bytes) = (Vec::new(), 0_usize);
    while lines.len() < CHUNK_LINES && bytes < CHUNK_BYTES {
        let Some((line, length)) = read_line(reader)? else { break };
        bytes += length;
        lines.push(line);
    }
    let end =
        Position { chunk: begin.chunk + 1, byte: begin.byte + bytes as u64, line: begin.line + lines.len() as u64 };
    Ok((!lines.is_empty()).then_some(Chunk { begin, end, lines }))
}

/// One line without its end, and its length with it.
fn read_line(reader: &mut impl BufRead) -> std::io::Result<Option<(Line, usize)>> {
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
        let mut reader = text.as_bytes();
        let mut position = Position::default();
        let mut lengths = Vec::new();
        while let Some(chunk) = read_chunk(&mut reader, position).unwrap() {
            assert_eq!(chunk.begin, position);
            position = chunk.end;
            lengths.push(chunk.lines.len());
            let mut rest = text.as_bytes().get(usize::try_from(position.byte).unwrap()..).unwrap();
            let from_there = read_chunk(&mut rest, position).unwrap();
            assert_eq!(
                from_there.map(|chunk| chunk.begin.chunk),
                (position.byte < text.len() as u64).then_some(position.chunk)
            );
        }
        assert_eq!(lengths, [500, 2, 1]);
        assert_eq!(position, Position { chunk: 3, byte: text.len() as u64, line: 503 });
    }

    #[test]
    fn line_over_the_limit_is_skipped_and_counted() {
        let text = format!("{}\nb\n", "a".repeat(MAX_LINE_BYTES * 2));
        let chunk = read_chunk(&mut text.as_bytes(), Position::default()).unwrap().unwrap();
        assert_eq!(chunk.lines, [Line::TooLong]);
        let fits = "a".repeat(MAX_LINE_BYTES - 1);
        let chunk = read_chunk(&mut format!("{fits}\n").as_bytes(), Position::default()).unwrap().unwrap();
        assert_eq!(chunk.lines, [Line::Text(fits)]);
        let chunk = read_chunk(&mut &b"\xff\n"[..], Position::default()).unwrap().unwrap();
        assert_eq!(chunk.lines, [Line::NotUtf8]);
    }
}

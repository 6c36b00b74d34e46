//! The input in chunks of lines. Where a chunk ends depends only on where it began and on the input.

use std::io::{BufRead, Read as _};

use model::limits::{MAX_BODY_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde::{Deserialize, Serialize};

/// The most lines of a chunk: a chunk of signals is stored like a request, and keyed like one.
const CHUNK_LINES: usize = MAX_SIGNALS_PER_REQUEST;

/// The bytes after which a chunk ends. The chunks that are stored at once bound the memory.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: usize = MAX_BODY_BYTES;

/// Where in the input a chunk begins.
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

/// The chunks of `reader`, of which the first begins at `position`.
pub(super) fn read(mut reader: impl BufRead, mut position: Position) -> impl Iterator<Item = std::io::Result<Chunk>> {
    std::iter::from_fn(move || {
        let chunk = read_chunk(&mut reader, position).transpose()?;
        position = chunk.as_ref().map_or(position, |chunk| chunk.end);
        Some(chunk)
    })
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

//! The file in chunks of lines. Where one ends depends on where it began and on the file, and on nothing else.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Result, anyhow};
use model::limits::{BODY_BYTES, SIGNALS_PER_REQUEST};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::Kind;

/// Lines of a chunk at most: a chunk of signals is stored like a request, and keyed like one.
const CHUNK_LINES: usize = SIGNALS_PER_REQUEST;

/// Bytes after which a chunk ends: with what is waiting and what is being stored, they bound the memory.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The longest line that is looked at, in bytes: no client could send more at once.
const LINE_BYTES: usize = BODY_BYTES;

/// Chunks that wait to be stored.
const CHUNKS_WAITING: usize = 2;

/// Where in the file a chunk begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Position {
    /// Which chunk, counted from 0.
    pub(super) chunk: u64,
    /// At which byte.
    pub(super) byte: u64,
    /// After how many lines.
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
    /// Beyond [`LINE_BYTES`]; not read.
    TooLong,
}

/// The chunks of a file, read ahead by a thread.
pub(super) struct Chunks {
    receiver: mpsc::Receiver<Result<Chunk>>,
}

impl Chunks {
    /// Begins to read at `position`.
    pub(super) fn read(file: &Path, position: Position) -> Result<Self> {
        let name = file.display().to_string();
        let cannot = move |error: std::io::Error| anyhow!("Cannot read {name}: {error}.");
        let mut file = File::open(file).map_err(&cannot)?;
        file.seek(SeekFrom::Start(position.byte)).map_err(&cannot)?;
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let (sender, receiver) = mpsc::channel(CHUNKS_WAITING);
        let read_on = move || {
            let mut position = position;
            loop {
                let chunk = match read_chunk(&mut reader, position) {
                    Ok(None) => return,
                    Ok(Some(chunk)) => Ok(chunk),
                    Err(error) => Err(cannot(error)),
                };
                let failed = chunk.is_err();
                position = chunk.as_ref().map_or(position, |chunk| chunk.end);
                // Nobody waits for more after an error.
                if sender.blocking_send(chunk).is_err() || failed {
                    return;
                }
            }
        };
        tokio::task::spawn_blocking(read_on);
        Ok(Self { receiver })
    }

    pub(super) async fn next(&mut self) -> Option<Result<Chunk>> {
        self.receiver.recv().await
    }
}

fn read_chunk(reader: &mut impl BufRead, begin: Position) -> std::io::Result<Option<Chunk>> {
    let (mut lines, mut bytes) = (Vec::new(), 0_usize);
    while lines.len() < CHUNK_LINES && bytes < CHUNK_BYTES {
        let Some((line, length)) = read_line(reader)? else { break };
        bytes = bytes.saturating_add(length);
        lines.push(line);
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let end = Position {
        chunk: begin.chunk.saturating_add(1),
        byte: begin.byte.saturating_add(bytes as u64),
        line: begin.line.saturating_add(lines.len() as u64),
    };
    Ok(Some(Chunk { begin, end, lines }))
}

/// One line without its end, and how long it is with it.
fn read_line(reader: &mut impl BufRead) -> std::io::Result<Option<(Line, usize)>> {
    let mut bytes = Vec::new();
    let mut length = reader.by_ref().take(LINE_BYTES as u64).read_until(b'\n', &mut bytes)?;
    if length == 0 {
        return Ok(None);
    }
    if bytes.pop_if(|last| *last == b'\n').is_none() && length == LINE_BYTES {
        let rest = reader.skip_until(b'\n')?;
        length = length.saturating_add(rest);
        return Ok(Some((Line::TooLong, length)));
    }
    Ok(Some((String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text), length)))
}

/// What the first line of a file is: a customer has customerData, and no signal has.
pub(super) fn kind_of(file: &Path) -> Result<Kind> {
    #[derive(Deserialize)]
    struct Probe {
        #[serde(rename = "customerData")]
        customer_data: Option<IgnoredAny>,
    }
    let cannot = |error: std::io::Error| anyhow!("Cannot read {}: {error}.", file.display());
    let mut reader = BufReader::new(File::open(file).map_err(cannot)?);
    while let Some((line, _)) = read_line(&mut reader).map_err(cannot)? {
        match line {
            Line::Text(text) if text.trim().is_empty() => {}
            Line::Text(text) => {
                let probe = serde_json::from_str::<Probe>(text.trim_start_matches('\u{feff}'));
                let customer = probe.is_ok_and(|probe| probe.customer_data.is_some());
                return Ok(if customer { Kind::Customers } else { Kind::Signals });
            }
            Line::NotUtf8 | Line::TooLong => break,
        }
    }
    Err(anyhow!("{} has no first line to tell what it holds: say --kind.", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_ends_after_so_many_lines_or_bytes_wherever_it_began() {
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
    fn a_line_too_long_is_passed_over_and_counted() {
        let text = format!("{}\nb\n", "a".repeat(LINE_BYTES * 2));
        let chunk = read_chunk(&mut text.as_bytes(), Position::default()).unwrap().unwrap();
        assert_eq!(chunk.lines, [Line::TooLong]);
        let fits = "a".repeat(LINE_BYTES - 1);
        let chunk = read_chunk(&mut format!("{fits}\n").as_bytes(), Position::default()).unwrap().unwrap();
        assert_eq!(chunk.lines, [Line::Text(fits)]);
        let chunk = read_chunk(&mut &b"\xff\n"[..], Position::default()).unwrap().unwrap();
        assert_eq!(chunk.lines, [Line::NotUtf8]);
    }
}

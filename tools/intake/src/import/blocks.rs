//! The file in blocks of lines. Where one ends depends on where it began and on the file, and on nothing else.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use shared::model::limits::{BODY_BYTES, SIGNALS_PER_REQUEST};
use tokio::sync::mpsc;

use super::Kind;
use crate::error::Error;

/// Lines of a block at most: a block of signals is stored like a request, and keyed like one.
const BLOCK_LINES: usize = SIGNALS_PER_REQUEST;

/// Bytes after which a block ends: with what is waiting and what is being stored, they bound the memory.
const BLOCK_BYTES: usize = 4 * 1024 * 1024;

/// The longest line that is looked at, in bytes: no client could send more at once.
const LINE_BYTES: usize = BODY_BYTES;

/// Blocks that wait to be stored.
const BLOCKS_WAITING: usize = 2;

/// Where in the file a block begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Position {
    /// Which block, counted from 0.
    pub(super) block: u64,
    /// At which byte.
    pub(super) byte: u64,
    /// After how many lines.
    pub(super) line: u64,
}

/// Some lines.
#[derive(Debug)]
pub(super) struct Block {
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

/// The blocks of a file, read ahead by a thread.
pub(super) struct Blocks {
    receiver: mpsc::Receiver<Result<Block, Error>>,
}

impl Blocks {
    /// Begins to read at `position`.
    pub(super) fn read(file: &Path, position: Position) -> Result<Self, Error> {
        let name = file.display().to_string();
        let cannot = move |error: std::io::Error| Error::new(format!("Cannot read {name}: {error}."));
        let mut file = File::open(file).map_err(&cannot)?;
        file.seek(SeekFrom::Start(position.byte)).map_err(&cannot)?;
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let (sender, receiver) = mpsc::channel(BLOCKS_WAITING);
        let read_on = move || {
            let mut position = position;
            loop {
                let block = match read_block(&mut reader, position) {
                    Ok(None) => return,
                    Ok(Some(block)) => Ok(block),
                    Err(error) => Err(cannot(error)),
                };
                let failed = block.is_err();
                position = block.as_ref().map_or(position, |block| block.end);
                // Nobody waits for more after an error.
                if sender.blocking_send(block).is_err() || failed {
                    return;
                }
            }
        };
        tokio::task::spawn_blocking(read_on);
        Ok(Self { receiver })
    }

    pub(super) async fn next(&mut self) -> Option<Result<Block, Error>> {
        self.receiver.recv().await
    }
}

fn read_block(reader: &mut impl BufRead, begin: Position) -> std::io::Result<Option<Block>> {
    let (mut lines, mut bytes) = (Vec::new(), 0_usize);
    while lines.len() < BLOCK_LINES && bytes < BLOCK_BYTES {
        let Some((line, length)) = read_line(reader)? else { break };
        bytes = bytes.saturating_add(length);
        lines.push(line);
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let end = Position {
        block: begin.block.saturating_add(1),
        byte: begin.byte.saturating_add(bytes as u64),
        line: begin.line.saturating_add(lines.len() as u64),
    };
    Ok(Some(Block { begin, end, lines }))
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
pub(super) fn kind_of(file: &Path) -> Result<Kind, Error> {
    #[derive(Deserialize)]
    struct Probe {
        #[serde(rename = "customerData")]
        customer_data: Option<IgnoredAny>,
    }
    let cannot = |error: std::io::Error| Error::new(format!("Cannot read {}: {error}.", file.display()));
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
    Err(Error::new(format!("{} has no first line to tell what it holds: say --kind.", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_after_so_many_lines_or_bytes_wherever_it_began() {
        let text = format!("{}\n{}\nlast", "x\n".repeat(BLOCK_LINES), "y".repeat(BLOCK_BYTES + 1));
        let mut reader = text.as_bytes();
        let mut position = Position::default();
        let mut lengths = Vec::new();
        while let Some(block) = read_block(&mut reader, position).unwrap() {
            assert_eq!(block.begin, position);
            position = block.end;
            lengths.push(block.lines.len());
            let mut rest = text.as_bytes().get(usize::try_from(position.byte).unwrap()..).unwrap();
            let from_there = read_block(&mut rest, position).unwrap();
            assert_eq!(
                from_there.map(|block| block.begin.block),
                (position.byte < text.len() as u64).then_some(position.block)
            );
        }
        assert_eq!(lengths, [500, 2, 1]);
        assert_eq!(position, Position { block: 3, byte: text.len() as u64, line: 503 });
    }

    #[test]
    fn a_line_too_long_is_passed_over_and_counted() {
        let text = format!("{}\nb\n", "a".repeat(LINE_BYTES * 2));
        let block = read_block(&mut text.as_bytes(), Position::default()).unwrap().unwrap();
        assert_eq!(block.lines, [Line::TooLong]);
        let fits = "a".repeat(LINE_BYTES - 1);
        let block = read_block(&mut format!("{fits}\n").as_bytes(), Position::default()).unwrap().unwrap();
        assert_eq!(block.lines, [Line::Text(fits)]);
        let block = read_block(&mut &b"\xff\n"[..], Position::default()).unwrap().unwrap();
        assert_eq!(block.lines, [Line::NotUtf8]);
    }
}

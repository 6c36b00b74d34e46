//! The file in chunks of lines. A chunk's borders and identifier depend only on the file, also when
//! an import leaves out the first lines of it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use model::digest::Digest;
use model::identifier::RequestIdentifier;
use model::limits::{MAX_BODY_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde::Serialize;
use serde::de::IgnoredAny;
use uuid::Builder;

use super::line_error::LineError;

/// The most lines of a chunk: a chunk of signals is stored like a request, and keyed like one.
const CHUNK_LINES: usize = MAX_SIGNALS_PER_REQUEST;

/// The bytes after which a chunk ends, which bound the memory.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// The longest line, in bytes: no client could send more at once.
const MAX_LINE_BYTES: u64 = MAX_BODY_BYTES as u64;

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Customers,
    Signals,
}

impl Kind {
    /// The field of a line with its time.
    pub(super) fn time_field(self) -> &'static str {
        match self {
            Self::Customers => "updatedAt",
            Self::Signals => "receivedAt",
        }
    }
}

#[derive(Debug)]
pub(super) struct Chunk {
    /// The request identifier of its signals, a UUID of version 8: made of all its lines and the
    /// number of the first one.
    pub(super) identifier: RequestIdentifier,
    /// The number of its first line.
    pub(super) first: u64,
    /// The numbers of the lines to import that are not empty, counted from 1. Their texts, without
    /// a byte order mark and white space around them, or why they have none.
    pub(super) lines: Vec<(u64, Result<String, LineError>)>,
}

/// What the lines of a file are, by its first one. A customer has customerData or, from `customers
/// show --json`, updatedAt.
pub(super) fn kind_of(path: &Path) -> Result<Kind> {
    let chunk = Chunks::open(path, 1)?
        .read()
        .with_context(|| cannot_read(path))?;
    let mut texts = chunk
        .iter()
        .flat_map(|chunk| &chunk.lines)
        .filter_map(|(_, text)| text.as_deref().ok());
    let fields: HashMap<String, Option<IgnoredAny>> =
        serde_json::from_str(texts.next().unwrap_or_default()).unwrap_or_default();
    let has = |name: &str| fields.get(name).is_some_and(Option::is_some);
    let is_customer = has("customerData") || (has("updatedAt") && !has("eventType"));
    Ok(if is_customer {
        Kind::Customers
    } else {
        Kind::Signals
    })
}

pub(super) fn cannot_read(path: &Path) -> String {
    format!("Cannot read {}", path.display())
}

/// The chunks of a file.
pub(super) struct Chunks<R> {
    reader: R,
    /// The first line to import.
    from_line: u64,
    /// How many bytes and lines were read.
    pub(super) bytes: u64,
    lines: u64,
}

impl Chunks<BufReader<File>> {
    /// Chunks with the lines from `from_line` on, counted from 1.
    pub(super) fn open(path: &Path, from_line: u64) -> Result<Self> {
        let file = File::open(path).with_context(|| cannot_read(path))?;
        Ok(Self::new(
            BufReader::with_capacity(256 * 1024, file),
            from_line,
        ))
    }
}

impl<R: BufRead> Chunks<R> {
    fn new(reader: R, from_line: u64) -> Self {
        Self {
            reader,
            from_line,
            bytes: 0,
            lines: 0,
        }
    }

    /// The number of the line that follows the last chunk.
    pub(super) fn next_line(&self) -> u64 {
        self.lines + 1
    }

    /// The next chunk; `None` at the end of the file.
    pub(super) fn read(&mut self) -> io::Result<Option<Chunk>> {
        let (first, begin, mut lines) = (self.next_line(), self.bytes, Vec::new());
        while lines.len() < CHUNK_LINES && self.bytes - begin < CHUNK_BYTES {
            let Some(line) = self.read_line()? else { break };
            self.lines += 1;
            lines.push((self.lines, line));
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let identifier = identifier(first, &lines);
        lines.retain(|(number, line)| {
            *number >= self.from_line && !line.as_ref().is_ok_and(String::is_empty)
        });
        Ok(Some(Chunk {
            identifier,
            first,
            lines,
        }))
    }

    fn read_line(&mut self) -> io::Result<Option<Result<String, LineError>>> {
        let mut bytes = Vec::new();
        let mut length = self
            .reader
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut bytes)? as u64;
        let is_too_long = length == MAX_LINE_BYTES && !bytes.ends_with(b"\n");
        if is_too_long {
            length += self.reader.skip_until(b'\n')? as u64;
        }
        self.bytes += length;
        Ok((length > 0).then(|| match std::str::from_utf8(&bytes) {
            _ if is_too_long => Err(LineError::too_long()),
            Ok(text) => Ok(text.trim_start_matches('\u{feff}').trim().to_owned()),
            Err(_) => Err(LineError::malformed("The line is not UTF-8.")),
        }))
    }
}

/// The identifier of the chunk with these lines. A line without a text is never stored, so it may
/// have another one in the next run.
fn identifier(first: u64, lines: &[(u64, Result<String, LineError>)]) -> RequestIdentifier {
    let texts = lines
        .iter()
        .map(|(_, text)| text.as_deref().unwrap_or_default());
    let digest = Digest::of_all([first.to_string().as_str()].into_iter().chain(texts)).to_hex();
    let first_half = digest
        .get(..32)
        .and_then(|hex| u128::from_str_radix(hex, 16).ok());
    let bytes = first_half
        .expect("a SHA-256 digest has 64 hexadecimal digits")
        .to_be_bytes();
    RequestIdentifier::parse(Builder::from_custom_bytes(bytes).into_uuid())
        .expect("a UUID is written with hyphens")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, from_line: u64) -> Vec<Chunk> {
        let mut chunks = Chunks::new(text.as_bytes(), from_line);
        std::iter::from_fn(|| chunks.read().unwrap()).collect()
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
            chunks.iter().map(|chunk| chunk.first).collect::<Vec<_>>(),
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
        assert_eq!(rest[1].lines[0], (702, Ok("b".to_owned())));
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
            [(1, Err(LineError::too_long()))]
        );
        let fits = "a".repeat(longest);
        assert_eq!(lines(format!("{fits}\n").as_bytes()), [(1, Ok(fits))]);
        assert_eq!(
            lines(b"\xff\n"),
            [(1, Err(LineError::malformed("The line is not UTF-8.")))]
        );
    }
}

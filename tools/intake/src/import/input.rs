//! What is imported: a file, or standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, Read, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::{Stream, stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::mpsc;

use super::Kind;
use super::chunks::{self, Chunk, Line, Position, trim};

/// How gzip begins (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The chunks of an input.
pub(super) type Chunks = Box<dyn Iterator<Item = Result<Chunk>> + Send>;

pub(super) enum Input<'a> {
    File(&'a Path),
    Stdin,
}

impl<'a> Input<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        if path == "-" { Self::Stdin } else { Self::File(path) }
    }

    /// Its chunks from `position` on.
    pub(super) fn read(&self, position: Position) -> Result<Chunks> {
        let cannot_read = format!("Cannot read {}", self.name());
        let mut reader = self.open(position).with_context(|| cannot_read.clone())?;
        if position == Position::default() && reader.fill_buf().with_context(|| cannot_read.clone())?.starts_with(&GZIP)
        {
            bail!("{} is gzip. Unpack it: `gunzip -c FILE | cargo intake import ... -`.", self.name());
        }
        Ok(Box::new(chunks::read(reader, position).map(move |chunk| chunk.with_context(|| cannot_read.clone()))))
    }

    fn open(&self, position: Position) -> std::io::Result<impl BufRead + Send + use<>> {
        let reader: Box<dyn Read + Send> = match self {
            Self::File(path) => {
                let mut file = File::open(path)?;
                if !file.metadata()?.is_file() {
                    return Err(Error::other(
                        "it is no regular file. If it is a pipe: `... | cargo intake import ... -`",
                    ));
                }
                file.seek(SeekFrom::Start(position.byte))?;
                Box::new(file)
            }
            Self::Stdin => Box::new(std::io::stdin()),
        };
        Ok(BufReader::with_capacity(256 * 1024, reader))
    }

    /// Returns `kind`, or else the kind of the first line; and all chunks again, including those that it read.
    pub(super) fn detect_kind(&self, kind: Option<Kind>, mut chunks: Chunks) -> Result<(Kind, Chunks)> {
        let (mut read, mut first) = (Vec::new(), None);
        while first.is_none()
            && let Some(chunk) = chunks.next().transpose()?
        {
            read.push(chunk);
            let lines = read.last().map(|chunk| &chunk.lines);
            first = lines
                .into_iter()
                .flatten()
                .find_map(|line| match line {
                    Line::Text(text) => Some(trim(text)).filter(|text| !text.is_empty()),
                    Line::NotUtf8 | Line::TooLong => Some(""),
                })
                .map(ToOwned::to_owned);
        }
        let first = first.unwrap_or_default();
        ensure!(
            !first.starts_with('['),
            "{} is an array, and an import reads one JSON object a line. Convert it: \
             `jq -c '.[]' FILE | cargo intake import ... -`.",
            self.name()
        );
        let kind = kind.or_else(|| (!first.is_empty()).then(|| kind_of(&first)));
        let kind = kind.with_context(|| {
            format!(
                "Cannot tell from the first line of {} whether it holds customers or signals. Add --kind.",
                self.name()
            )
        })?;
        Ok((kind, Box::new(read.into_iter().map(Ok).chain(chunks))))
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }
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

/// Reads ahead in a thread of its own, since standard input may have nothing to read for any time.
pub(super) fn read_ahead(chunks: Chunks) -> impl Stream<Item = Result<Chunk>> {
    let (sender, mut receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for chunk in chunks {
            if sender.blocking_send(chunk).is_err() {
                break;
            }
        }
    });
    stream::poll_fn(move |context| receiver.poll_recv(context))
}

//! The lines that were not taken, with their reasons: `FILE.errors.ndjson`.

use std::fs::OpenOptions;
use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use model::fault::Fault;
use serde::Serialize;

use super::checkpoint::{Checkpoint, beside};

/// A line that was not taken.
#[derive(Debug, Serialize)]
pub(super) struct LineErrors {
    /// Counted from 1.
    pub(super) line: u64,
    pub(super) errors: Vec<LineError>,
}

/// One thing that is wrong with a line.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum LineError {
    /// The line cannot be read.
    Text {
        /// As if it were a request: `malformed-json`, or `too-large`.
        code: &'static str,
        message: String,
    },
    /// What it holds breaks a rule.
    Rule(Fault),
}

/// The file, written when there is a first line for it.
pub(super) struct ErrorFile {
    path: PathBuf,
    writer: Option<BufWriter<std::fs::File>>,
    bytes: u64,
}

impl ErrorFile {
    /// Goes on where the checkpoint says that it ended: what was written after that will be written again.
    pub(super) fn open(file: &Path, checkpoint: &Checkpoint) -> Result<Self> {
        let mut error_file =
            Self { path: beside(file, ".errors.ndjson"), writer: None, bytes: checkpoint.errors_bytes() };
        if error_file.path.exists() {
            error_file.open_writer()?;
        }
        Ok(error_file)
    }

    fn open_writer(&mut self) -> Result<&mut BufWriter<std::fs::File>> {
        let open = || {
            let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(&self.path)?;
            file.set_len(self.bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(BufWriter::new(file))
        };
        let writer = open().map_err(|error| self.cannot(&error))?;
        Ok(self.writer.insert(writer))
    }

    pub(super) fn add(&mut self, errors: &[LineErrors]) -> Result<()> {
        for line in errors {
            let mut json = serde_json::to_vec(line).map_err(|error| self.cannot(&error.into()))?;
            json.push(b'\n');
            let writer = match &mut self.writer {
                Some(writer) => writer,
                None => self.open_writer()?,
            };
            writer.write_all(&json).map_err(|error| self.cannot(&error))?;
            self.bytes = self.bytes.saturating_add(json.len() as u64);
        }
        Ok(())
    }

    /// Hands everything to the system: only then may the checkpoint say so.
    pub(super) fn flush(&mut self) -> Result<()> {
        let flushed = self.writer.as_mut().map_or(Ok(()), std::io::Write::flush);
        flushed.map_err(|error| self.cannot(&error))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn cannot(&self, error: &std::io::Error) -> anyhow::Error {
        anyhow!("Cannot write {}: {error}.", self.path.display())
    }
}

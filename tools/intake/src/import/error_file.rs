//! The rejected lines with their errors: `FILE.errors.ndjson`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::outcome::LineErrors;

pub(super) struct ErrorFile {
    pub(super) path: PathBuf,
    /// Its length.
    pub(super) bytes: u64,
    /// Open while it has lines that may not be on the disk.
    unsynced: Option<File>,
}

impl ErrorFile {
    /// Cuts an existing file to the length in the checkpoint: what follows will be written again.
    pub(super) fn open(path: PathBuf, bytes: u64) -> Result<Self> {
        let mut error_file = Self { path, bytes: 0, unsynced: None };
        if error_file.path.exists() {
            let cut = || {
                let file = OpenOptions::new().write(true).open(&error_file.path)?;
                // An operator may have shortened it.
                let bytes = bytes.min(file.metadata()?.len());
                file.set_len(bytes).map(|()| bytes)
            };
            error_file.bytes = cut().with_context(|| error_file.cannot_write())?;
        }
        Ok(error_file)
    }

    pub(super) fn append(&mut self, errors: &[LineErrors]) -> Result<()> {
        if errors.is_empty() {
            return Ok(());
        }
        let mut json = Vec::new();
        for line in errors {
            serde_json::to_writer(&mut json, line)?;
            json.push(b'\n');
        }
        let mut write = || {
            let mut file = match self.unsynced.take() {
                Some(file) => file,
                None => OpenOptions::new().create(true).append(true).open(&self.path)?,
            };
            file.write_all(&json)?;
            self.unsynced = Some(file);
            std::io::Result::Ok(())
        };
        write().with_context(|| self.cannot_write())?;
        self.bytes += json.len() as u64;
        Ok(())
    }

    /// Waits until all lines are on the disk: only then may a checkpoint count them.
    pub(super) fn sync(&mut self) -> Result<()> {
        let synced = self.unsynced.take().map_or(Ok(()), |file| file.sync_all());
        synced.with_context(|| self.cannot_write())
    }

    fn cannot_write(&self) -> String {
        format!("Cannot write {}", self.path.display())
    }
}

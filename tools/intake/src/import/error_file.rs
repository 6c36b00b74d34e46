//! The rejected lines with their errors: `FILE.errors.ndjson`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::outcome::LineErrors;

pub(super) struct ErrorFile {
    pub(super) path: PathBuf,
    /// Its length.
    pub(super) bytes: u64,
}

impl ErrorFile {
    /// Cuts an existing file of `file` to the length in the checkpoint: what follows will be written again.
    pub(super) fn open(file: &Path, bytes: u64) -> Result<Self> {
        let error_file = Self { path: file.with_added_extension("errors.ndjson"), bytes };
        if error_file.path.exists() {
            let cut = OpenOptions::new().write(true).open(&error_file.path).and_then(|file| file.set_len(bytes));
            cut.with_context(|| error_file.cannot_write())?;
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
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(&json)).with_context(|| self.cannot_write())?;
        self.bytes += json.len() as u64;
        Ok(())
    }

    fn cannot_write(&self) -> String {
        format!("Cannot write {}", self.path.display())
    }
}

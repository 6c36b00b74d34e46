//! A file with a line of JSON for each change, so that a process that is killed loses none. This
//! module must not know what changes.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::owner_only;

/// The file, to which changes are appended.
#[derive(Debug)]
pub(super) struct Journal(File);

impl Journal {
    /// Reads the changes in the file; there are none without a file. A line that cannot be read is
    /// left out: a killed process left it unfinished, even within a character, and its change was
    /// never acknowledged.
    pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let changes = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok());
        Ok(changes.collect())
    }

    /// Replaces the file by one with only these changes.
    pub(super) fn create<T: Serialize>(
        path: &Path,
        changes: impl Iterator<Item = T>,
    ) -> io::Result<Self> {
        let new = path.with_added_extension("new");
        let file = owner_only().truncate(true).open(&new)?;
        let mut journal = Self(file);
        for change in changes {
            journal.append(&change)?;
        }
        std::fs::rename(&new, path)?;
        Ok(journal)
    }

    /// Appends a change, before it is acknowledged. If it does not fit on the disk, nothing of it
    /// stays in the file, so that the next change begins a line.
    pub(super) fn append(&mut self, change: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(change)?;
        line.push('\n');
        let end = self.0.stream_position()?;
        let written = self.0.write_all(line.as_bytes());
        if written.is_err() {
            self.0.set_len(end)?;
            self.0.seek(SeekFrom::Start(end))?;
        }
        written
    }
}

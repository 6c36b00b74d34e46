//! A file with a line of JSON for each change, so that a process that is killed loses none. Must
//! not know what changes.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::for_owner;

/// The file, to which changes are appended.
#[derive(Debug)]
pub(super) struct Journal(File);

impl Journal {
    /// The changes that the file has. A last line that a killed process has left unfinished is
    /// none: nothing was acknowledged.
    pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The file, written anew with these changes.
    pub(super) fn create<T: Serialize>(
        path: &Path,
        changes: impl Iterator<Item = T>,
    ) -> io::Result<Self> {
        let new = path.with_added_extension("new");
        let mut journal = Self(for_owner().truncate(true).open(&new)?);
        for change in changes {
            journal.append(&change)?;
        }
        std::fs::rename(&new, path)?;
        Ok(journal)
    }

    /// Appends a change, before it is acknowledged.
    pub(super) fn append(&mut self, change: &impl Serialize) -> io::Result<()> {
        self.0
            .write_all(format!("{}\n", serde_json::to_string(change)?).as_bytes())
    }
}
